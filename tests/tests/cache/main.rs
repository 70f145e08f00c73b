//! The loader's cache, and what a start from it or from a bundle's file may rely on.

mod damage;
mod killed;
mod starts;
mod together;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::fixture::Fixture;
use subako_tests::package::{Package, example, hello, hello_bundle, host_target, manifest};
use subako_tests::programs::programs;
use subako_tests::run::Run;
use tempfile::TempDir;

const ADA: &str = r#"{"name":"Ada"}"#;

/// A cache directory that goes with the value.
struct Cache(TempDir);

impl Cache {
    /// One that the loader has yet to make.
    fn absent() -> Self {
        Self(tempfile::tempdir().expect("there is room for a folder"))
    }

    /// One with this bundle in it.
    fn with(bundle: &Bundle) -> Self {
        let cache = Self::absent();
        _ = cache.install(bundle);
        cache
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("cache")
    }

    /// The loader, about to do `command` with this cache.
    fn loader(&self, command: &str) -> Command {
        let mut loader = Command::new(&programs().loader);
        loader.arg(command).arg("--cache-dir").arg(self.path());
        loader
    }

    fn run(&self, command: &str, arguments: &[&str]) -> Run {
        Run::of(self.loader(command).args(arguments))
    }

    fn installing(&self, bundle: &Path, flags: &[&str]) -> Command {
        let mut loader = self.loader("install");
        loader.arg("--allow-unsigned").args(flags).arg(bundle);
        loader
    }

    /// Installs a bundle and gives its digest.
    #[track_caller]
    fn install(&self, bundle: &Bundle) -> String {
        self.install_with(bundle, &[])
    }

    #[track_caller]
    fn install_with(&self, bundle: &Bundle, flags: &[&str]) -> String {
        let run = Run::of(&mut self.installing(bundle.path(), flags)).exits(0);
        run.stdout.split('\t').next().expect("the digest comes first").to_owned()
    }

    /// Calls `greet` for Ada.
    fn greet(&self, reference: &str) -> Run {
        self.run("call", &["--allow-unsigned", reference, "greet", ADA])
    }

    /// The directory of an installed bundle.
    fn bundle(&self, digest: &str) -> PathBuf {
        self.path()
            .join("bundles")
            .join(digest.strip_prefix("sha256:").expect("a digest names its algorithm"))
    }

    /// What is in one of the cache's directories.
    fn names_in(&self, directory: &str) -> Vec<String> {
        names_in(&self.path().join(directory))
    }

    /// The digests that `cache list` shows.
    fn listed(&self) -> Vec<String> {
        let json = self.run("cache", &["list", "--format", "json"]).exits(0).json();
        let rows = json["installed"].as_array().expect("a list").iter();
        rows.map(|row| row["digest"].as_str().expect("a digest").to_owned()).collect()
    }
}

/// The names in a directory, sorted; none if it is not there.
fn names_in(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("the directory can be listed").file_name())
        .map(|name| name.into_string().expect("our names are ASCII"))
        .collect();
    names.sort();
    names
}

/// `examples/hello` for this host and as bytecode: small and quick to build.
fn hello_twice() -> Bundle {
    hello().build_with(&["--target", host_target(), "--target", "pulley64"])
}

/// Another version of `examples/hello`: it says `Howdy`.
fn howdy() -> Bundle {
    let text = fs::read_to_string(example("hello").join("module.wat")).expect("the example is there");
    assert!(text.contains("Hello, "), "the example greets otherwise");
    // As many letters: the text's addresses stay.
    Package::of_text("hello", &text.replace("Hello, ", "Howdy, ")).build()
}

/// A bundle that answers with the contents of its asset `/package/greeting.txt`, beside which there
/// are enough other assets to make an install take a while.
fn reads_package() -> Bundle {
    let fixture = Fixture::read("host", "reads-package");
    let mut package = fixture.package().with("greeting.txt", "an asset");
    for number in 0..40 {
        package = package.with(&format!("more/{number}.txt"), vec![b'x'; 20_000]);
    }
    package.build()
}

