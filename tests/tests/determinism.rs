//! The same package gives the same bundle, byte for byte, wherever and whenever it is built.

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use subako_tests::package::{Package, example};
use subako_tests::programs::programs;
use subako_tests::run::Run;
use subako_tests::zip_file::{RawEntry, raw_zip};

/// `hello` and some assets, written in this order.
const ASSETS: &[(&str, &str)] =
    &[("b.txt", "two"), ("a/deep/er.txt", "one"), ("a.txt", ""), ("Größe.txt", "three"), ("a-b.txt", "four")];

fn files() -> Vec<(&'static str, Vec<u8>)> {
    let own =
        |name: &'static str| (name, fs::read(example("hello").join(name)).expect("the example is there"));
    let mut files = vec![own("subako-package.json"), own("module.wat")];
    files.extend(ASSETS.iter().map(|(name, text)| (*name, text.as_bytes().to_vec())));
    files
}

fn package(reversed: bool) -> Package {
    let mut files = files();
    if reversed {
        files.reverse();
    }
    files.into_iter().fold(Package::empty(), |package, (name, bytes)| package.with(name, bytes))
}

fn build(input: &Path, output: &Path, change: impl FnOnce(&mut Command)) -> Vec<u8> {
    let mut command = Command::new(&programs().subakoc);
    command.arg("build").arg(input).arg("-o").arg(output);
    change(&mut command);
    _ = Run::of(&mut command).exits(0);
    fs::read(output).expect("the bundle can be read")
}

/// Every file below `folder`, made as old as `age`.
fn age(folder: &Path, age: Duration) {
    for entry in fs::read_dir(folder).expect("the folder can be listed") {
        let path = entry.expect("the folder can be listed").path();
        if path.is_dir() {
            self::age(&path, age);
        } else {
            let time = SystemTime::UNIX_EPOCH + age;
            File::options()
                .write(true)
                .open(&path)
                .and_then(|file| file.set_times(FileTimes::new().set_modified(time).set_accessed(time)))
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}

#[track_caller]
fn assert_same(one: &[u8], other: &[u8]) {
    let first = one.iter().zip(other).position(|(one, other)| one != other);
    assert!(one == other, "{} and {} bytes, the first difference at {first:?}", one.len(), other.len());
}

#[test]
fn the_same_bytes_everywhere() {
    let here = package(false);
    let bytes = build(&here.path(), &here.beside("out.subako"), |_| {});

    let there = package(true);
    age(&there.path(), Duration::from_secs(86_400 * 365 * 40));
    let other = build(&there.path(), &there.beside("another-name.subako"), |command| {
        command
            .args(["--jobs", "1"])
            .env("TZ", "Asia/Kathmandu")
            .env("LC_ALL", "C")
            .current_dir(there.path());
    });
    assert_same(&bytes, &other);

    let script = "umask 077; cd \"$1\"; shift; exec \"$@\"";
    let output = there.beside("third.subako");
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(there.path()).arg(&programs().subakoc);
    // The same package again, by a relative path.
    command.args(["build", ".", "--jobs", "3", "-o"]).arg(&output).env("TZ", "America/St_Johns");
    _ = Run::of(&mut command).exits(0);
    assert_same(&bytes, &fs::read(&output).expect("the bundle can be read"));
}

#[test]
fn a_zip_is_its_directory() {
    let directory = package(false);
    let bytes = build(&directory.path(), &directory.beside("out.subako"), |_| {});
    let entries: Vec<RawEntry> =
        files().iter().rev().map(|(name, bytes)| RawEntry::new(name, bytes)).collect();
    let zip: PathBuf = directory.beside("package.zip");
    fs::write(&zip, raw_zip(&entries)).expect("there is room");
    assert_same(&bytes, &build(&zip, &directory.beside("zip.subako"), |_| {}));
}

#[test]
fn another_package_is_another_bundle() {
    let one = package(false);
    let bytes = build(&one.path(), &one.beside("out.subako"), |_| {});
    let other = package(false).with("a.txt", "x");
    assert!(bytes != build(&other.path(), &other.beside("out.subako"), |_| {}));
}
