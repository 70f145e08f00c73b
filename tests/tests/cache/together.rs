//! Many loaders at once, on one bundle and one cache.

use std::process::{Child, Stdio};

use super::*;

/// Starts a command with its output kept.
fn start(command: &mut Command) -> Child {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    piped.spawn().expect("the loader starts")
}

/// Waits for it and gives what it printed, if it ended well.
#[track_caller]
fn finish(child: Child) -> String {
    let output = child.wait_with_output().expect("the child can be waited for");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "it ended with {}: {stderr}", output.status);
    String::from_utf8(output.stdout).expect("stdout is UTF-8")
}

#[test]
fn sixteen_installs_of_one_bundle() {
    let cache = Cache::absent();
    let bundle = reads_package();
    let installs: Vec<Child> = (0..16).map(|_| start(&mut cache.installing(bundle.path(), &[]))).collect();
    let lines: Vec<String> = installs.into_iter().map(finish).collect();
    assert!(lines.iter().all(|line| *line == lines[0]), "{lines:?}");
    assert_eq!(cache.names_in("bundles").len(), 1);
    assert_eq!(cache.names_in("making"), [""; 0]);
    _ = cache.run("cache", &["verify"]).exits(0);
    let run = cache.run("call", &["--allow-unsigned", "name:reads-package", "break"]).exits(0);
    assert_eq!(run.stdout, "an asset\n");
}

/// For one target and for another: one of them is there in the end, whole.
#[test]
fn installs_for_two_targets() {
    let cache = Cache::absent();
    let bundle = hello_twice();
    let installs: Vec<Child> = (0..16)
        .map(|number| {
            let target = if number % 2 == 0 { "pulley64" } else { host_target() };
            start(&mut cache.installing(bundle.path(), &["--target", target]))
        })
        .collect();
    for install in installs {
        _ = finish(install);
    }
    assert_eq!(cache.names_in("bundles").len(), 1);
    assert_eq!(cache.names_in("making"), [""; 0]);
    _ = cache.run("cache", &["verify"]).exits(0);
    assert_eq!(cache.greet("name:hello").exits(0).stdout, "Hello, Ada!\n");
}

#[test]
fn installs_of_several_bundles() {
    let cache = Cache::absent();
    let bundles: Vec<Bundle> = ["one", "two", "three"].map(named).into();
    let installs: Vec<Child> = (0..12)
        .map(|number| start(&mut cache.installing(bundles[number % bundles.len()].path(), &[])))
        .collect();
    for install in installs {
        _ = finish(install);
    }
    assert_eq!(cache.names_in("names"), ["one", "three", "two"]);
    assert_eq!(cache.names_in("bundles").len(), 3);
    for name in ["one", "two", "three"] {
        assert_eq!(cache.greet(&format!("name:{name}")).exits(0).stdout, "Hello, Ada!\n");
    }
}

/// Pruning while bundles are installed takes only what nobody is at.
#[test]
fn pruning_lets_installs_finish() {
    let cache = Cache::absent();
    let bundle = reads_package();
    _ = cache.run("cache", &["list"]).exits(0);
    for _ in 0..6 {
        let mut running = Vec::new();
        for _ in 0..3 {
            running.push(start(&mut cache.installing(bundle.path(), &[])));
            running.push(start(cache.loader("cache").args(["prune"])));
        }
        for child in running {
            _ = finish(child);
        }
        // The last install gave the name, and what a name stands for is not pruned.
        _ = cache.run("cache", &["verify"]).exits(0);
        _ = cache.install(&bundle);
        let run = cache.run("call", &["--allow-unsigned", "name:reads-package", "break"]).exits(0);
        assert_eq!(run.stdout, "an asset\n");
        _ = cache.run("cache", &["prune", "--all"]).exits(0);
    }
}

/// Two hundred cold starts of one bundle, all at once: half from the file, half from the cache.
#[test]
fn two_hundred_starts_all_answer() {
    let bundle = hello_twice();
    let cache = Cache::with(&bundle);
    let starts: Vec<Child> = (0..200)
        .map(|number| {
            let arguments = format!(r#"{{"name":"Ada {number}"}}"#);
            let source = if number % 2 == 0 { bundle.path().as_os_str() } else { os("name:hello") };
            start(cache.loader("call").arg("--allow-unsigned").arg(source).args(["greet", &arguments]))
        })
        .collect();
    for (number, start) in starts.into_iter().enumerate() {
        assert_eq!(finish(start), format!("Hello, Ada {number}!\n"));
    }
}
