//! No path leads out of a preopen: not by `..`, not by a symbolic link whoever made it and when,
//! not by a hard link or a rename.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use subako_tests::wasi_calls::{lines, run};

use super::{Volume, check, guest, text};

/// A volume beside a directory `outside` with `secret.txt` in it.
fn volume() -> Volume {
    let volume = Volume::new();
    fs::write(volume.outside().join("secret.txt"), "secret").expect("the folder is ours");
    fs::write(volume.tmp().join("mine.txt"), "mine").expect("the folder is ours");
    fs::create_dir(volume.tmp().join("dir")).expect("the folder is ours");
    volume
}

#[track_caller]
fn check_inside(volume: &Volume, script: &str) {
    let guest = subako_tests::wasi_calls::wasi_calls();
    let Some(guest) = guest else { return };
    check(&guest.bundle, &volume.flags(), script);
    assert_untouched(volume);
}

#[track_caller]
fn assert_untouched(volume: &Volume) {
    let names: Vec<_> = fs::read_dir(volume.outside())
        .expect("it is there")
        .map(|entry| entry.expect("it can be listed").file_name())
        .collect();
    assert_eq!(names, ["secret.txt"]);
    let secret = volume.outside().join("secret.txt");
    assert_eq!(fs::read(&secret).expect("it is there"), b"secret");
}

#[test]
fn dots_and_absolute_paths_lead_nowhere() {
    check_inside(
        &volume(),
        "open x /volume/tmp dir/../mine.txt r => ok
         open x /volume/tmp ../outside/secret.txt r => perm
         open x /volume/tmp dir/../../outside/secret.txt r => perm
         open x /volume/tmp ./../outside/secret.txt tw => perm
         open x /volume/tmp .. dr => perm
         open x /volume/tmp dir/../.. dr => perm
         open x /volume/tmp / dr => perm
         open x /volume/tmp /etc/passwd r => perm
         open x /volume/tmp /volume/tmp/mine.txt r => perm
         open d /volume/tmp dir dr => ok
         open x $d .. dr => perm
         open x $d ../mine.txt r => perm
         path_stat /volume/tmp ../outside/secret.txt f => perm
         path_times /volume/tmp ../outside/secret.txt 0 0 AM => perm
         readlink /volume/tmp ../outside/secret.txt 100 => perm
         mkdir /volume/tmp ../outside/new => perm
         rmdir /volume/tmp ../outside => perm
         unlink /volume/tmp ../outside/secret.txt => perm
         symlink /volume/tmp ../outside/new mine.txt => perm
         rename /volume/tmp ../outside/secret.txt /volume/tmp stolen => perm
         rename /volume/tmp mine.txt /volume/tmp ../outside/secret.txt => perm
         link /volume/tmp ../outside/secret.txt /volume/tmp stolen - => perm
         link /volume/tmp mine.txt /volume/tmp ../outside/new - => perm
         list /volume/tmp 4096 => ok 4 .:dir ..:dir dir:dir mine.txt:file",
    );
}

#[test]
fn links_that_were_there_lead_nowhere() {
    let volume = volume();
    let secret = volume.outside().join("secret.txt");
    symlink(&secret, volume.tmp().join("absolute")).expect("the folder is ours");
    symlink("../outside/secret.txt", volume.tmp().join("relative")).expect("the folder is ours");
    symlink("../outside", volume.tmp().join("folder")).expect("the folder is ours");
    symlink("relative", volume.tmp().join("chain")).expect("the folder is ours");
    symlink("mine.txt", volume.tmp().join("inside")).expect("the folder is ours");
    symlink("loop", volume.tmp().join("loop")).expect("the folder is ours");
    check_inside(
        &volume,
        "open x /volume/tmp inside rf => ok
         open x /volume/tmp inside r => loop
         open x /volume/tmp absolute rf => perm
         open x /volume/tmp absolute r => loop
         open x /volume/tmp relative rf => perm
         open x /volume/tmp relative wtf => perm
         open x /volume/tmp chain rf => perm
         open x /volume/tmp loop rf => loop
         open x /volume/tmp folder drf => perm
         open x /volume/tmp folder/secret.txt r => perm
         put /volume/tmp folder/new x cw => perm
         path_stat /volume/tmp absolute f => perm
         path_stat /volume/tmp relative f => perm
         path_stat /volume/tmp folder/secret.txt - => perm
         path_times /volume/tmp relative 0 0 AMf => perm
         mkdir /volume/tmp folder/new => perm
         unlink /volume/tmp folder/secret.txt => perm
         rename /volume/tmp folder/secret.txt /volume/tmp stolen => perm
         rename /volume/tmp mine.txt /volume/tmp folder/new => perm
         link /volume/tmp folder/secret.txt /volume/tmp stolen - => perm
         link /volume/tmp mine.txt /volume/tmp folder/new - => perm
         symlink /volume/tmp folder/new mine.txt => perm",
    );
}

