//! What a module is given: preopens, arguments, environment, clocks, random numbers, no sockets.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use subako_tests::fixture::Fixture;
use subako_tests::wasi_calls::{lines, run};

use super::{Volume, check, guest, text};

#[test]
fn preopens_are_in_the_specs_order() {
    let guest = guest!();
    let with_assets = guest.package().with("a.txt", "a").build();
    let volume = Volume::new();
    let place = text(&volume.outside());
    let (data, tools, pdf) = (
        ["--volume-data".to_owned(), place.clone()],
        ["--skill".to_owned(), format!("tools={place}")],
        ["--skill".to_owned(), format!("pdf={place}")],
    );
    for has_data in [false, true] {
        for has_assets in [false, true] {
            for skills in [&[][..], &[&tools][..], &[&tools, &pdf][..]] {
                let mut flags = volume.flags();
                let mut expected = "ok ok:/volume/tmp".to_owned();
                if has_data {
                    flags.extend(data.clone());
                    expected.push_str(" ok:/volume/data");
                }
                if has_assets {
                    expected.push_str(" ok:/package");
                }
                if !skills.is_empty() {
                    expected.push_str(" ok:/skills ok:/skills/tools");
                }
                if skills.len() == 2 {
                    expected.push_str(" ok:/skills/pdf");
                }
                flags.extend(skills.iter().flat_map(|skill| skill.iter().cloned()));
                let bundle = if has_assets { &with_assets } else { &guest.bundle };
                check(bundle, &flags, &format!("preopens => {expected}"));
            }
        }
    }
}

/// In discovery, there is `/package` and nothing else.
#[test]
fn discovery_has_the_package_alone() {
    let fixture = Fixture::read("host", "preopens-discovery");
    for (package, expected) in
        [(fixture.package(), "[]"), (fixture.package().with("a.txt", "a"), "[/package]")]
    {
        let (run, _) = package.try_build(&[]);
        let run = run.exits(3);
        assert!(run.stderr.contains(expected), "{run}");
    }
}

#[test]
fn skills_are_listed_and_read() {
    let guest = guest!();
    let volume = Volume::new();
    fs::write(volume.outside().join("SKILL.md"), "how to").expect("the folder is ours");
    let mut flags = volume.flags();
    flags.extend(["--skill".to_owned(), format!("pdf={}", text(&volume.outside()))]);
    check(
        &guest.bundle,
        &flags,
        "list /skills 4096 => ok 3 .:dir ..:dir pdf:dir
         list /skills/pdf 4096 => ok 3 .:dir ..:dir SKILL.md:file
         open f /skills/pdf SKILL.md r => ok
         read $f 100 => ok 6 how%20to",
    );
}

#[test]
fn one_argument_and_no_environment() {
    let guest = guest!();
    let volume = Volume::new();
    check(
        &guest.bundle,
        &volume.flags(),
        "arguments => ok 1 wasi-calls
         environment => ok 0",
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the module's clock is compared with the machine's")]
fn clocks_are_real() {
    let guest = guest!();
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos();
    let before = now();
    let run = run(&guest.bundle, "clock 0\nclock 1\nclock 1\nresolution 0\nresolution 1", &[]);
    let after = now();
    let answers = lines(&run.json()["result"]);
    let value = |at: usize| -> u128 {
        answers[at].strip_prefix("ok ").and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("{run}"))
    };
    assert!((before..=after).contains(&value(0)), "{run}");
    assert!(value(1) <= value(2), "{run}");
    for resolution in [value(3), value(4)] {
        assert!((1..=1_000_000_000).contains(&resolution), "{run}");
    }
}

#[test]
fn random_bytes_differ() {
    let guest = guest!();
    let run = run(&guest.bundle, "random 32\nrandom 32\nrandom 0", &[]);
    let answers = lines(&run.json()["result"]);
    assert!(answers[0].starts_with("ok ") && answers[0].len() == 3 + 64, "{run}");
    assert_ne!(answers[0], answers[1]);
    assert_eq!(answers[2], "ok ");
}

/// The functions of sockets are there, and no descriptor is one.
#[test]
fn no_descriptor_is_a_socket() {
    let guest = guest!();
    let volume = Volume::new();
    check(
        &guest.bundle,
        &volume.flags(),
        "open f /volume/tmp f cr => ok
         sockets $f => notsock notsock notsock notsock
         sockets 0 => notsock notsock notsock notsock
         sockets /volume/tmp => notsock notsock notsock notsock
         sockets 99 => badf badf badf badf",
    );
}

/// `fd_allocate` answers `ENOTSUP` (ABI 1, "Files"), whatever it is asked.
#[test]
fn nothing_is_allocated() {
    let guest = guest!();
    let volume = Volume::new();
    check(
        &guest.bundle,
        &volume.flags(),
        "open f /volume/tmp f crw => ok
         allocate $f 0 100 => notsup
         allocate $f 0 0 => notsup
         allocate /volume/tmp 0 100 => notsup
         stat $f => ok file 0 1",
    );
}
