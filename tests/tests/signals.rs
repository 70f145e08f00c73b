//! `subakoc`, ended by a signal in the middle of its work, ends by that signal and leaves nothing:
//! no half file beside its output, no directory among the temporary ones, no process that compiles.
#![cfg(target_os = "linux")]

use std::fmt::Write as _;
use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use subako_tests::package::{Package, host_target};
use subako_tests::programs::programs;
use subako_tests::run::{COMPILE_CACHE, Run};

/// How long is waited for what has to come: far more than any machine needs.
const PATIENCE: Duration = Duration::from_secs(120);

/// A module that is asked for its tools and never answers.
const ENDLESS: &str = r#"(module (memory (export "memory") 1) (func (export "_start") (loop (br 0))))"#;

/// A build under way, with folders of its own for what it writes.
struct Build {
    child: Child,
    folders: Folders,
}

struct Folders {
    root: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("there is room for folders");
        for name in ["out", "tmp", "cache"] {
            let path = root.path().join(name);
            fs::create_dir(&path).expect("the folder is ours");
            fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o700))
                .expect("the folder is ours");
        }
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// The build's command line, run by what stands in `before`.
    fn build(&self, before: &[&str], package: &Package, flags: &[&str]) -> Command {
        let mut command = Command::new(before[0]);
        command.args(&before[1..]).arg(&programs().subakoc).arg("build").arg(package.path());
        command.arg("-o").arg(self.path("out").join("out.subako")).args(flags);
        command.env("TMPDIR", self.path("tmp")).env(COMPILE_CACHE, self.path("cache"));
        command
    }

    /// The names in one of the folders.
    fn names(&self, name: &str) -> Vec<String> {
        names(&self.path(name))
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Whoever runs the tests may have them ignore a signal, and what they start would too.
const SIGNALS_AS_USUAL: &[&str] = &["env", "--default-signal=HUP,INT,TERM"];

impl Build {
    fn start(before: &[&str], package: &Package, flags: &[&str]) -> Self {
        let folders = Folders::new();
        let mut command = folders.build(before, package, flags);
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Self { child, folders }
    }

    /// Waits for something that is there while the build goes on.
    fn until<T>(&mut self, what: &str, mut seen: impl FnMut(&Self) -> Option<T>) -> T {
        let begun = Instant::now();
        loop {
            if let Some(seen) = seen(self) {
                return seen;
            }
            let ended = self.child.try_wait().expect("the child can be waited for");
            assert!(ended.is_none(), "the build ended before {what}: {ended:?}");
            assert!(begun.elapsed() < PATIENCE, "there is never {what}");
            thread::yield_now();
        }
    }

    fn send(&self, signal: &str) {
        send(self.child.id(), signal);
    }

    /// The signal that ended it.
    fn ended_by(&mut self) -> Option<i32> {
        self.child.wait().expect("the child can be waited for").signal()
    }

    fn left_nothing(&self) {
        assert_eq!(self.folders.names("out"), [""; 0], "beside the output");
        assert_eq!(self.folders.names("tmp"), [""; 0], "among the temporary files");
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn send(process: u32, signal: &str) {
    let status = Command::new("kill").args([&format!("-{signal}"), &process.to_string()]).status();
    assert!(status.expect("kill runs").success(), "{signal} is sent to {process}");
}

/// The state of a process as `ps` shows it, and its parent; nothing where there is none.
fn state(process: u32) -> Option<(char, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may have anything in it.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

/// The processes that compile for this one.
fn compiling(parent: u32) -> Vec<u32> {
    let processes = names(Path::new("/proc"));
    let processes = processes.iter().filter_map(|name| name.parse().ok());
    let compiles = |process: &u32| {
        let line = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).nth(1) == Some(b"__compile")
    };
    processes.filter(|process| state(*process).is_some_and(|(_, of)| of == parent)).filter(compiles).collect()
}

/// Many functions, so that each target takes a while.
fn large() -> Package {
    let mut module = "(module (memory (export \"memory\") 1) (func (export \"_start\"))\n".to_owned();
    for number in 0..2_000 {
        let body = "(i32.add (local.get 0) (i32.mul (local.get 1) (i32.const 7)))";
        writeln!(
            module,
            "(func (param i32 i32) (result i32)
               (if (result i32) {body} (then (i32.load {body})) (else (i32.sub {body} (i32.const {number})))))"
        )
        .expect("text can be written");
    }
    Package::of_text("large", &(module + ")"))
}

/// Ended while it compiles. The process that compiles is stopped first, so that the build cannot
/// get any further.
#[test]
fn while_it_compiles() {
    let package = large();
    for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
        let flags = ["--no-cache", "--jobs", "1", "--keep-unreachable"];
        let mut build = Build::start(SIGNALS_AS_USUAL, &package, &flags);
        let stopped = build.until("a process that compiles", |build| {
            let found = compiling(build.child.id()).into_iter().next()?;
            let _ = Command::new("kill").args(["-STOP", &found.to_string()]).output();
            // It may have ended meanwhile; the next one will be found.
            loop {
                match state(found) {
                    Some(('T', _)) => return Some(found),
                    None | Some(('Z' | 'X', _)) => return None,
                    Some(_) => thread::yield_now(),
                }
            }
        });
        build.send(signal);
        assert_eq!(build.ended_by(), Some(number), "{signal}");
        build.left_nothing();
        let begun = Instant::now();
        // Gone, or with nobody who asks how it ended.
        while !matches!(state(stopped), None | Some(('Z' | 'X', _))) {
            assert!(begun.elapsed() < PATIENCE, "a process still compiles after {signal}");
            thread::yield_now();
        }
    }
}

/// Ended while the module runs, with the package's assets unpacked for it.
#[test]
fn while_it_asks_for_the_tools() {
    let assets = (0..50).fold(Package::of_text("endless", ENDLESS), |package, number| {
        package.with(&format!("deep/er/{number}.txt"), "an asset")
    });
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let mut build = Build::start(SIGNALS_AS_USUAL, &assets, &["--target", host_target()]);
        build.until("a directory with the assets", |build| {
            let all = build.folders.names("tmp");
            all.iter().any(|name| name.starts_with("subako-package-")).then_some(())
        });
        build.send(signal);
        assert_eq!(build.ended_by(), Some(number), "{signal}");
        build.left_nothing();
    }
}

