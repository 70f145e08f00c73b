//! An install that is killed leaves a bundle there or not, and nothing that is in the way later.

use super::*;

/// What must hold after an install of `reads-package` was killed, wherever that was.
fn is_sound(cache: &Cache, bundle: &Bundle, when: &str) {
    // The first directories may not be there yet.
    let installed = cache.names_in("bundles");
    assert!(installed.len() <= 1, "{when}: {installed:?}");
    for name in &installed {
        let files = names_in(&cache.path().join("bundles").join(name));
        let whole = ["artifact.cwasm", "bundle.json", "install.json", "package", "tools.json"];
        assert_eq!(files, whole, "{when}: a part of a bundle is in its place");
    }
    for name in names_in(&cache.path()) {
        assert!(["bundles", "making", "names"].contains(&name.as_str()), "{when}: `{name}` is left");
    }
    let names = cache.names_in("names");
    assert!(names.is_empty() || names == ["reads-package"], "{when}: {names:?}");

    // A name stands for a bundle that is there.
    let run = cache.run("call", &["--allow-unsigned", "name:reads-package", "break"]);
    match names.is_empty() {
        true => assert_eq!(run.exits(3).errors(), ["E0916"], "{when}"),
        false => assert_eq!(run.exits(0).stdout, "an asset\n", "{when}"),
    }
    let verified = cache.run("cache", &["verify"]).exits(0);
    assert_eq!(verified.stdout.lines().count(), installed.len(), "{when}: {verified}");

    _ = cache.run("cache", &["prune"]).exits(0);
    assert_eq!(cache.names_in("making"), [""; 0], "{when}");
    assert_eq!(cache.names_in("bundles").len(), names.len(), "{when}");
    _ = cache.install(bundle);
    let run = cache.run("call", &["--allow-unsigned", "name:reads-package", "break"]).exits(0);
    assert_eq!(run.stdout, "an asset\n", "{when}");
}

/// Killed as soon as something can be seen in the directory; if it is done by then, all the more
/// must be there.
#[test]
fn killed_at_what_is_to_be_seen() {
    let bundle = reads_package();
    type Seen = fn(&Cache) -> bool;
    fn making(cache: &Cache, file: &str) -> bool {
        let making = cache.path().join("making");
        names_in(&making).iter().any(|name| making.join(name).join(file).exists())
    }
    let points: &[(&str, Seen)] = &[
        ("the start", |_| true),
        ("a directory", |cache| cache.path().exists()),
        ("an install under way", |cache| !cache.names_in("making").is_empty()),
        ("an artifact", |cache| making(cache, "artifact.cwasm")),
        ("tools", |cache| making(cache, "tools.json")),
        ("an asset", |cache| making(cache, "package")),
        ("a record", |cache| making(cache, "install.json")),
        ("a bundle", |cache| !cache.names_in("bundles").is_empty()),
        ("a name", |cache| !cache.names_in("names").is_empty()),
    ];
    for (when, seen) in points {
        let cache = Cache::absent();
        let mut install = cache.installing(bundle.path(), &[]);
        let mut child = install
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the loader starts");
        while !seen(&cache) && child.try_wait().expect("the child can be waited for").is_none() {
            std::thread::yield_now();
        }
        // It may have ended by itself meanwhile.
        let _ = child.kill();
        _ = child.wait().expect("the child can be waited for");
        is_sound(&cache, &bundle, when);
    }
}

/// The system calls that change the disk. Which of them an install uses is the system's affair.
#[cfg(target_os = "linux")]
const CHANGES: &[&str] = &[
    "mkdir",
    "mkdirat",
    "write",
    "fsync",
    "fchmod",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
];

/// Killed as it enters the first, the second, the third … of each kind of system call that changes
/// the disk, until it gets through: after a crash, the disk looks like one of these. strace does the
/// killing; it counts each kind by itself.
#[cfg(target_os = "linux")]
#[test]
fn killed_at_every_step() {
    let traced = Command::new("strace").args(["-o", "/dev/null", "true"]).output();
    if !traced.is_ok_and(|run| run.status.success()) {
        return;
    }
    let bundle = {
        let fixture = Fixture::read("host", "reads-package");
        fixture.package().with("greeting.txt", "an asset").build()
    };
    let mut kills = 0;
    for change in CHANGES {
        for step in 1.. {
            let cache = Cache::absent();
            let install = cache.installing(bundle.path(), &[]);
            let mut strace = Command::new("strace");
            // `?`: a system that has no such call is not asked for it.
            strace.args(["-f", "-qq", "-o", "/dev/null", "-e", &format!("trace=?{change}")]);
            strace.args(["-e", &format!("inject=?{change}:signal=SIGKILL:when={step}")]);
            let run = Run::of(strace.arg(install.get_program()).args(install.get_args()));
            if run.code == Some(0) {
                break;
            }
            assert_eq!(run.code, None, "{run}");
            is_sound(&cache, &bundle, &format!("{change} {step}"));
            kills += 1;
        }
    }
    // Five directories, five files and two renames at the least.
    assert!(kills >= 12, "{kills} kills are not all");
}
