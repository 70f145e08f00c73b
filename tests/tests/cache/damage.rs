//! A cache whose files are not what the loader wrote.

use super::*;

/// A cache with `examples/hello` in it, and the digest.
fn installed() -> (Cache, String) {
    let cache = Cache::absent();
    let digest = cache.install(&hello_twice());
    (cache, digest)
}

/// Replaces a file of the cache, which is not writable as it stands.
fn replace(path: &Path, contents: &[u8]) {
    fs::remove_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    fs::write(path, contents).expect("the cache is ours");
}

/// Installing again mends what is damaged, as the hint says.
#[track_caller]
fn is_mended_by_an_install(cache: &Cache, digest: &str) {
    assert_eq!(cache.install(&hello_twice()), digest);
    assert_eq!(cache.run("cache", &["verify"]).exits(0).stdout, format!("{digest}\tok\n"));
    assert_eq!(cache.greet(digest).exits(0).stdout, "Hello, Ada!\n");
    assert_eq!(cache.names_in("making"), [""; 0]);
}

#[test]
fn a_damaged_record_is_told() {
    let (cache, digest) = installed();
    let path = cache.bundle(&digest).join("install.json");
    let record = fs::read_to_string(&path).expect("the record is there");
    let other = record.replace(&digest, &format!("sha256:{}", "0".repeat(64)));
    for wrong in ["", "{}", &record[..record.len() / 2], &other, &record.replacen('{', "{\"more\":1,", 1)] {
        replace(&path, wrong.as_bytes());
        for run in [cache.greet(&digest), cache.greet("name:hello")] {
            let run = run.exits(3);
            assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0917"], ""), "{wrong}: {run}");
            assert!(run.stderr.contains("install.json"), "{run}");
        }
        let run = cache.run("cache", &["verify"]).exits(3);
        assert_eq!(run.stdout, format!("{digest}\tdamaged\n"), "{run}");
        // The others are listed all the same.
        assert_eq!(cache.run("cache", &["list"]).exits(0).errors(), ["E0917"]);
        is_mended_by_an_install(&cache, &digest);
    }
}

/// Without a record there is no bundle.
#[test]
fn a_bundle_without_a_record_is_not_installed() {
    let (cache, digest) = installed();
    fs::remove_file(cache.bundle(&digest).join("install.json")).expect("the cache is ours");
    assert_eq!(cache.greet(&digest).exits(3).errors(), ["E0916"]);
    is_mended_by_an_install(&cache, &digest);
}

#[test]
fn a_damaged_name_is_told() {
    let (cache, digest) = installed();
    for wrong in ["", "sha256:00", "../bundles"] {
        replace(&cache.path().join("names/hello"), wrong.as_bytes());
        let run = cache.greet("name:hello").exits(3);
        assert_eq!(run.errors(), ["E0917"], "{run}");
        is_mended_by_an_install(&cache, &digest);
    }
    // A name that stands for nothing.
    replace(&cache.path().join("names/hello"), format!("sha256:{}", "0".repeat(64)).as_bytes());
    assert_eq!(cache.greet("name:hello").exits(3).errors(), ["E0916"]);
}

/// A call looks at the size alone, before anything of the artifact is mapped.
#[test]
fn an_artifact_of_another_size_is_refused() {
    let (cache, digest) = installed();
    let path = cache.bundle(&digest).join("artifact.cwasm");
    let artifact = fs::read(&path).expect("the artifact is there");
    let longer = [artifact.as_slice(), &[0]].concat();
    for wrong in [&[][..], &artifact[..artifact.len() - 1], &longer] {
        replace(&path, wrong);
        let run = cache.greet(&digest).exits(3);
        assert_eq!((run.errors(), run.stdout.as_str()), (vec!["E0917"], ""), "{run}");
        assert!(run.stderr.contains("artifact.cwasm"), "{run}");
        assert_eq!(cache.run("cache", &["verify"]).exits(3).errors(), ["E0917"]);
        is_mended_by_an_install(&cache, &digest);
    }
    fs::remove_file(&path).expect("the cache is ours");
    let run = cache.greet(&digest);
    assert!(matches!(run.code, Some(3 | 5)) && run.stdout.is_empty(), "{run}");
    is_mended_by_an_install(&cache, &digest);
}

/// What a call does not hash, `cache verify` does.
#[test]
fn one_changed_byte_is_found() {
    for name in ["artifact.cwasm", "bundle.json", "tools.json"] {
        let (cache, digest) = installed();
        let path = cache.bundle(&digest).join(name);
        let mut bytes = fs::read(&path).expect("the file is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        replace(&path, &bytes);
        let run = cache.run("cache", &["verify"]).exits(3);
        assert_eq!(run.errors(), ["E0917"], "{run}");
        assert!(run.stderr.contains(name) && run.stdout == format!("{digest}\tdamaged\n"), "{run}");
        let json = cache.run("cache", &["verify", "--format", "json"]).exits(3).json();
        assert_eq!(json["checked"][0]["ok"], false);
        assert_eq!(json["checked"][0]["diagnostics"][0]["code"], "E0917");
        is_mended_by_an_install(&cache, &digest);
    }
}

#[test]
fn a_changed_asset_is_found() {
    let cache = Cache::absent();
    let bundle = reads_package();
    let digest = cache.install(&bundle);
    let asset = cache.bundle(&digest).join("package/greeting.txt");
    replace(&asset, b"an Asset");
    let run = cache.run("cache", &["verify"]).exits(3);
    assert!(run.errors() == ["E0917"] && run.stderr.contains("greeting.txt"), "{run}");
    assert_eq!(cache.install(&bundle), digest);
    assert_eq!(fs::read(&asset).expect("the asset is there"), b"an asset");
}

/// A link where the artifact was is not followed, even to the very same bytes.
#[cfg(unix)]
#[test]
fn a_link_for_an_artifact_is_refused() {
    let (cache, digest) = installed();
    let path = cache.bundle(&digest).join("artifact.cwasm");
    let aside = cache.path().join("aside");
    fs::rename(&path, &aside).expect("the cache is ours");
    std::os::unix::fs::symlink(&aside, &path).expect("the cache is ours");
    let run = cache.greet(&digest);
    assert!(matches!(run.code, Some(3 | 5)) && run.stdout.is_empty(), "{run}");
    assert_eq!(run.errors().len(), 1, "{run}");
}

/// What is not a bundle's is left alone, and disturbs nothing.
#[test]
fn strange_files_are_left_alone() {
    let (cache, digest) = installed();
    fs::write(cache.path().join("bundles/notes.txt"), "mine").expect("the cache is ours");
    assert_eq!(cache.listed(), [digest.as_str()]);
    assert_eq!(cache.run("cache", &["verify"]).exits(0).stdout, format!("{digest}\tok\n"));
    assert_eq!(cache.greet(&digest).exits(0).stdout, "Hello, Ada!\n");
}

/// A prune that was cut off is no obstacle to the next.
#[test]
fn a_cut_off_prune_is_finished() {
    let (cache, digest) = installed();
    let hex = digest.strip_prefix("sha256:").expect("a digest names its algorithm");
    let left = cache.path().join("making").join(format!("pruned-{hex}"));
    fs::create_dir(&left).expect("the cache is ours");
    fs::write(left.join("tools.json"), "").expect("the cache is ours");
    let run = cache.run("cache", &["prune", "--all"]).exits(0);
    assert_eq!(run.stdout, format!("{digest}\tremoved\n"), "{run}");
    assert_eq!(cache.names_in("making"), [""; 0]);
    assert_eq!(cache.names_in("bundles"), [""; 0]);
}
