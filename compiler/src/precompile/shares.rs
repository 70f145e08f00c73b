//! How the machine is shared out: how many targets are compiled at once, and by how many threads
//! each.

use std::fs;
use std::path::Path;

use subako_manifest::limits::MIB;

/// Memory that compiling the smallest module takes: the program, the tables of the target's
/// instructions, a stack for each thread.
const BASE_BYTES: u64 = 64 * MIB;
/// Memory that compiling takes for each byte of a module: the module, the code of all functions
/// before they are put together, the artifact, and what the compiler thinks up on the way. Measured
/// were 10 for CPython and 21 for 20 MB of small functions, by two threads.
const BYTES_PER_MODULE_BYTE: u64 = 30;

/// The memory that compiling a module for one target takes, estimated from above.
pub(super) fn estimate(module_bytes: u64) -> u64 {
    BASE_BYTES.saturating_add(module_bytes.saturating_mul(BYTES_PER_MODULE_BYTE))
}

/// How many targets are compiled at once: at most `jobs`, and as many as the available memory
/// has room for. One is always compiled; whether there is room for that one, the system says.
pub(super) fn targets_at_once(
    jobs: usize,
    targets: usize,
    module_bytes: u64,
    available: Option<u64>,
) -> usize {
    let room = available.map_or(usize::MAX, |available| {
        usize::try_from(available / estimate(module_bytes)).unwrap_or(usize::MAX)
    });
    jobs.min(targets).min(room).max(1)
}

/// How many threads each of `at_once` processes gets: together as many as there are cores, each
/// at least one.
pub(super) fn threads(cores: usize, at_once: usize) -> Vec<usize> {
    let at_once = at_once.max(1);
    let (each, rest) = (cores / at_once, cores % at_once);
    (0..at_once).map(|at| (each + usize::from(at < rest)).max(1)).collect()
}

/// Bytes of memory that are to be had: of the machine, and of each control group that this
/// process is in. None where the system does not say.
pub(super) fn available_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(machine_memory);
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let group = group_memory(&groups, Path::new("/sys/fs/cgroup"));
    machine.into_iter().chain(group).min()
}

/// From `/proc/meminfo`: what could be had without swapping.
fn machine_memory(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The least that any control group of `/proc/self/cgroup` leaves, its parents included; `root`
/// is where their files are.
fn group_memory(groups: &str, root: &Path) -> Option<u64> {
    let mut least = None;
    for line in groups.lines() {
        // `0::/path` in version 2, `5:memory:/path` in version 1.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (top, [limit, usage], inactive) = if controllers.is_empty() {
            (root.to_owned(), ["memory.max", "memory.current"], "inactive_file ")
        } else if controllers.split(',').any(|controller| controller == "memory") {
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            (root.join("memory"), files, "total_inactive_file ")
        } else {
            continue;
        };
        let path = path.trim_start_matches('/');
        // A container may see the host's path without having its folders: the nearest that is there.
        for group in Path::new(path).ancestors() {
            let read = |file: &str| fs::read_to_string(top.join(group).join(file)).unwrap_or_default();
            let left = left_in_group(&read(limit), &read(usage), &read("memory.stat"), inactive);
            least = least.into_iter().chain(left).min();
        }
    }
    least
}

/// What a group's limit leaves: what it uses counts, but for file pages that nobody has used for
/// long, which the system takes back.
fn left_in_group(limit: &str, usage: &str, stat: &str, inactive: &str) -> Option<u64> {
    // `max` is no limit.
    let limit: u64 = limit.trim().parse().ok()?;
    let usage: u64 = usage.trim().parse().ok()?;
    let back = stat.lines().find_map(|line| line.strip_prefix(inactive)?.trim().parse().ok()).unwrap_or(0);
    Some(limit.saturating_sub(usage.saturating_sub(back)))
}

#[cfg(test)]
mod tests {
    use subako_manifest::limits::GIB;

    use super::*;

