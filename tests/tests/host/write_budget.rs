//! The write budget of a call: what is counted, that nothing past it is written, and that the
//! module goes on (ABI 1, "Files"; docs/host.md, "Limits").

use std::fs;

use subako_tests::wasi_calls::run;

use super::{Volume, check, guest};

/// Runs a script with a budget of 1,000 bytes.
#[track_caller]
fn with_budget(script: &str) -> Volume {
    let volume = Volume::new();
    if let Some(guest) = subako_tests::wasi_calls::wasi_calls() {
        let mut flags = volume.flags();
        flags.extend(["--write-budget".to_owned(), "1000".to_owned()]);
        check(&guest.bundle, &flags, script);
    }
    volume
}

#[test]
fn to_the_last_byte() {
    with_budget(
        "open f /volume/tmp f crw => ok
         fill $f 999 => ok 999
         fill $f 2 => dquot 0
         fill $f 1 => ok 1
         fill $f 1 => dquot 0
         pwrite $f x 0 => dquot 0
         stat $f => ok file 1000 1
         seek $f 0 s => ok 0
         read $f 3 => ok 3 xxx",
    );
}

/// A write is covered whole or not at all.
#[test]
fn nothing_of_the_excess_is_written() {
    with_budget(
        "open f /volume/tmp f crw => ok
         fill $f 1001 => dquot 0
         stat $f => ok file 0 1
         pfill $f 1001 0 => dquot 0
         stat $f => ok file 0 1
         fill $f 1000 => ok 1000
         stat $f => ok file 1000 1",
    );
}

#[test]
fn writes_at_an_offset_count() {
    with_budget(
        "open f /volume/tmp f crw => ok
         pfill $f 600 0 => ok 600
         pfill $f 600 0 => dquot 0
         pfill $f 400 100 => ok 400
         pfill $f 1 0 => dquot 0
         stat $f => ok file 600 1",
    );
}

/// What a file grows by without being written counts as if it were.
#[test]
fn holes_count() {
    with_budget(
        "open f /volume/tmp f crw => ok
         pwrite $f x 1000 => dquot 0
         stat $f => ok file 0 1
         pwrite $f x 599 => ok 1
         seek $f 1000 s => ok 1000
         write $f x => dquot 0
         seek $f 999 s => ok 999
         write $f x => ok 1
         stat $f => ok file 1000 1
         pwrite $f x 0 => dquot 0",
    );
    with_budget(
        "open f /volume/tmp f crw => ok
         pwrite $f x 9223372036854775807 => dquot 0
         seek $f 9223372036854775807 s => ok 9223372036854775807
         write $f x => dquot 0
         stat $f => ok file 0 1",
    );
}

#[test]
fn growing_a_file_counts_and_shrinking_does_not() {
    with_budget(
        "open f /volume/tmp f crw => ok
         size $f 1001 => dquot
         stat $f => ok file 0 1
         size $f 600 => ok
         size $f 100 => ok
         size $f 501 => dquot
         stat $f => ok file 100 1
         size $f 500 => ok
         write $f x => dquot 0
         size $f 0 => ok
         size $f 1 => dquot
         size $f -1 => dquot",
    );
}

#[test]
fn appending_counts() {
    with_budget(
        "open f /volume/tmp f cwa => ok
         fill $f 600 => ok 600
         fill $f 401 => dquot 0
         fill $f 400 => ok 400
         write $f x => dquot 0
         stat $f => ok file 1000 1",
    );
    // Where the descriptor is does not matter; a descriptor may begin to append later.
    with_budget(
        "open f /volume/tmp f cw => ok
         fill $f 500 => ok 500
         flags $f a => ok
         seek $f 0 s => ok 0
         fill $f 500 => ok 500
         write $f x => dquot 0
         stat $f => ok file 1000 1",
    );
}