#[test]
fn an_installed_bundle_answers() {
    let cache = Cache::absent();
    let run = Run::of(&mut cache.installing(hello_bundle().path(), &[])).exits(0);
    let fields: Vec<&str> = run.stdout.trim_end().split('\t').collect();
    let digest = hello_bundle().entry("bundle.json").bytes;
    let digest = subako_manifest::digest::Digest::of(&digest).to_string();
    assert_eq!(fields[..2], [digest.as_str(), "name:hello"], "{run}");
    assert!(fields[2].starts_with(host_target()), "{run}");

    for reference in [&digest, "name:hello"] {
        let run = cache.greet(reference).exits(0);
        assert_eq!(run.stdout, "Hello, Ada!\n", "{run}");
        let tools = cache.run("tools", &["--allow-unsigned", reference]).exits(0);
        assert!(tools.stdout.starts_with("greet\tGreet someone by name."), "{tools}");
        let request = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada"}}}"#;
        let mut exec = cache.loader("exec");
        let run =
            Run::with_stdin(exec.args(["--allow-unsigned", reference]), format!("{request}\n").as_bytes());
        assert_eq!(run.exits(0).json()["result"]["structuredContent"]["message"], "Hello, Ada!");
    }
    // The file is not needed any more, and a second install changes nothing.
    assert_eq!(cache.install(hello_bundle()), digest);
    assert_eq!(cache.names_in("bundles").len(), 1);
    assert_eq!(cache.names_in("making"), [""; 0]);
}

#[test]
fn the_directory_comes_from_the_environment_too() {
    let home = tempfile::tempdir().expect("there is room for a folder");
    for (variable, directory) in
        [("SUBAKO_CACHE_DIR", "own"), ("XDG_CACHE_HOME", "xdg/subako"), ("HOME", "home/.cache/subako")]
    {
        let value = home.path().join(directory.split('/').next().expect("it has a first part"));
        let mut loader = Command::new(&programs().loader);
        for variable in ["SUBAKO_CACHE_DIR", "XDG_CACHE_HOME", "HOME"] {
            loader.env_remove(variable);
        }
        loader.env(variable, value).args(["install", "--allow-unsigned"]).arg(hello_bundle().path());
        _ = Run::of(&mut loader).exits(0);
        assert_eq!(names_in(&home.path().join(directory).join("names")), ["hello"], "{variable}");
    }
}

#[test]
fn what_is_installed_is_listed() {
    let cache = Cache::absent();
    assert_eq!(cache.run("cache", &["list"]).exits(0).stdout, "");
    let digest = cache.install_with(hello_bundle(), &["--target", host_target()]);
    let run = cache.run("cache", &["list"]).exits(0);
    assert_eq!(run.stdout, format!("{digest}\tname:hello\t{}\n", host_target()), "{run}");
    let json = cache.run("cache", &["list", "--format", "json"]).exits(0).json();
    let row = &json["installed"][0];
    assert_eq!(
        (&row["digest"], &row["package"], &row["named"]),
        (&json!(digest), &json!("hello"), &json!(true))
    );
    assert_eq!(row["signed_by"], json!([]));
    let artifact = fs::metadata(cache.bundle(&digest).join("artifact.cwasm")).expect("it is installed");
    assert_eq!(row["artifact_size"], artifact.len());
    assert_eq!(cache.run("cache", &["verify"]).exits(0).stdout, format!("{digest}\tok\n"));
}

#[test]
fn pruning_takes_what_has_no_name() {
    let cache = Cache::absent();
    assert_eq!(cache.run("cache", &["prune"]).exits(0).stdout, "");
    let digest = cache.install(hello_bundle());
    assert_eq!(cache.run("cache", &["prune"]).exits(0).stdout, "");
    assert_eq!(cache.listed(), [digest.as_str()]);
    let run = cache.run("cache", &["prune", "--all"]).exits(0);
    assert_eq!(run.stdout, format!("{digest}\tremoved\n"), "{run}");
    for directory in ["bundles", "names", "making"] {
        assert_eq!(cache.names_in(directory), [""; 0], "{directory}");
    }
    for reference in [digest.as_str(), "name:hello"] {
        let run = cache.greet(reference).exits(3);
        assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0916"], ""), "{run}");
    }
}

