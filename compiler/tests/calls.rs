//! Calls made through the library, many in one process: whatever a module prints, a call ends with
//! an outcome, and it leaves nothing behind.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::value::RawValue;
use subako_loader::bundle_file::BundleFile;
use subako_loader::call::{CallSetup, Preopens, call_tool};
use subako_loader::map::{MappedModule, map};
use subako_loader::outcome::{Cause, Outcome};
use subako_loader::pick::{HostCpu, pick};
use subako_loader::verify::{Trust, verify};
use subako_manifest::bundle::OpenBundle;

/// The guest of `tests/fixtures/host/prints-bytes.wat`, which prints what it is told to.
fn guest() -> &'static MappedModule {
    static GUEST: OnceLock<MappedModule> = OnceLock::new();
    GUEST.get_or_init(|| {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
        let read = |path: &str| fs::read_to_string(fixtures.join(path)).unwrap();
        let fields: String =
            ["guest/prelude.wat", "guest/server.wat", "host/prints-bytes.wat"].map(read).concat();
        let directory = tempfile::tempdir().unwrap();
        let package = directory.path().join("package");
        fs::create_dir(&package).unwrap();
        fs::write(package.join("module.wat"), format!("(module\n{fields})\n")).unwrap();
        let manifest = r#"{"abi":1,"name":"prints-bytes","description":"Prints bytes."}"#;
        fs::write(package.join("subako-package.json"), manifest).unwrap();
        let output = directory.path().join("out.subako");
        let built = Command::new(env!("CARGO_BIN_EXE_subakoc"))
            .arg("build")
            .arg(&package)
            .arg("-o")
            .arg(&output)
            .output()
            .unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let bundle = OpenBundle::open(BundleFile::open(&output).unwrap()).unwrap();
        let bundle = verify(bundle, &Trust::AllowUnsigned).unwrap();
        let pick = pick(bundle.index(), &HostCpu::detect(), None).unwrap();
        map(bundle.artifact(&pick).unwrap()).unwrap()
    })
}

/// A call in which the guest prints `bytes`; a zero byte is the id of the request.
fn print(bytes: &[u8], setup: &CallSetup) -> Outcome {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let arguments = RawValue::from_string(format!(r#"{{"hex":"{hex}"}}"#)).unwrap();
    call_tool(guest(), setup, "break", arguments).unwrap()
}

fn setup() -> CallSetup {
    CallSetup::new("prints-bytes")
}

const GOOD: &[u8] = b"{\"jsonrpc\":\"2.0\",\"id\":\0,\"result\":{\"content\":[]}}\n";

#[test]
fn the_guest_can_answer() {
    assert!(matches!(print(GOOD, &setup()), Outcome::Answered(_)));
}

/// Lines that are near to right ones, and pieces of them.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        GOOD,
        b"{\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\0,\"error\":{\"code\":1,\"message\":\"m\"}}\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":\0,",
        b"\"result\":{\"content\":[{\"type\":\"text\"",
        b"\"resultType\":\"complete\"",
        b"\0",
        b"\n",
        b"\r\n",
        b"{",
        b"}",
        b"]}}\n",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b"\\ud800",
        b"1e999999",
        b"null",
    ]);
    let any = prop::collection::vec(any::<u8>(), 0..40);
    prop::collection::vec(prop_oneof![known.prop_map(<[u8]>::to_vec), any], 0..8)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Whatever a module prints, its call ends with an outcome: an answer only if it printed one.
    #[test]
    fn any_bytes_on_stdout_give_an_outcome(bytes in pieces()) {
        match print(&bytes, &setup()) {
            Outcome::Answered(_) => prop_assert!(bytes.windows(6).any(|part| part == b"result")),
            Outcome::Crashed(crash) => {
                prop_assert!(!matches!(crash.cause, Cause::OutOfTime { .. }), "{:?}", crash.cause);
                prop_assert!(!crash.cause.to_string().is_empty());
            }
        }
    }

    /// One byte of a right answer is another one.
    #[test]
    fn any_changed_byte_gives_an_outcome(at in 0..GOOD.len(), byte in 1..=255_u8) {
        let mut bytes = GOOD.to_vec();
        bytes[at] = byte;
        let _ = print(&bytes, &setup());
    }
}

/// A call that has no time ends, also where the time is over before the module starts.
#[test]
fn no_time_at_all() {
    for _ in 0..20 {
        let setup = CallSetup { time: Duration::ZERO, ..setup() };
        match print(GOOD, &setup) {
            Outcome::Crashed(crash) => assert_eq!(crash.cause, Cause::OutOfTime { limit: Duration::ZERO }),
            Outcome::Answered(_) => panic!("answered in no time"),
        }
    }
}

fn count(path: &str) -> usize {
    fs::read_dir(path).unwrap().count()
}

/// A hundred calls with every kind of preopen, well and badly ended, leave no descriptor, no
/// thread and no file. Linux says what a process has.
#[test]
#[cfg(target_os = "linux")]
fn a_hundred_calls_leave_nothing() {
    // The other tests of this program open and close things of their own: this one runs in a
    // process of its own.
    const ALONE: &str = "SUBAKO_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let temporary = tempfile::tempdir().unwrap();
        let program = std::env::current_exe().unwrap();
        let run = Command::new(program)
            .args(["--exact", "a_hundred_calls_leave_nothing", "--test-threads=1"])
            .env(ALONE, "1")
            .env("TMPDIR", temporary.path())
            .output()
            .unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stdout));
        assert_eq!(count(temporary.path().to_str().unwrap()), 0);
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let place = directory.path().to_owned();
    let setup = CallSetup {
        preopens: Preopens {
            volume_tmp: Some(place.clone()),
            volume_data: Some(place.clone()),
            package: Some(place.clone()),
            skills: vec![("a".to_owned(), place.clone()), ("b".to_owned(), place)],
        },
        ..setup()
    };
    let call = |number: usize| match number % 4 {
        0 => assert!(matches!(print(GOOD, &setup), Outcome::Answered(_))),
        1 => assert!(matches!(print(b"nonsense\n", &setup), Outcome::Crashed(_))),
        2 => assert!(matches!(print(b"", &setup), Outcome::Crashed(_))),
        _ => {
            let setup = CallSetup { time: Duration::ZERO, ..setup.clone() };
            assert!(matches!(print(GOOD, &setup), Outcome::Crashed(_)));
        }
    };
    // The first calls start what stays for all.
    (0..4).for_each(call);
    let before = (count("/proc/self/fd"), count("/proc/self/task"));
    (0..100).for_each(call);
    assert_eq!((count("/proc/self/fd"), count("/proc/self/task")), before);
}