/// `nohup` and shells start what they start with signals to be ignored, and they are.
#[test]
fn what_was_ignored_is_ignored() {
    let package = Package::of_text("endless", ENDLESS).with("asset", "an asset");
    let ignoring = ["env", "--default-signal=TERM", "--ignore-signal=INT"];
    let mut build = Build::start(&ignoring, &package, &["--target", host_target()]);
    build
        .until("a directory with the assets", |build| (!build.folders.names("tmp").is_empty()).then_some(()));
    build.send("INT");
    build.send("TERM");
    assert_eq!(build.ended_by(), Some(15));
    build.left_nothing();
}

/// Ended between the last byte of the output and its new name: strace sends the signal there, and
/// holds the program a moment before it renames.
#[test]
fn while_it_writes() {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|run| run.status.success()) {
        return;
    }
    let package = subako_tests::package::hello();
    let renames = "?rename,?renameat,?renameat2";
    let (sent, held) = ("inject=fsync:signal=SIGINT:when=1", format!("inject={renames}:delay_enter=3000000"));
    let trace = format!("trace=fsync,{renames}");
    let strace = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", sent, "-e", &held];
    let folders = Folders::new();
    let before = [SIGNALS_AS_USUAL, &strace].concat();
    let run = Run::of(&mut folders.build(&before, &package, &["--no-cache", "--target", host_target()]));
    // On a machine where the moment is over first, the output has its name, and is whole.
    let whole = folders.path("out").join("out.subako");
    if whole.exists() {
        _ = subako_tests::programs::subakoc(["inspect".as_ref(), whole.as_os_str()]).exits(0);
        fs::remove_file(whole).expect("the file is ours");
    } else {
        assert_eq!(run.code, None, "{run}");
    }
    assert_eq!(folders.names("out"), [""; 0], "beside the output");
    assert_eq!(folders.names("tmp"), [""; 0], "among the temporary files");
}
