//! The host as an implementation of WASI preview 1: what it answers by the text of that standard,
//! and by POSIX where the standard leans on it. `second_runtime.rs` asks another runtime the same.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use subako_tests::wasi_calls::run;

use super::{Volume, check, guest};

/// Calls on an empty volume, or on what `prepare` puts there, and what each has to answer.
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) prepare: fn(&Path),
    pub(crate) script: &'static str,
}

macro_rules! scenarios {
    ($($name:ident($prepare:expr): $script:literal;)*) => {
        pub(crate) const SCENARIOS: &[Scenario] =
            &[$(Scenario { name: stringify!($name), prepare: $prepare, script: $script }),*];
        $(#[test] fn $name() { check_scenario(stringify!($name)); })*
    };
}

#[track_caller]
fn check_scenario(name: &str) {
    let guest = guest!();
    let scenario = SCENARIOS.iter().find(|scenario| scenario.name == name).expect("it is in the list");
    let volume = Volume::new();
    (scenario.prepare)(&volume.tmp());
    check(&guest.bundle, &volume.flags(), scenario.script);
}

fn nothing(_: &Path) {}

fn one_file(volume: &Path) {
    fs::write(volume.join("a.txt"), "hello").expect("the folder is ours");
}

fn a_tree(volume: &Path) {
    one_file(volume);
    fs::create_dir_all(volume.join("dir/sub")).expect("the folder is ours");
    fs::write(volume.join("dir/b.txt"), "b").expect("the folder is ours");
    fs::create_dir(volume.join("empty")).expect("the folder is ours");
    symlink("a.txt", volume.join("link")).expect("the folder is ours");
    symlink("dir", volume.join("dirlink")).expect("the folder is ours");
    symlink("nowhere", volume.join("dangling")).expect("the folder is ours");
}

fn a_name_that_is_not_utf8(volume: &Path) {
    one_file(volume);
    fs::write(volume.join(std::ffi::OsStr::from_bytes(b"b\xff")), "").expect("the folder is ours");
}

scenarios! {
    listings(a_tree):
        "list /volume/tmp 4096 => ok 8 .:dir ..:dir a.txt:file dangling:link dir:dir dirlink:link empty:dir link:link
         list /volume/tmp 64 => ok 8 .:dir ..:dir a.txt:file dangling:link dir:dir dirlink:link empty:dir link:link
         list /volume/tmp 33 => ok 8 .:dir ..:dir a.txt:file dangling:link dir:dir dirlink:link empty:dir link:link
         open d /volume/tmp empty dr => ok
         list $d 4096 => ok 2 .:dir ..:dir
         open d /volume/tmp dirlink drf => ok
         list $d 100 => ok 4 .:dir ..:dir b.txt:file sub:dir
         open f /volume/tmp a.txt r => ok
         list $f 4096 => badf
         list 99 4096 => badf";

    listings_in_tiny_buffers(a_tree):
        "readdir /volume/tmp 0 0 => ok 0
         readdir /volume/tmp 1 0 => ok 1
         readdir /volume/tmp 23 0 => ok 23
         readdir /volume/tmp 24 0 => ok 24
         readdir /volume/tmp 25 0 => ok 25
         readdir /volume/tmp 26 0 => ok 26
         readdir /volume/tmp 4096 1000000 => ok 0
         readdir /volume/tmp 25 1 => ok 25";

    listings_of_a_thousand(nothing):
        "times 1000 put /volume/tmp file-{} \"\" cw => 1000 ok
         list /volume/tmp 4096 => ok 1002 .:dir ..:dir file-0:file file-1:file file-10:file…
         list /volume/tmp 300 => ok 1002 .:dir ..:dir file-0:file file-1:file file-10:file…
         times 1000 unlink /volume/tmp file-{} => 1000 ok
         list /volume/tmp 300 => ok 2 .:dir ..:dir";

    listings_while_files_go(nothing):
        "times 20 put /volume/tmp file-{} \"\" cw => 20 ok
         open d /volume/tmp . dr => ok
         readdir $d 200 0 => ok 200
         times 20 unlink /volume/tmp file-{} => 20 ok
         readdir $d 200 20 => ok 0
         list $d 200 => ok 2 .:dir ..:dir";

    opens(a_tree):
        "open x /volume/tmp absent r => noent
         open x /volume/tmp absent w => noent
         open x /volume/tmp absent t => noent
         open x /volume/tmp absent d => noent
         open x /volume/tmp new crw => ok
         open x /volume/tmp new crwx => exist
         open x /volume/tmp new2 crwx => ok
         open x /volume/tmp link crwx => exist
         open x /volume/tmp dangling crwx => exist
         open x /volume/tmp a.txt r => ok
         open x /volume/tmp a.txt x => ok
         open x /volume/tmp a.txt rd => notdir
         open x /volume/tmp a.txt/ r => notdir
         open x /volume/tmp a.txt/b r => notdir
         open x /volume/tmp dir r => ok
         open x /volume/tmp dir/ r => ok
         open x /volume/tmp dir w => isdir
         open x /volume/tmp dir rt => isdir
         open x /volume/tmp dir rc => isdir
         open x /volume/tmp new3/ rc => isdir
         open x /volume/tmp new4 rcd => inval
         open x /volume/tmp absent/new rcw => noent
         open x /volume/tmp dir/../a.txt r => ok
         open x /volume/tmp dir/./b.txt r => ok
         open x /volume/tmp dir//b.txt r => ok
         open x /volume/tmp dirlink/b.txt r => ok
         open x /volume/tmp link r => loop
         open x /volume/tmp link rf => ok
         open x /volume/tmp dangling rf => noent
         open x /volume/tmp \"\" r => noent
         open x /volume/tmp . r => ok
         open x 99 a.txt r => badf
         open x 1 a.txt r => badf
         open f /volume/tmp a.txt r => ok
         open x $f b r => notdir
         stat $f => ok file 5 1
         open t /volume/tmp a.txt wt => ok
         stat $f => ok file 0 1";

    opens_of_long_names(nothing):
        "put /volume/tmp 2345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567 x cw => nametoolong
         put /volume/tmp 345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789012345678901234567 x cw => ok";

    rights(one_file):
        "open r /volume/tmp a.txt r => ok
         write $r x => badf 0
         pwrite $r x 0 => badf 0
         size $r 0 => inval
         open w /volume/tmp a.txt w => ok
         read $w 5 => badf
         pread $w 5 0 => badf
         write $w H => ok 1
         read $r 5 => ok 5 Hello
         fdstat $r => ok file 0
         open s /volume/tmp a.txt rs => notsup";

    positions(nothing):
        "open f /volume/tmp f crw => ok
         tell $f => ok 0
         write $f hello => ok 5
         tell $f => ok 5
         seek $f 0 c => ok 5
         seek $f -2 c => ok 3
         read $f 10 => ok 2 lo
         read $f 10 => ok 0
         seek $f -5 e => ok 0
         read $f 2 => ok 2 he
         seek $f -6 e => inval
         seek $f -1 s => inval
         seek $f -3 c => inval
         tell $f => ok 2
         pread $f 3 2 => ok 3 llo
         pread $f 10 4 => ok 1 o
         pread $f 10 5 => ok 0
         pread $f 10 1000000 => ok 0
         pwrite $f J 0 => ok 1
         tell $f => ok 2
         seek $f 3 e => ok 8
         read $f 1 => ok 0
         write $f ! => ok 1
         stat $f => ok file 9 1
         pread $f 9 0 => ok 9 Jello%00%00%00!
         open g /volume/tmp f r => ok
         tell $g => ok 0";

    appends(one_file):
        "open a /volume/tmp a.txt wa => ok
         open f /volume/tmp a.txt rw => ok
         fdstat $a => ok file 1
         write $a 1 => ok 1
         tell $a => ok 6
         seek $a 0 s => ok 0
         write $a 2 => ok 1
         tell $a => ok 7
         pread $f 20 0 => ok 7 hello12
         size $f 2 => ok
         write $a 3 => ok 1
         pread $f 20 0 => ok 3 he3
         flags $a - => ok
         fdstat $a => ok file 0
         seek $a 0 s => ok 0
         write $a H => ok 1
         pread $f 20 0 => ok 3 He3
         flags $a a => ok
         write $a 4 => ok 1
         pread $f 20 0 => ok 4 He34
         flags $a n => ok
         fdstat $a => ok file 4";

    offsets_when_appending(one_file):
        "open a /volume/tmp a.txt rwa => ok
         pwrite $a ! 0 => ok 1
         pread $a 20 0 => ok 6 hello!";

    sizes(one_file):
        "open f /volume/tmp a.txt rw => ok
         size $f 8 => ok
         pread $f 10 0 => ok 8 hello%00%00%00
         size $f 2 => ok
         pread $f 10 0 => ok 2 he
         size $f 0 => ok
         stat $f => ok file 0 1
         size /volume/tmp 0 => badf
         size 99 0 => badf";

    nothing_read_or_written(one_file):
        "open f /volume/tmp a.txt rw => ok
         read $f 0 => ok 0
         pread $f 0 0 => ok 0
         write $f \"\" => ok 0
         pwrite $f \"\" 3 => ok 0
         write 1 \"\" => ok 0
         read 0 0 => ok 0
         stat $f => ok file 5 1";

    parts_of_a_write(nothing):
        "open f /volume/tmp f crw => ok
         parts $f c => ok …";

    files_removed_while_open(one_file):
        "open f /volume/tmp a.txt rw => ok
         unlink /volume/tmp a.txt => ok
         path_stat /volume/tmp a.txt - => noent
         stat $f => ok file 5 0
         read $f 5 => ok 5 hello
         write $f ! => ok 1
         put /volume/tmp a.txt new cw => ok
         pread $f 10 0 => ok 6 hello!
         close $f => ok
         unlink /volume/tmp a.txt => ok
         unlink /volume/tmp a.txt => noent";

    files_renamed_while_open(one_file):
        "open f /volume/tmp a.txt rw => ok
         rename /volume/tmp a.txt /volume/tmp b.txt => ok
         write $f J => ok 1
         open g /volume/tmp b.txt r => ok
         read $g 5 => ok 5 Jello
         put /volume/tmp c.txt other cw => ok
         rename /volume/tmp c.txt /volume/tmp b.txt => ok
         stat $f => ok file 5 0
         pread $g 5 0 => ok 5 Jello
         open h /volume/tmp b.txt r => ok
         read $h 5 => ok 5 other
         list /volume/tmp 4096 => ok 3 .:dir ..:dir b.txt:file";

    directories_removed_while_open(a_tree):
        "open d /volume/tmp empty dr => ok
         rmdir /volume/tmp empty => ok
         put $d new x cw => noent
         mkdir $d new => noent";

    renames(a_tree):
        "rename /volume/tmp absent /volume/tmp x => noent
         rename /volume/tmp a.txt /volume/tmp a.txt => ok
         rename /volume/tmp a.txt /volume/tmp dir => isdir
         rename /volume/tmp dir /volume/tmp a.txt => notdir
         rename /volume/tmp empty /volume/tmp dir => notempty
         rename /volume/tmp dir /volume/tmp dir/sub/x => inval
         rename /volume/tmp dir /volume/tmp empty => ok
         rename /volume/tmp empty/b.txt /volume/tmp b.txt => ok
         rename /volume/tmp a.txt/ /volume/tmp x => notdir
         rename /volume/tmp dirlink/ /volume/tmp x => notdir
         rename /volume/tmp a.txt /volume/tmp x/ => notdir
         rename /volume/tmp link /volume/tmp link2 => ok
         readlink /volume/tmp link2 100 => ok a.txt
         rename /volume/tmp empty/ /volume/tmp dir/ => ok
         list /volume/tmp 4096 => ok 8 .:dir ..:dir a.txt:file b.txt:file dangling:link dir:dir dirlink:link link2:link";

    removals(a_tree):
        "rmdir /volume/tmp dir => notempty
         rmdir /volume/tmp a.txt => notdir
         rmdir /volume/tmp link => notdir
         rmdir /volume/tmp dirlink => notdir
         rmdir /volume/tmp absent => noent
         unlink /volume/tmp dir => isdir
         unlink /volume/tmp absent => noent
         unlink /volume/tmp a.txt/ => notdir
         unlink /volume/tmp dangling => ok
         unlink /volume/tmp dirlink => ok
         path_stat /volume/tmp dir - => ok dir 0
         rmdir /volume/tmp empty/ => ok
         unlink /volume/tmp dir/b.txt => ok
         rmdir /volume/tmp dir/sub => ok
         rmdir /volume/tmp dir => ok
         mkdir /volume/tmp a.txt => exist
         mkdir /volume/tmp link => exist
         mkdir /volume/tmp absent/new => noent
         mkdir /volume/tmp new/ => ok
         mkdir /volume/tmp new => exist";

    symbolic_links(a_tree):
        "symlink /volume/tmp s dir/b.txt => ok
         readlink /volume/tmp s 100 => ok dir/b.txt
         readlink /volume/tmp s 3 => ok dir
         readlink /volume/tmp s 0 => ok
         readlink /volume/tmp a.txt 100 => inval
         readlink /volume/tmp absent 100 => noent
         path_stat /volume/tmp s - => ok link 9 1
         path_stat /volume/tmp s f => ok file 1 1
         path_stat /volume/tmp dangling - => ok link 7 1
         path_stat /volume/tmp dangling f => noent
         path_stat /volume/tmp dirlink/ - => ok dir 0
         path_stat /volume/tmp dir/ - => ok dir 0
         path_stat /volume/tmp a.txt/ - => notdir
         path_stat /volume/tmp link/ - => notdir
         path_stat /volume/tmp dangling/ - => noent
         open x /volume/tmp dirlink/ dr => ok
         symlink /volume/tmp s other => exist
         symlink /volume/tmp a.txt other => exist
         symlink /volume/tmp empty-target \"\" => noent
         put /volume/tmp dangling x cwf => ok
         path_stat /volume/tmp nowhere - => ok file 1 1
         symlink /volume/tmp loop1 loop2 => ok
         symlink /volume/tmp loop2 loop1 => ok
         open x /volume/tmp loop1 rf => loop
         path_stat /volume/tmp loop1 f => loop";

    symbolic_links_upwards(nothing):
        "mkdir /volume/tmp dir => ok
         symlink /volume/tmp dir/s ../a.txt => ok";

    hard_links(a_tree):
        "link /volume/tmp a.txt /volume/tmp h - => ok
         path_stat /volume/tmp h - => ok file 5 2
         put /volume/tmp h J w => ok
         open f /volume/tmp a.txt r => ok
         read $f 9 => ok 5 Jello
         link /volume/tmp a.txt /volume/tmp h - => exist
         link /volume/tmp absent /volume/tmp x - => noent
         link /volume/tmp dir /volume/tmp x - => perm
         link /volume/tmp link /volume/tmp hl - => ok
         path_stat /volume/tmp hl - => ok link 5 2
         unlink /volume/tmp a.txt => ok
         stat $f => ok file 5 1";

    names_that_are_not_ascii(nothing):
        "put /volume/tmp é x cw => ok
         put /volume/tmp e\u{301} y cw => ok
         put /volume/tmp 図 z cw => ok
         put /volume/tmp 🦀%20%22 w cw => ok
         mkdir /volume/tmp ü => ok
         symlink /volume/tmp ü/s è => ok
         readlink /volume/tmp ü/s 100 => ok %c3%a8
         put /volume/tmp ü/è x cw => ok
         open f /volume/tmp ü/s rf => ok
         read $f 9 => ok 1 x
         list /volume/tmp 4096 => ok 7 .:dir ..:dir e%cc%81:file %c3%a9:file %c3%bc:dir %e5%9b%b3:file %f0%9f%a6%80%20\":file
         put /volume/tmp %ff x cw => ilseq
         mkdir /volume/tmp a%c3 => ilseq
         open x /volume/tmp %ff r => ilseq";

    names_that_are_not_utf8(a_name_that_is_not_utf8):
        "list /volume/tmp 4096 => ilseq
         open f /volume/tmp a.txt r => ok";

    descriptors(one_file):
        "open f /volume/tmp a.txt rw => ok
         open g /volume/tmp g crw => ok
         read $f 2 => ok 2 he
         renumber $f $f => ok
         tell $f => ok 2
         renumber $f 1000 => badf
         renumber 1000 $f => badf
         tell $f => ok 2
         renumber $f $g => ok
         tell $g => ok 2
         tell $f => badf
         read $g 3 => ok 3 llo
         close $g => ok
         close $g => badf
         close 1000 => badf
         renumber $g $g => badf
         close -1 => badf";

    descriptors_of_directories(a_tree):
        "open d /volume/tmp dir dr => ok
         fdstat $d => ok dir 0
         stat $d => ok dir 0
         read $d 1 => badf
         write $d x => badf 0
         seek $d 0 s => badf
         tell $d => badf
         size $d 0 => badf
         open x $d b.txt r => ok
         open x $d sub dr => ok
         renumber $d /volume/tmp => ok
         open x 3 b.txt r => ok";

    streams(nothing):
        "seek 1 0 s => spipe
         tell 2 => spipe
         pread 0 1 0 => spipe
         pwrite 1 x 0 => spipe 0
         read 1 1 => badf
         write 0 x => badf 0
         size 1 0 => badf
         list 1 100 => badf
         fdstat 2 => ok unknown 0";

    times(one_file):
        "path_times /volume/tmp a.txt 1000000000000000000 1200000000000000000 am => ok
         path_mtime /volume/tmp a.txt - => ok 1200000000000000000
         path_times /volume/tmp a.txt 0 0 a => ok
         path_mtime /volume/tmp a.txt - => ok 1200000000000000000
         open f /volume/tmp a.txt rw => ok
         times_of $f 0 1300000000000000000 m => ok
         path_mtime /volume/tmp a.txt - => ok 1300000000000000000
         times_of $f 0 0 M => ok
         times_of $f 0 0 mM => inval
         times_of $f 0 0 aA => inval
         path_times /volume/tmp absent 0 0 m => noent
         symlink /volume/tmp s a.txt => ok
         path_times /volume/tmp s 0 1400000000000000000 mf => ok
         path_mtime /volume/tmp a.txt - => ok 1400000000000000000
         path_times /volume/tmp s 0 1500000000000000000 m => ok
         path_mtime /volume/tmp a.txt - => ok 1400000000000000000
         path_mtime /volume/tmp s - => ok 1500000000000000000";

    waits(one_file):
        "poll after:1000000 => ok clock:ok
         poll wall:1000000 => ok clock:ok
         poll after:0 after:3600000000000 => ok clock:ok
         poll out:1 => ok out:ok
         poll out:2 after:3600000000000 => ok out:ok
         open f /volume/tmp a.txt rw => ok
         poll in:$f => ok in:ok
         poll in:$f out:$f => ok …
         poll in:99 => badf
         poll => inval
         yield => ok";

    advice_and_syncing(one_file):
        "open f /volume/tmp a.txt rw => ok
         advise $f 0 => ok
         advise $f 3 => ok
         advise $f 5 => ok
         advise /volume/tmp 0 => badf
         advise 99 0 => badf
         sync $f => ok
         datasync $f => ok
         sync 99 => badf";
}

/// Waits for a time of the monotonic clock, which Node does not end.
#[test]
fn waits_until_a_time() {
    let guest = guest!();
    check(
        &guest.bundle,
        &[] as &[&str],
        "poll at:1000000 => ok clock:ok
         poll at:-1000000 => ok clock:ok
         poll after:1000000 at:3600000000000 => ok clock:ok
         poll in:1 => badf",
    );
}

/// A time that is to be two things at once; Node hangs after it.
#[test]
fn times_that_contradict_each_other() {
    let guest = guest!();
    check(
        &guest.bundle,
        &[] as &[&str],
        "put /volume/tmp f x cw => ok
         path_times /volume/tmp f 0 0 mM => inval
         path_times /volume/tmp f 0 0 aA => inval
         path_stat /volume/tmp f - => ok file 1 1",
    );
}

/// A rename or a hard link to another file system answers `EXDEV`, upon which programs copy. Where
/// this machine has no second one, there is nothing to see.
#[test]
fn other_file_systems() {
    let guest = guest!();
    let volume = Volume::new();
    let device = |path: &Path| fs::metadata(path).ok().map(|meta| meta.dev());
    let Ok(other) = tempfile::tempdir_in("/dev/shm") else { return };
    if device(other.path()) == device(&volume.tmp()) {
        return;
    }
    let mut flags = volume.flags();
    flags.extend(["--volume-data".to_owned(), super::text(other.path())]);
    check(
        &guest.bundle,
        &flags,
        "put /volume/tmp a x cw => ok
         rename /volume/tmp a /volume/data a => xdev
         link /volume/tmp a /volume/data a - => xdev
         rename /volume/tmp a /volume/tmp b => ok",
    );
}

/// Nanoseconds are kept.
#[test]
fn times_to_the_nanosecond() {
    let guest = guest!();
    check(
        &guest.bundle,
        &[] as &[&str],
        "put /volume/tmp f x cw => ok
         path_times /volume/tmp f 1000000000000000001 1200000000000000002 am => ok
         path_mtime /volume/tmp f - => ok 1200000000000000002",
    );
}

/// By the standard's text on pointers, one outside memory traps. So does a value that is none of
/// the type's.
#[test]
fn what_is_outside_memory_or_of_no_meaning_traps() {
    let guest = guest!();
    for (script, words) in [
        ("put /volume/tmp f x cw\nopen f /volume/tmp f rw\nfaults $f", "Pointer out of bounds"),
        ("put /volume/tmp f x cw\nopen f /volume/tmp f r\nadvise $f 6", "Invalid enum value"),
    ] {
        let ended = run(&guest.bundle, script, &[]).exits(4);
        let report = ended.json();
        assert_eq!(report["cause"], "trap", "{ended}");
        assert!(report["message"].as_str().is_some_and(|message| message.contains(words)), "{ended}");
    }
}

/// While the request in hand is not answered, stdin has nothing: only the clock ends the wait.
#[test]
fn waits_for_stdin() {
    let guest = guest!();
    check(&guest.bundle, &[] as &[&str], "poll in:0 after:1000000 => ok clock:ok");
}
