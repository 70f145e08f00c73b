//! What a running call keeps of the files that it started from.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::*;

/// A running `exec`.
struct Talk {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Talk {
    fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = piped.spawn().expect("the loader starts");
        let stdin = child.stdin.take();
        let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
        Self { child, stdin, stdout }
    }

    /// Asks `greet` and gives the message.
    fn greet(&mut self, name: &str) -> String {
        let request = json!({
            "jsonrpc": "2.0",
            "id": name,
            "method": "tools/call",
            "params": { "name": "greet", "arguments": { "name": name } },
        });
        let stdin = self.stdin.as_mut().expect("stdin is open");
        writeln!(stdin, "{request}").expect("the loader reads");
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("stdout is UTF-8");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer["id"], name);
        answer["result"]["structuredContent"]["message"].as_str().expect("a message").to_owned()
    }

    fn end(mut self) {
        drop(self.stdin.take());
        let status = self.child.wait().expect("the child can be waited for");
        assert!(status.success(), "it ended with {status}");
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A deployment renames a new bundle over the old one: who runs the old one is not disturbed.
#[test]
fn a_bundle_is_replaced_by_rename_while_it_runs() {
    let old = hello().build();
    let mut talk = Talk::start(&mut old.loader("exec"));
    assert_eq!(talk.greet("Ada"), "Hello, Ada!");
    let new = howdy();
    // Both are in the system's folder for temporary files.
    fs::rename(new.path(), old.path()).expect("both are on one file system");
    for name in ["Grace", "Joan"] {
        assert_eq!(talk.greet(name), format!("Hello, {name}!"));
    }
    let mut second = Talk::start(&mut old.loader("exec"));
    assert_eq!(second.greet("Ada"), "Howdy, Ada!");
    assert_eq!(talk.greet("Ada"), "Hello, Ada!");
    second.end();
    talk.end();
}

#[test]
fn a_bundle_is_pruned_while_it_runs() {
    let cache = Cache::with(&hello_twice());
    let mut talk = Talk::start(cache.loader("exec").args(["--allow-unsigned", "name:hello"]));
    assert_eq!(talk.greet("Ada"), "Hello, Ada!");
    _ = cache.run("cache", &["prune", "--all"]).exits(0);
    assert_eq!(cache.greet("name:hello").exits(3).errors(), ["E0916"]);
    assert_eq!(talk.greet("Grace"), "Hello, Grace!");
    talk.end();
}

/// Another install takes the place of the one that runs.
#[test]
fn a_bundle_is_installed_anew_while_it_runs() {
    let bundle = hello_twice();
    let cache = Cache::with(&bundle);
    let mut talk = Talk::start(cache.loader("exec").args(["--allow-unsigned", "name:hello"]));
    assert_eq!(talk.greet("Ada"), "Hello, Ada!");
    _ = cache.install_with(&bundle, &["--target", "pulley64"]);
    assert_eq!(talk.greet("Grace"), "Hello, Grace!");
    talk.end();
    assert_eq!(cache.greet("name:hello").exits(0).stdout, "Hello, Ada!\n");
}

/// A file that others may write could change after it was verified: it is copied. Any other is
/// mapped.
#[cfg(target_os = "linux")]
#[test]
fn only_a_file_of_our_own_is_mapped() {
    let bundle = hello().build();
    for (mode, mapped) in [(0o600, true), (0o644, true), (0o444, true), (0o664, false), (0o646, false)] {
        set_mode(bundle.path(), mode);
        let mut talk = Talk::start(&mut bundle.loader("exec"));
        assert_eq!(talk.greet("Ada"), "Hello, Ada!");
        let maps = maps_of(&talk, bundle.path());
        assert_eq!(!maps.is_empty(), mapped, "{mode:o}: {maps:#?}");
        let shared: Vec<&String> = maps.iter().filter(|line| writable_and_shared(line)).collect();
        assert!(shared.is_empty(), "a mapping writes to the file: {shared:?}");
        talk.end();
    }
}

/// From the cache, the artifact's file is mapped, and its code is executable there.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
#[test]
fn an_installed_artifact_is_mapped() {
    let cache = Cache::absent();
    let digest = cache.install(&hello_twice());
    let artifact = fs::canonicalize(cache.bundle(&digest).join("artifact.cwasm")).expect("it is installed");
    let mut talk = Talk::start(cache.loader("exec").args(["--allow-unsigned", &digest]));
    assert_eq!(talk.greet("Ada"), "Hello, Ada!");
    let maps = maps_of(&talk, &artifact);
    assert!(maps.iter().any(|line| line.contains(" r-xp ")), "{maps:#?}");
    assert!(maps.iter().all(|line| !line.contains("wx") && !writable_and_shared(line)), "{maps:#?}");
    talk.end();
}

/// The lines of the process's memory map that name the file.
#[cfg(target_os = "linux")]
fn maps_of(talk: &Talk, file: &Path) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", talk.child.id())).expect("the process runs");
    let file = fs::canonicalize(file).expect("the file is there");
    let name = file.to_str().expect("the path is UTF-8");
    maps.lines().filter(|line| line.ends_with(name)).map(str::to_owned).collect()
}