#[test]
fn links_that_the_module_makes_lead_nowhere() {
    let guest = guest!();
    let volume = volume();
    let data = volume.root.path().join("data");
    fs::create_dir(&data).expect("the folder is ours");
    let mut flags = volume.flags();
    flags.extend(["--volume-data".to_owned(), text(&data)]);
    check(
        &guest.bundle,
        &flags,
        "symlink /volume/tmp up ../outside => ok
         open x /volume/tmp up/secret.txt r => perm
         put /volume/tmp up/new x cw => perm
         symlink /volume/tmp leaf ../outside/secret.txt => ok
         open x /volume/tmp leaf rf => perm
         put /volume/tmp leaf x wtf => perm
         symlink /volume/tmp root /etc/passwd => perm
         rename /volume/tmp leaf /volume/data leaf => ok
         open x /volume/data leaf rf => perm
         symlink /volume/tmp dir/parent .. => ok
         open x /volume/tmp dir/parent/mine.txt r => ok
         open x /volume/tmp dir/parent/../outside/secret.txt r => perm
         rename /volume/tmp dir/parent /volume/tmp parent => ok
         open x /volume/tmp parent/outside/secret.txt r => perm
         link /volume/tmp up /volume/data up - => ok
         open x /volume/data up/secret.txt r => perm
         open d /volume/tmp dir dr => ok
         rename /volume/tmp dir /volume/data moved => ok
         open x $d ../../outside/secret.txt r => perm
         open x $d ../leaf rf => perm",
    );
    assert_untouched(&volume);
}

/// Another process changes names for links while the module opens them: each of thousands of
/// writes either stays inside or is refused.
#[test]
fn links_that_change_during_the_call_lead_nowhere() {
    let guest = guest!();
    let volume = volume();
    let place = |name: &str| volume.tmp().join(name);
    fs::create_dir(place("swap")).expect("the folder is ours");
    fs::write(place("leaf"), "").expect("the folder is ours");
    let over = AtomicBool::new(false);
    let answers = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // A directory in the middle of a path is at times a link to the outside.
                fs::rename(place("swap"), place("swap.dir")).expect("the folder is ours");
                symlink("../outside", place("swap")).expect("the folder is ours");
                fs::remove_file(place("swap")).expect("the folder is ours");
                fs::rename(place("swap.dir"), place("swap")).expect("the folder is ours");
                // So is the file at its end.
                symlink("../outside/secret.txt", place("leaf.link")).expect("the folder is ours");
                fs::rename(place("leaf.link"), place("leaf")).expect("the folder is ours");
                fs::write(place("leaf.file"), "").expect("the folder is ours");
                fs::rename(place("leaf.file"), place("leaf")).expect("the folder is ours");
            }
        });
        let script = "tries 4000 put /volume/tmp swap/mark x cwf\n\
                      tries 4000 put /volume/tmp swap/secret.txt x cwtf\n\
                      tries 4000 put /volume/tmp leaf x wtf\n\
                      tries 1000 rename /volume/tmp mine.txt /volume/tmp swap/taken\n\
                      tries 1000 unlink /volume/tmp swap/secret.txt\n\
                      tries 1000 path_times /volume/tmp leaf 0 0 amf";
        let flags = volume.flags();
        let ended = run(&guest.bundle, script, &flags.iter().map(String::as_str).collect::<Vec<_>>());
        over.store(true, Ordering::Relaxed);
        lines(&ended.exits(0).json()["result"])
    });
    // The directory was itself often enough for the test to mean something.
    assert!(!answers[0].starts_with("0 "), "{answers:?}");
    assert!(!answers[2].starts_with("0 "), "{answers:?}");
    assert_untouched(&volume);
    let changed = fs::metadata(volume.outside().join("secret.txt")).and_then(|meta| meta.modified());
    assert!(changed.is_ok_and(|time| time > std::time::UNIX_EPOCH), "its time was set");
}