    #[test]
    fn memory_bounds_the_targets_at_once() {
        let large = 100 * MIB;
        // 64 MiB and thirty times 100 MiB.
        assert_eq!(estimate(large), 3_064 * MIB);
        for (jobs, targets, available, at_once) in [
            (4, 4, None, 4),
            (4, 4, Some(64 * GIB), 4),
            // Three times 3,064 MiB are less than 9 GiB, four times are more.
            (4, 4, Some(9 * GIB), 3),
            (4, 4, Some(3_064 * MIB), 1),
            (4, 4, Some(3_064 * MIB * 2), 2),
            // Never none, never more than jobs or targets.
            (4, 4, Some(0), 1),
            (2, 4, Some(64 * GIB), 2),
            (4, 1, Some(64 * GIB), 1),
            (0, 4, None, 1),
            (4, 0, None, 1),
        ] {
            let found = targets_at_once(jobs, targets, large, available);
            assert_eq!(found, at_once, "{jobs} {targets} {available:?}");
        }
        assert_eq!(targets_at_once(8, 8, 50_000, Some(GIB)), 8, "small modules hardly count");
        assert_eq!(targets_at_once(8, 8, u64::MAX, Some(u64::MAX)), 1);
    }

    #[test]
    fn threads_are_as_many_as_cores() {
        for (cores, at_once, expected) in [
            (8, 1, vec![8]),
            (8, 4, vec![2, 2, 2, 2]),
            (8, 3, vec![3, 3, 2]),
            (2, 2, vec![1, 1]),
            (2, 4, vec![1, 1, 1, 1]),
            (1, 0, vec![1]),
        ] {
            assert_eq!(threads(cores, at_once), expected, "{cores} {at_once}");
        }
    }

    #[test]
    fn the_machine_says_what_is_available() {
        let meminfo =
            "MemTotal:       24579116 kB\nMemFree:         6514532 kB\nMemAvailable:   22119212 kB\n";
        assert_eq!(machine_memory(meminfo), Some(22_119_212 * 1024));
        assert_eq!(machine_memory("MemTotal: 1 kB\n"), None);
        assert_eq!(machine_memory("MemAvailable: many kB\n"), None);
    }

    #[test]
    fn a_group_leaves_its_limit_less_its_use() {
        let stat = "anon 300\nfile 900\ninactive_file 400\nactive_file 500\n";
        assert_eq!(left_in_group("2000\n", "1200\n", stat, "inactive_file "), Some(1_200));
        assert_eq!(left_in_group("1000\n", "1200\n", "", "inactive_file "), Some(0));
        assert_eq!(left_in_group("max\n", "1200\n", stat, "inactive_file "), None);
        assert_eq!(left_in_group("", "", "", "inactive_file "), None);
    }

    #[test]
    fn the_tightest_group_counts() {
        let root = tempfile::tempdir().unwrap();
        let group = |path: &str, files: &[(&str, &str)]| {
            let folder = root.path().join(path);
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in files {
                fs::write(folder.join(name), text).unwrap();
            }
        };
        group("a", &[("memory.max", "5000\n"), ("memory.current", "1000\n")]);
        group("a/b", &[("memory.max", "max\n"), ("memory.current", "900\n")]);
        assert_eq!(group_memory("0::/a/b\n", root.path()), Some(4_000));
        group("a/b", &[("memory.max", "1000\n")]);
        assert_eq!(group_memory("0::/a/b\n", root.path()), Some(100));
        assert_eq!(group_memory("0::/c\n", root.path()), None);
        assert_eq!(group_memory("0::/a/not/here\n", root.path()), Some(4_000));
        let old = [("memory.limit_in_bytes", "800\n"), ("memory.usage_in_bytes", "500\n")];
        group("memory/d", &[&old[..], &[("memory.stat", "total_inactive_file 50\n")]].concat());
        assert_eq!(group_memory("5:cpu,memory:/d\n4:pids:/a\n", root.path()), Some(350));
        assert_eq!(group_memory("nothing\n", root.path()), None);
    }
}