#[cfg(target_os = "linux")]
fn writable_and_shared(line: &str) -> bool {
    let modes = line.split(' ').nth(1).unwrap_or_default();
    modes.contains('w') && modes.ends_with('s')
}

/// From the cache, a start reads and touches what the call uses: data that no call reads costs
/// nothing, however much of it there is.
#[cfg(target_os = "linux")]
#[test]
fn a_start_does_not_grow_with_the_artifact() {
    let text = fs::read_to_string(example("hello").join("module.wat")).expect("the example is there");
    let start = "(func (export \"_start\")";
    let bytes = 24 << 20;
    let padding = format!(
        "(data $padding \"{}\")
         (func $read_padding
           (if (i32.eqz (memory.size))
             (then (memory.init $padding (i32.const 0) (i32.const 0) (i32.const {bytes})))))
         (start $read_padding)
         {start}",
        "x".repeat(bytes)
    );
    assert!(text.contains(start), "the example starts otherwise");
    let large = Package::of_text("large", &text.replace(start, &padding)).build();
    let cache = Cache::with(&hello().build());
    let digest = cache.install(&large);
    let artifact = fs::metadata(cache.bundle(&digest).join("artifact.cwasm")).expect("it is installed");
    assert!(artifact.len() > 24 << 20, "the padding is gone");

    let [small, large] = ["name:hello", "name:large"].map(|name| {
        let mut talk = Talk::start(cache.loader("exec").args(["--allow-unsigned", name]));
        assert_eq!(talk.greet("Ada"), "Hello, Ada!");
        let process = format!("/proc/{}", talk.child.id());
        let io = fs::read_to_string(format!("{process}/io")).expect("the process runs");
        let status = fs::read_to_string(format!("{process}/status")).expect("the process runs");
        talk.end();
        (figure(&io, "rchar:"), figure(&status, "VmHWM:"))
    });
    assert!(large.0 < small.0 + (64 << 10), "{} bytes are read instead of {}", large.0, small.0);
    assert!(large.1 < small.1 + 1024, "{} KiB of memory are used instead of {}", large.1, small.1);
}

/// The number that a line of `/proc` begins with after its name.
#[cfg(target_os = "linux")]
fn figure(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or_else(|| panic!("there is no `{name}` in {text}"))
}

/// A cache and a bundle on a file system that nobody can write. Making one takes a mount of one's
/// own; where that is not allowed, there is nothing to see.
#[cfg(target_os = "linux")]
#[test]
fn calls_run_from_a_read_only_file_system() {
    let bundle = hello_twice();
    let cache = Cache::with(&bundle);
    let place = cache.0.path().to_str().expect("the path is UTF-8");
    fs::copy(bundle.path(), cache.0.path().join("hello.subako")).expect("there is room");
    let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" || exit 77
      touch \"$1/written\" 2>/dev/null && exit 77
      shift && exec \"$@\"";
    for source in ["name:hello", &format!("{place}/hello.subako")] {
        let call = cache.loader("call");
        let mut unshare = Command::new("unshare");
        unshare.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", place]);
        unshare.arg(call.get_program()).args(call.get_args());
        let Ok(output) = unshare.args(["--allow-unsigned", source, "greet", ADA]).output() else { return };
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if output.status.code() == Some(77) || stderr.contains("unshare") {
            return;
        }
        assert_eq!((output.status.code(), &*stdout), (Some(0), "Hello, Ada!\n"), "{stderr}");
    }
}