/// The budget counts bytes written; it is no quota of what is left on disk.
#[test]
fn writing_again_counts_again() {
    with_budget(
        "open f /volume/tmp f cw => ok
         fill $f 600 => ok 600
         open g /volume/tmp f wt => ok
         fill $g 600 => dquot 0
         fill $g 300 => ok 300
         seek $g 0 s => ok 0
         fill $g 101 => dquot 0
         fill $g 100 => ok 100
         write $g x => dquot 0
         unlink /volume/tmp f => ok
         put /volume/tmp g x cw => dquot
         put /volume/tmp g \"\" cw => ok",
    );
}

/// One budget for all files, and both directories of the volume.
#[test]
fn all_files_share_it() {
    let guest = guest!();
    let volume = Volume::new();
    let mut flags = volume.flags();
    flags.extend(["--volume-data".to_owned(), super::text(&volume.outside())]);
    flags.extend(["--write-budget".to_owned(), "1000".to_owned()]);
    check(
        &guest.bundle,
        &flags,
        "times 2000 put /volume/tmp f{} x cw => 1000 dquot
         put /volume/data f x cw => dquot
         mkdir /volume/data dir => ok",
    );
}

#[test]
fn other_numbers_are_no_way_round() {
    with_budget(
        "open f /volume/tmp f cw => ok
         open g /volume/tmp g cw => ok
         renumber $f $g => ok
         fill $g 1001 => dquot 0
         fill $g 1000 => ok 1000
         write $g x => dquot 0",
    );
    // A file in stderr's place counts, and so does one that got its number.
    with_budget(
        "open f /volume/tmp f cw => ok
         renumber $f 2 => ok
         fill 2 1001 => dquot 0
         fill 2 900 => ok 900
         close 2 => ok
         open g /volume/tmp g cw => ok
         open h /volume/tmp h cw => ok
         fill $g 101 => dquot 0
         fill $h 101 => dquot 0
         fill 2 101 => dquot 0
         fill $g 100 => ok 100",
    );
    // Stdout moved elsewhere, a file in its number, and all moved back.
    with_budget(
        "open f /volume/tmp f cw => ok
         renumber 1 $f => ok
         open g /volume/tmp g cw => ok
         fill $g 1001 => dquot 0
         fill 1 1001 => dquot 0
         fill $g 1000 => ok 1000
         write $g x => dquot 0
         renumber $f 1 => ok",
    );
}

/// Stdout and stderr cost nothing: with a budget of one byte, a module answers and logs.
#[test]
fn streams_cost_nothing() {
    let guest = guest!();
    check(
        &guest.bundle,
        &["--write-budget", "1"],
        "fill 2 100000 => ok 100000
         put /volume/tmp f x cw => ok
         put /volume/tmp f x cw => dquot
         put /volume/tmp f \"\" cw => ok",
    );
}

/// A file in stdout's place is a file: what would be the answer is written, and counted.
#[test]
fn stdout_that_is_a_file_is_counted() {
    let guest = guest!();
    let volume = Volume::new();
    let mut flags = volume.flags();
    flags.extend(["--write-budget".to_owned(), "10".to_owned()]);
    let script = "open f /volume/tmp f cw\nrenumber $f 1\nfill 1 11\nfill 1 10\nfill 1 1";
    let ended = run(&guest.bundle, script, &flags.iter().map(String::as_str).collect::<Vec<_>>());
    let ended = ended.exits(4);
    assert_eq!(ended.json()["outcome"], "crashed", "{ended}");
    assert_eq!(fs::read(volume.tmp().join("f")).expect("it was made"), b"xxxxxxxxxx");
}

/// The default is 1 GiB: a file of that size, and not a byte more.
#[test]
fn the_default_is_a_gibibyte() {
    let guest = guest!();
    let volume = Volume::new();
    check(
        &guest.bundle,
        &volume.flags(),
        "open f /volume/tmp f cw => ok
         size $f 1073741825 => dquot
         size $f 1073741824 => ok
         write $f x => dquot 0
         size $f 0 => ok",
    );
}