/// The newer bundle takes the name; the older one runs on by its digest until it is pruned.
#[test]
fn a_second_version_takes_the_name() {
    let cache = Cache::absent();
    let old = cache.install(&hello_twice());
    let new = cache.install(&howdy());
    assert_eq!(cache.greet("name:hello").exits(0).stdout, "Howdy, Ada!\n");
    assert_eq!(cache.greet(&new).exits(0).stdout, "Howdy, Ada!\n");
    assert_eq!(cache.greet(&old).exits(0).stdout, "Hello, Ada!\n");
    let run = cache.run("cache", &["list"]).exits(0);
    assert!(run.stdout.contains(&format!("{old}\thello\t")), "{run}");
    assert!(run.stdout.contains(&format!("{new}\tname:hello\t")), "{run}");

    let run = cache.run("cache", &["prune"]).exits(0);
    assert_eq!(run.stdout, format!("{old}\tremoved\n"), "{run}");
    assert_eq!(cache.greet(&old).exits(3).errors(), ["E0916"]);
    assert_eq!(cache.greet("name:hello").exits(0).stdout, "Howdy, Ada!\n");
}

#[test]
fn an_unsigned_install_asks_again() {
    let cache = Cache::absent();
    let run = cache.run("install", &[hello_bundle().path().to_str().expect("the path is UTF-8")]).exits(3);
    assert_eq!((run.errors(), cache.names_in("bundles")), (vec!["E0801"], vec![]), "{run}");
    let digest = cache.install(hello_bundle());
    for reference in [digest.as_str(), "name:hello"] {
        let run = cache.run("call", &[reference, "greet", ADA]).exits(3);
        assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0801"], ""), "{run}");
        assert!(run.stderr.contains("--allow-unsigned"), "{run}");
        assert_eq!(cache.run("exec", &[reference]).exits(3).errors(), ["E0801"]);
    }
}

#[test]
fn a_target_is_installed_by_name() {
    let cache = Cache::absent();
    let bundle = hello_twice();
    let digest = cache.install_with(&bundle, &["--target", "pulley64"]);
    let run = cache.run("call", &["--allow-unsigned", "-v", &digest, "greet", ADA]).exits(0);
    assert!(run.stdout == "Hello, Ada!\n" && run.stderr.contains("runs: pulley64"), "{run}");
    let flags = ["--allow-unsigned", "--target", host_target(), &digest, "greet", ADA];
    let run = cache.run("call", &flags).exits(3);
    assert_eq!(run.errors(), ["E0910"], "{run}");
    assert!(run.stderr.contains("pulley64") && run.stderr.contains(host_target()), "{run}");

    // Without the flag, the best artifact takes its place.
    assert_eq!(cache.install(&bundle), digest);
    assert_eq!(cache.names_in("bundles").len(), 1);
    assert_eq!(cache.names_in("making"), [""; 0]);
    let run = cache.run("call", &["--allow-unsigned", "-v", &digest, "greet", ADA]).exits(0);
    assert!(
        run.stdout == "Hello, Ada!\n" && run.stderr.contains(&format!("runs: {}", host_target())),
        "{run}"
    );
}

/// A name is looked up only if a package can have it; what a path leads to is not read.
#[test]
fn names_do_not_lead_out() {
    let cache = Cache::absent();
    let digest = cache.install(hello_bundle());
    fs::write(cache.path().join("planted"), &digest).expect("the cache is ours");
    let absolute = cache.path().join("planted");
    let long = "a".repeat(65);
    for name in
        ["", ".", "..", "../planted", "hello/../../planted", "a/b", "Hello", "hello ", "h\u{e9}", &long]
            .into_iter()
            .chain(absolute.to_str())
    {
        let run = cache.greet(&format!("name:{name}")).exits(2);
        assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0902"], ""), "{run}");
    }
    for text in [
        "sha256:",
        "sha256:../names",
        &digest[..70],
        &format!("{digest}0"),
        &digest.replace("sha256:", "sha256:/"),
    ] {
        assert_eq!(cache.greet(text).exits(2).errors(), ["E0902"], "{text}");
    }
    let other = format!("sha256:{}", "0".repeat(64));
    for reference in [other.as_str(), "name:other"] {
        let run = cache.greet(reference).exits(3);
        assert_eq!(run.errors(), ["E0916"], "{run}");
        assert!(run.stderr.contains(reference), "{run}");
    }
}

#[test]
fn nothing_is_installed_where_there_is_no_cache() {
    let cache = Cache::absent();
    let run = cache.greet("name:hello").exits(3);
    assert_eq!(run.errors(), ["E0916"], "{run}");
    assert!(!cache.path().exists(), "a call makes no cache");
}

