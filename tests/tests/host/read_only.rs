//! `/package` and `/skills` stay as they are, whatever a module tries: also by the four ways that
//! hosts have left open (truncating without writing, links and renames across preopens, trailing
//! slashes, renames of symbolic links with one).

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;

use subako_tests::wasi_calls::{lines, run};

use super::{Volume, guest, text};

/// Every way to change something below `M`, or `M` itself, and what it may answer: one of these.
/// `V` is the volume, with `v.txt`, `vlink -> v.txt` and the directory `vdir` in it.
const ATTEMPTS: &[(&str, &str)] = &[
    // Create, truncate, open for writing.
    ("open x M new cr", "rofs acces perm"),
    ("open x M new crw", "rofs acces perm"),
    ("open x M new cxw", "rofs acces perm"),
    ("open x M new c", "rofs acces perm"),
    ("open x M a.txt c", "rofs acces perm"),
    ("open x M a.txt w", "rofs acces perm"),
    ("open x M a.txt rw", "rofs acces perm"),
    ("open x M a.txt wa", "rofs acces perm"),
    ("open x M a.txt t", "rofs acces perm"),
    ("open x M a.txt rt", "rofs acces perm"),
    ("open x M a.txt wt", "rofs acces perm"),
    ("open x M a.txt tf", "rofs acces perm"),
    ("open x M a.txt ta", "rofs acces perm"),
    ("open x M dir/b.txt t", "rofs acces perm"),
    ("open x M link tf", "rofs acces perm"),
    ("open x M a.txt/ t", "rofs acces perm notdir"),
    ("open x M new/ cw", "rofs acces perm isdir"),
    ("open x M dir/../a.txt t", "rofs acces perm"),
    // By a descriptor that is open for reading.
    ("open f M a.txt r", "ok"),
    ("write $f x", "rofs acces perm badf"),
    ("pwrite $f x 0", "rofs acces perm badf"),
    ("flags $f a", "ok rofs acces perm"),
    ("write $f x", "rofs acces perm badf"),
    ("pwrite $f x 0", "rofs acces perm badf"),
    ("size $f 0", "rofs acces perm badf inval"),
    ("size $f 100000", "rofs acces perm badf inval"),
    ("times_of $f 1000000000 1000000000 am", "rofs acces perm badf"),
    ("times_of $f 0 0 AM", "rofs acces perm badf"),
    ("allocate $f 0 100000", "notsup"),
    ("allocate $f 0 1", "notsup"),
    // By a descriptor that has taken another's number.
    ("open v V v.txt rw", "ok"),
    ("renumber $f $v", "ok"),
    ("write $v x", "rofs acces perm badf"),
    ("size $v 0", "rofs acces perm badf inval"),
    ("times_of $v 0 0 AM", "rofs acces perm badf"),
    // By a directory that is open.
    ("open d M dir dr", "ok"),
    ("put $d new x cw", "rofs acces perm"),
    ("put $d b.txt x t", "rofs acces perm"),
    ("unlink $d b.txt", "rofs acces perm"),
    ("mkdir $d new", "rofs acces perm"),
    ("times_of $d 0 0 AM", "rofs acces perm badf"),
    ("times_of M 0 0 AM", "rofs acces perm badf"),
    ("path_times $d b.txt 0 0 AM", "rofs acces perm"),
    // Times by path.
    ("path_times M a.txt 1000000000 1000000000 am", "rofs acces perm"),
    ("path_times M a.txt 1000000000 1000000000 amf", "rofs acces perm"),
    ("path_times M link 1000000000 1000000000 am", "rofs acces perm"),
    ("path_times M link 1000000000 1000000000 amf", "rofs acces perm"),
    ("path_times M dir 0 0 AM", "rofs acces perm"),
    ("path_times M dir/ 0 0 AM", "rofs acces perm"),
    ("path_times M . 0 0 AM", "rofs acces perm"),
    // Rename, within and across.
    ("rename M a.txt M b.txt", "rofs acces perm"),
    ("rename M a.txt V a.txt", "rofs acces perm xdev"),
    ("rename V v.txt M v.txt", "rofs acces perm xdev"),
    ("rename V v.txt M a.txt", "rofs acces perm xdev"),
    ("rename M dir V dir", "rofs acces perm xdev"),
    ("rename V vdir M vdir", "rofs acces perm xdev"),
    ("rename M dir/ V dir", "rofs acces perm xdev"),
    ("rename V vdir/ M vdir/", "rofs acces perm xdev"),
    ("rename M link V link", "rofs acces perm xdev"),
    ("rename M link/ V link", "rofs acces perm xdev notdir"),
    ("rename M dirlink/ V dirlink", "rofs acces perm xdev notdir"),
    ("rename M dirlink/ M other/", "rofs acces perm notdir"),
    ("rename V vlink/ M vlink", "rofs acces perm xdev notdir"),
    ("rename V vdir M dirlink/", "rofs acces perm xdev notdir"),
    ("rename $d b.txt V b.txt", "rofs acces perm xdev"),
    // Hard links, within and across.
    ("link M a.txt M b.txt -", "rofs acces perm"),
    ("link M a.txt V hard -", "rofs acces perm xdev"),
    ("link M a.txt V hard f", "rofs acces perm xdev inval"),
    ("link M a.txt V hard/ -", "rofs acces perm xdev notdir noent"),
    ("link V v.txt M hard -", "rofs acces perm xdev"),
    ("link V v.txt M a.txt -", "rofs acces perm xdev exist"),
    ("link M link V hard -", "rofs acces perm xdev"),
    ("link $d b.txt V hard -", "rofs acces perm xdev"),
    // Symbolic links, made there, and made in the volume to there.
    ("symlink M new a.txt", "rofs acces perm"),
    ("symlink M new/ a.txt", "rofs acces perm noent"),
    ("symlink $d new b.txt", "rofs acces perm"),
    ("open x V to-mount tf", "rofs acces perm noent"),
    ("put V to-mount x twf", "rofs acces perm noent"),
    // Directories, and removal.
    ("mkdir M new", "rofs acces perm"),
    ("mkdir M new/", "rofs acces perm"),
    ("rmdir M empty", "rofs acces perm"),
    ("rmdir M empty/", "rofs acces perm"),
    ("unlink M a.txt", "rofs acces perm"),
    ("unlink M a.txt/", "rofs acces perm notdir"),
    ("unlink M link", "rofs acces perm"),
    ("unlink M dir/b.txt", "rofs acces perm"),
    ("unlink V ../skill/a.txt", "rofs acces perm"),
    // The preopen in the volume's place.
    ("open t V . dr", "ok"),
    ("renumber M $t", "ok"),
    ("put $t new x cw", "rofs acces perm"),
    ("unlink $t a.txt", "rofs acces perm"),
];