/// The module reads `/package/greeting.txt`; the file is not a bundle's any more.
#[test]
fn assets_are_installed() {
    let cache = Cache::absent();
    let bundle = reads_package();
    let from_file = Run::of(bundle.loader("call").arg("break")).exits(0);
    assert_eq!(from_file.stdout, "an asset\n", "{from_file}");
    let digest = cache.install(&bundle);
    drop(bundle);
    let run = cache.run("call", &["--allow-unsigned", "name:reads-package", "break"]).exits(0);
    assert_eq!(run.stdout, "an asset\n", "{run}");
    let greeting = cache.bundle(&digest).join("package/greeting.txt");
    assert_eq!(fs::read(greeting).expect("the asset is installed"), b"an asset");
}

/// Directories and files are the user's alone to write, whatever the umask is.
#[cfg(unix)]
#[test]
fn others_write_nothing_of_it() {
    use std::os::unix::fs::MetadataExt as _;

    let cache = Cache::absent();
    fs::create_dir(cache.path()).expect("the folder is ours");
    let bundle = reads_package();
    let mut shell = Command::new("sh");
    let install = cache.installing(bundle.path(), &[]);
    shell.args(["-c", "umask 000 && exec \"$@\"", "sh"]).arg(install.get_program()).args(install.get_args());
    _ = Run::of(&mut shell).exits(0);

    let mut folders = vec![cache.path()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the cache is ours") {
            let path = entry.expect("the cache is ours").path();
            let mode = fs::symlink_metadata(&path).expect("it is there").mode();
            assert_eq!(mode & 0o022, 0, "{} has mode {mode:o}", path.display());
            // Where others do not get in, the modes of what is inside do not matter.
            if path.is_dir() && mode & 0o011 != 0 {
                folders.push(path);
            }
        }
    }
}

/// Whatever a call from the cache relies on, nobody else may write.
#[cfg(unix)]
#[test]
fn what_others_may_write_is_refused() {
    let cache = Cache::absent();
    let digest = cache.install(&hello_twice());
    let bundle = cache.bundle(&digest);
    let calls = [digest.as_str(), "name:hello"];
    for (path, references) in [
        (cache.path(), &calls[..]),
        (cache.path().join("bundles"), &calls),
        (cache.path().join("names"), &calls[1..]),
        (bundle.clone(), &calls),
        (bundle.join("artifact.cwasm"), &calls),
    ] {
        for mode in [0o720, 0o702, 0o777] {
            let was = set_mode(&path, mode);
            for reference in references {
                let run = cache.greet(reference).exits(5);
                assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0923"], ""), "{run}");
                assert!(run.stderr.contains(path.to_str().expect("the path is UTF-8")), "{run}");
            }
            set_mode(&path, was);
        }
    }
    for path in
        [cache.path(), cache.path().join("bundles"), cache.path().join("names"), cache.path().join("making")]
    {
        let was = set_mode(&path, 0o777);
        for run in [
            Run::of(&mut cache.installing(hello_bundle().path(), &[])),
            cache.run("cache", &["prune", "--all"]),
        ] {
            assert_eq!(run.exits(5).errors(), ["E0923"], "{}", path.display());
        }
        set_mode(&path, was);
    }
    assert_eq!(cache.greet(&digest).exits(0).stdout, "Hello, Ada!\n");
}

/// Gives the path this mode; the mode that it had comes back.
#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;

    let was = fs::metadata(path).expect("it is there").permissions().mode();
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    was & 0o7777
}

/// What `--format json` prints of an install.
#[test]
fn an_install_in_json() {
    let cache = Cache::absent();
    let json = Run::of(&mut cache.installing(hello_bundle().path(), &["--format", "json"])).exits(0).json();
    assert_eq!(json["package"], "hello");
    assert_eq!(json["signed_by"], Value::Array(Vec::new()));
    assert_eq!(cache.listed(), [json["digest"].as_str().expect("a digest")]);
}

/// A package of this name that answers as `examples/hello` does.
fn named(name: &str) -> Bundle {
    hello().with("subako-package.json", manifest(name)).build()
}

fn os(text: &str) -> &OsStr {
    OsStr::new(text)
}