/// What the module can see of the mount.
const LOOK: &[&str] = &[
    "list M 8192",
    "path_stat M a.txt -",
    "path_mtime M a.txt -",
    "path_stat M dir -",
    "path_mtime M dir -",
    "path_stat M dir/b.txt -",
    "path_mtime M dir/b.txt -",
    "path_mtime M . -",
    "open r M a.txt r",
    "read $r 100",
    "open l M dir dr",
    "list $l 8192",
];

#[track_caller]
fn try_all(mount: &str, run_script: impl Fn(&str) -> Vec<String>) {
    // The preopen moves to another number at the end, so the last look is by that one.
    let attempts: Vec<String> = ATTEMPTS.iter().map(|(call, _)| placed(call, mount)).collect();
    let look = |mount: &str| LOOK.iter().map(|call| placed(call, mount)).collect::<Vec<_>>();
    let script = [look(mount), attempts.clone(), look("$t")].concat().join("\n");
    let answers = run_script(&script);
    assert_eq!(answers.len(), ATTEMPTS.len() + 2 * LOOK.len());
    let mut wrong = String::new();
    for ((call, allowed), answer) in
        attempts.iter().zip(ATTEMPTS.iter().map(|row| row.1)).zip(&answers[LOOK.len()..])
    {
        // A write also says how much was written: nothing.
        let error = answer.strip_suffix(" 0").unwrap_or(answer);
        if !allowed.split(' ').any(|allowed| allowed == error) {
            writeln!(wrong, "{call} => {answer}, not {allowed}").expect("a string has room");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    let (before, after) = (&answers[..LOOK.len()], &answers[LOOK.len() + ATTEMPTS.len()..]);
    assert!(before[9].starts_with("ok 1 a"), "{before:?}");
    assert_eq!(before, after, "the module sees a change");
}

/// The call with the mount for the word `M` and the volume for `V`.
fn placed(call: &str, mount: &str) -> String {
    let word = |word| match word {
        "M" => mount,
        "V" => "/volume/tmp",
        other => other,
    };
    call.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// Everything on the host below a directory: path, type and mode, links, size, time of change,
/// target or contents. The time of the last read is left out, which reading changes.
fn snapshot(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(path) = open.pop() {
        let meta = fs::symlink_metadata(&path).expect("it is there");
        let contents = if meta.is_symlink() {
            format!("{:?}", fs::read_link(&path).expect("it is a link"))
        } else if meta.is_dir() {
            let entries = fs::read_dir(&path).expect("it can be listed");
            open.extend(entries.map(|entry| entry.expect("it can be listed").path()));
            String::new()
        } else {
            format!("{:?}", fs::read(&path).expect("it can be read"))
        };
        found.push(format!(
            "{} {:o} {} {} {}.{:09} {}.{:09} {contents}",
            path.display(),
            meta.mode(),
            meta.nlink(),
            meta.size(),
            meta.mtime(),
            meta.mtime_nsec(),
            meta.ctime(),
            meta.ctime_nsec(),
        ));
    }
    found.sort();
    found
}

fn volume_with_files() -> Volume {
    let volume = Volume::new();
    fs::write(volume.tmp().join("v.txt"), "v").expect("the folder is ours");
    symlink("v.txt", volume.tmp().join("vlink")).expect("the folder is ours");
    fs::create_dir(volume.tmp().join("vdir")).expect("the folder is ours");
    symlink("../skill/a.txt", volume.tmp().join("to-mount")).expect("the folder is ours");
    volume
}

#[test]
fn a_skill_is_as_before() {
    let guest = guest!();
    let volume = volume_with_files();
    let skill = volume.root.path().join("skill");
    for folder in ["dir", "empty"] {
        fs::create_dir_all(skill.join(folder)).expect("the folder is ours");
    }
    fs::write(skill.join("a.txt"), "a").expect("the folder is ours");
    fs::write(skill.join("dir/b.txt"), "b").expect("the folder is ours");
    symlink("a.txt", skill.join("link")).expect("the folder is ours");
    symlink("dir", skill.join("dirlink")).expect("the folder is ours");
    let before = snapshot(&skill);
    let mut flags = volume.flags();
    flags.extend(["--skill".to_owned(), format!("s={}", text(&skill))]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    try_all("/skills/s", |script| lines(&run(&guest.bundle, script, &flags).exits(0).json()["result"]));
    assert_eq!(snapshot(&skill), before);
    // Nothing was taken into the volume either.
    let volume: Vec<String> = snapshot(&volume.tmp());
    assert_eq!(volume.len(), 5, "{volume:#?}");
}

/// The package has no links and no empty directory: their names are absent, and stay so.
#[test]
fn the_package_is_as_before() {
    let guest = guest!();
    let volume = volume_with_files();
    let bundle = guest.package().with("a.txt", "a").with("dir/b.txt", "b").with("empty/x", "").build();
    let flags = volume.flags();
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    try_all("/package", |script| lines(&run(&bundle, script, &flags).exits(0).json()["result"]));
    let volume: Vec<String> = snapshot(&volume.tmp());
    assert_eq!(volume.len(), 5, "{volume:#?}");
}

/// The directory that only lists the skills is as read-only as they are.
#[test]
fn the_list_of_skills_is_as_before() {
    let guest = guest!();
    let volume = Volume::new();
    let mut flags = volume.flags();
    flags.extend(["--skill".to_owned(), format!("s={}", text(&volume.outside()))]);
    super::check(
        &guest.bundle,
        &flags,
        "put /skills new x cw => perm
         mkdir /skills new => perm
         rmdir /skills s => perm
         rename /skills s /skills t => perm
         rename /skills s /volume/tmp s => perm
         symlink /skills new s => perm
         path_times /skills s 0 0 AM => perm
         times_of /skills 0 0 AM => perm
         list /skills 4096 => ok 3 .:dir ..:dir s:dir",
    );
}
