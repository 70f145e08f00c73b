//! Signatures and trust: `docs/trust.md` names the tests here, line by line. The referee is
//! `openssl`: it checks what we sign, and signs what we check.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::keys::{Keys, Kind, base64, key_id, openssl_prints, spki_base64, unbase64};
use subako_tests::package::{hello, host_target};
use subako_tests::programs::{loader, programs, subakoc};
use subako_tests::run::Run;
use subako_tests::tamper::{Pieces, Raw};

/// The bundle that the tests sign, built once: two artifacts and two assets.
fn unsigned() -> &'static Bundle {
    static BUNDLE: OnceLock<Bundle> = OnceLock::new();
    BUNDLE.get_or_init(|| {
        let package = hello().with("data/one.txt", "one").with("data/two.txt", "two");
        package.build_with(&["--target", host_target(), "--target", "pulley64"])
    })
}

/// A copy of a bundle in the keys' folder.
fn copy(keys: &Keys, name: &str, bundle: &Bundle) -> String {
    keys.write(name, bundle.bytes())
}

fn sign(bundle: &str, arguments: &[&str]) -> Run {
    subakoc([&["sign", bundle], arguments].concat())
}

fn call(bundle: &str, arguments: &[&str]) -> Run {
    loader([&["call", bundle, "greet", r#"{"name":"Ada"}"#, "-v"], arguments].concat())
}

/// The entries of a bundle in a file: names and bytes.
fn entries(path: &str) -> Vec<(String, Vec<u8>)> {
    let mut zip = zip::ZipArchive::new(fs::File::open(path).expect("the bundle is a zip of text and JSON"))
        .expect("the bundle is a zip of text and JSON");
    (0..zip.len())
        .map(|at| {
            let mut entry = zip.by_index(at).expect("the bundle is a zip of text and JSON");
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("the bundle is a zip of text and JSON");
            (entry.name().expect("the bundle is a zip of text and JSON").into_owned(), bytes)
        })
        .collect()
}

/// The envelope of a key in a bundle, and the bytes that it signs, put together by hand.
fn envelope(bundle: &str, id: &str) -> (Value, Vec<u8>) {
    let name = format!("signatures/{id}.json");
    let bytes = entries(bundle).into_iter().find(|(found, _)| *found == name).expect("the key has signed").1;
    let envelope: Value = serde_json::from_slice(&bytes).expect("the bundle is a zip of text and JSON");
    let payload = unbase64(envelope["payload"].as_str().expect("the bundle is a zip of text and JSON"));
    (envelope, pae(&payload))
}

fn pae(payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 28 application/vnd.in-toto+json {} ", payload.len());
    [head.as_bytes(), payload].concat()
}

/// The file of an envelope.
fn envelope_json(payload: &[u8], id: &str, signature: &[u8]) -> String {
    format!(
        "{{\"payloadType\":\"application/vnd.in-toto+json\",\"payload\":\"{}\",\
         \"signatures\":[{{\"keyid\":\"{id}\",\"sig\":\"{}\"}}]}}\n",
        base64(payload),
        base64(signature)
    )
}

#[test]
fn openssl_checks_what_we_sign() {
    let keys = Keys::default();
    for (name, kind) in [("ed", Kind::Ed25519), ("p256", Kind::P256)] {
        let (private, public) = keys.make(name, kind, &[]);
        let bundle = copy(&keys, "b.subako", unsigned());
        let run = sign(&bundle, &["--key", &private]).exits(0);
        let id = key_id(&public);
        assert!(run.stdout.contains(&id), "{run}");
        let (envelope, message) = envelope(&bundle, &id);
        assert_eq!(envelope["payloadType"], "application/vnd.in-toto+json");
        assert_eq!(envelope["signatures"][0]["keyid"], id);
        let signature = unbase64(envelope["signatures"][0]["sig"].as_str().unwrap());
        assert!(keys.verifies(&public, kind, &message, &signature), "{name}");
        assert!(!keys.verifies(&public, kind, &message[1..], &signature), "{name}");
        let _ = subakoc(["verify", &bundle, "--trust", &public]).exits(0);
        assert_eq!(call(&bundle, &["--trust", &public]).exits(0).stdout, "Hello, Ada!\n");
    }
}

#[test]
fn openssl_signs_what_we_check() {
    let keys = Keys::default();
    for (name, kind) in [("ed", Kind::Ed25519), ("p256", Kind::P256)] {
        let (private, public) = keys.make(name, kind, &[]);
        let signer = match kind {
            // It wants a file, for the length.
            Kind::Ed25519 => {
                let input = keys.path("input");
                format!("cat > {input} && openssl pkeyutl -sign -inkey {private} -rawin -in {input}")
            }
            Kind::P256 => format!("openssl dgst -sha256 -sign {private}"),
        };
        // Half of openssl's P-256 signatures have their s in the upper half.
        for _ in 0..6 {
            let bundle = copy(&keys, "b.subako", unsigned());
            let _ = sign(&bundle, &["--signer", &signer, "--public-key", &public]).exits(0);
            let _ = subakoc(["verify", &bundle, "--trust", &public]).exits(0);
            assert_eq!(call(&bundle, &["--trust", &public]).exits(0).stdout, "Hello, Ada!\n");
        }
        let (_, other) = keys.make("other", kind, &[]);
        let bundle = copy(&keys, "b.subako", unsigned());
        let run = sign(&bundle, &["--signer", &signer, "--public-key", &other]).exits(3);
        assert_eq!(run.errors(), ["E0835"], "{run}");
        assert_eq!(fs::read(&bundle).unwrap(), unsigned().bytes(), "nothing is written");
    }
}

#[test]
fn a_signer_that_fails_signs_nothing() {
    let keys = Keys::default();
    let (_, public) = keys.make("k", Kind::Ed25519, &[]);
    let bundle = copy(&keys, "b.subako", unsigned());
    for (signer, code, errors) in [
        ("exit 1", 5, "E0834"),
        ("true", 3, "E0835"),
        ("cat /dev/zero", 5, "E0834"),
        ("echo text", 3, "E0835"),
    ] {
        let run = sign(&bundle, &["--signer", signer, "--public-key", &public]).exits(code);
        assert_eq!(run.errors(), [errors], "{run}");
    }
    assert_eq!(fs::read(&bundle).unwrap(), unsigned().bytes());
}

#[test]
fn keys_are_openssl_s() {
    let keys = Keys::default();
    let password = keys.write("password", "open sesame\n");
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
    for algorithm in ["ed25519", "p256"] {
        let private = keys.path(&format!("{algorithm}.pem"));
        let run = subakoc(["keygen", "-o", &private, "--algorithm", algorithm, "--format", "json"]).exits(0);
        let public = format!("{private}.pub");
        assert_eq!(run.json()["key_id"], key_id(&public), "{run}");
        assert_eq!(run.json()["key"], spki_base64(&public), "{run}");
        assert_eq!(
            openssl_prints(&["pkey", "-in", &private, "-pubout"]),
            fs::read_to_string(&public).unwrap()
        );
        let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&private), 0o600);

        let locked = keys.path(&format!("{algorithm}-locked.pem"));
        let arguments = ["keygen", "-o", &locked, "--algorithm", algorithm, "--encrypt", "--passphrase-file"];
        let _ = subakoc(arguments.into_iter().chain([password.as_str()])).exits(0);
        let opened = openssl_prints(&["pkey", "-in", &locked, "-passin", "pass:open sesame", "-pubout"]);
        assert_eq!(opened, fs::read_to_string(format!("{locked}.pub")).unwrap());
    }
}

#[test]
fn encrypted_keys_of_openssl_are_opened() {
    let keys = Keys::default();
    let _ = keys.make("plain", Kind::Ed25519, &[]);
    let (pbkdf2, _) = keys.make("pbkdf2", Kind::Ed25519, &["-aes-256-cbc", "-pass", "pass:one"]);
    let (p256, _) = keys.make("p256", Kind::P256, &["-aes-128-cbc", "-pass", "pass:one"]);
    let scrypt = keys.path("scrypt.pem");
    let plain = keys.path("plain.pem");
    let _ = openssl_prints(&[
        "pkcs8", "-topk8", "-in", &plain, "-scrypt", "-passout", "pass:one", "-out", &scrypt,
    ]);
    let bundle = copy(&keys, "b.subako", unsigned());
    for key in [&pbkdf2, &p256, &scrypt] {
        fs::set_permissions(key, fs::Permissions::from_mode(0o600)).unwrap();
        let with = |passphrase: &str| {
            let mut command = Command::new(&programs().subakoc);
            command.args(["sign", &bundle, "--key", key, "--passphrase-env", "PASSPHRASE"]);
            Run::of(command.env("PASSPHRASE", passphrase))
        };
        let _ = with("one").exits(0);
        assert_eq!(with("two").exits(3).errors(), ["E0833"]);
        // Nobody is there to be asked.
        assert_eq!(sign(&bundle, &["--key", key]).exits(2).errors(), ["E0832"]);
    }
    assert_eq!(entries(&bundle).len(), unsigned().entries().len() + 3);
}

#[test]
fn a_private_key_is_its_owner_s_alone() {
    let keys = Keys::default();
    let (private, _) = keys.make("k", Kind::Ed25519, &[]);
    let bundle = copy(&keys, "b.subako", unsigned());
    for mode in [0o644, 0o640, 0o604, 0o622] {
        fs::set_permissions(&private, fs::Permissions::from_mode(mode)).unwrap();
        let run = sign(&bundle, &["--key", &private]).exits(3);
        assert_eq!(run.errors(), ["E0831"], "{run}");
        assert!(run.stderr.contains(&format!("its mode is {mode:o}")), "{run}");
    }
    // A public key is for others to read, and signs nothing.
    let _ = subakoc(["keygen", "-o", &keys.path("b.pem")]).exits(0);
    for mode in [0o644, 0o600] {
        let public = keys.path("b.pem.pub");
        fs::set_permissions(&public, fs::Permissions::from_mode(mode)).unwrap();
        let run = sign(&bundle, &["--key", &public]).exits(3);
        assert_eq!(run.errors(), ["E0830"], "{run}");
        assert!(run.stderr.contains("it is a public key"), "{run}");
        assert!(run.stderr.contains(&format!("give the private key, `{}`", keys.path("b.pem"))), "{run}");
    }
    // From a variable there is no file to be read by others.
    let pem = fs::read_to_string(&private).unwrap();
    let mut command = Command::new(&programs().subakoc);
    command.args(["sign", &bundle, "--key", "env:SIGNING_KEY", "-v"]).env("SIGNING_KEY", &pem);
    let run = Run::of(&mut command).exits(0);
    let secret = pem.lines().nth(1).unwrap();
    assert!(!run.stdout.contains(secret) && !run.stderr.contains(secret));
}

#[test]
fn a_passphrase_without_a_key_is_told() {
    let keys = Keys::default();
    let (_, public) = keys.make("k", Kind::P256, &[]);
    let bundle = copy(&keys, "b.subako", unsigned());
    let package = hello();
    let (package, new, absent) = (package.path(), keys.path("new"), keys.path("absent"));
    let package = package.to_str().unwrap();
    let file = ["--passphrase-file", &absent];
    let variable = ["--passphrase-env", "ABSENT"];
    for (arguments, passphrase) in [
        (&["build", package, "-o", &new][..], file),
        (&["build", package, "-o", &new], variable),
        (&["build", package, "-o", &new, "--signer", "false", "--public-key", &public], file),
        (&["rebuild", &bundle, "-o", &new], file),
        (&["sign", &bundle, "--attach", &absent], file),
    ] {
        let run = subakoc([arguments, &passphrase].concat()).exits(2);
        assert_eq!(run.errors(), ["E0902"], "{run}");
        assert!(run.stderr.contains(&format!("`{}` is for a private key", passphrase[0])), "{run}");
        assert!(!Path::new(&new).exists());
    }
}

/// In the same words for all that is written.
#[test]
fn a_directory_that_is_absent_is_told_first() {
    let keys = Keys::default();
    let (package, bundle) = (hello(), copy(&keys, "b.subako", unsigned()));
    let (package, out) = (package.path(), keys.path("absent/out"));
    for arguments in [
        &["build", package.to_str().unwrap(), "-o", &out][..],
        &["build", package.to_str().unwrap(), "-o", &keys.path("new"), "--report", &out],
        &["rebuild", &bundle, "-o", &out],
        &["sign", &bundle, "--remove", &"0".repeat(64), "-o", &out],
        &["pull", "dir:nowhere", "-o", &out],
        &["keygen", "-o", &out],
    ] {
        let run = subakoc(arguments).exits(2);
        assert_eq!(run.errors(), ["E0902"], "{run}");
        assert!(run.stderr.contains("absent` is not there\n  hint: make the directory first"), "{run}");
    }
}

#[test]
fn a_reference_in_a_bundle_s_place_is_told() {
    let keys = Keys::default();
    let (_, public) = keys.make("k", Kind::P256, &[]);
    let reference = "oci://ghcr.io/team/greet:1.0";
    for arguments in [&["verify", reference, "--trust", &public][..], &["inspect", reference]] {
        let run = subakoc(arguments).exits(3);
        assert_eq!(run.errors(), ["E0701"], "{run}");
        assert!(
            run.stderr.contains(&format!("pull it first: `subakoc pull {reference} -o out.subako`")),
            "{run}"
        );
    }
}

#[test]
fn keygen_writes_over_nothing() {
    let keys = Keys::default();
    let (private, public) = (keys.path("k"), keys.path("k.pub"));
    for there in [&private, &public] {
        fs::write(there, "mine").unwrap();
        let run = subakoc(["keygen", "-o", &private]).exits(2);
        assert_eq!(run.errors(), ["E0837"], "{run}");
        assert_eq!(fs::read_to_string(there).unwrap(), "mine");
        fs::remove_file(there).unwrap();
        assert!(!Path::new(&private).exists() && !Path::new(&public).exists());
    }
}

/// What is replaced is gone: each line is a command that would have cost a file. `{…}` are files.
#[test]
fn an_output_replaces_nothing_that_is_read_and_no_key() {
    let keys = Keys::default();
    let (_, other) = keys.make("other", Kind::Ed25519, &[]);
    let _ = subakoc(["keygen", "-o", &keys.path("k.pem")]).exits(0);
    let _ = openssl_prints(&["pkey", "-in", &keys.path("k.pem"), "-pubout", "-out", &keys.path("t.pub")]);
    let _ = copy(&keys, "g.subako", unsigned());
    let (private, bundle) = (keys.path("k.pem"), keys.path("g.subako"));
    let _ = sign(&bundle, &["--key", &private, "--detached", &keys.path("s.json")]).exits(0);
    fs::create_dir(keys.path("inner")).unwrap();
    fs::hard_link(&private, keys.path("hard.pem")).unwrap();
    std::os::unix::fs::symlink("k.pem", keys.path("soft.pem")).unwrap();
    for (name, text) in [("p", "secret"), ("c", "-----BEGIN CERTIFICATE-----")] {
        fs::set_permissions(keys.write(name, text), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let package = hello();
    let package = package.path();
    let _ = subakoc(["publish", &bundle, &format!("dir:{}:1", keys.path("layout"))]).exits(0);

    let lines = [
        "build {package} -o {new} --sign {k.pem} --report {k.pem}",
        "build {package} -o {new} --sign {k.pem} --report {inner/../k.pem}",
        "build {package} -o {k.pem} --sign {k.pem}",
        "build {package} -o {hard.pem} --sign {k.pem}",
        "build {package} -o {soft.pem} --sign {k.pem}",
        "build {package} -o {new} --sign {k.pem} --passphrase-file {p} --report {p}",
        "build {package} -o {p} --sign {k.pem} --passphrase-file {p}",
        "build {package} -o {new} --cache-from dir:{layout} --cache-trust {t.pub} --report {t.pub}",
        "build {package} -o {new} --cache-from dir:{layout} --cache-trust {t.pub} --ca-file {c} --report {c}",
        "build {package} -o {layout}/index.json --cache-from dir:{layout} --cache-trust {t.pub}",
        "build {package} -o {new} --report {new}",
        // Also where nothing else is about the key, and where the run is refused anyway.
        "build {package} -o {k.pem}",
        "build {package} -o {new} --report {k.pem}",
        "build {package} -o {new} --report {k.pem} --target nowhere",
        "build {package} -o {new} --report {k.pem.pub}",
        "build {absent} -o {new} --report {k.pem}",
        "rebuild {g.subako} -o {k.pem} --sign {k.pem}",
        "rebuild {g.subako} -o {new} --report {g.subako}",
        "rebuild {g.subako} -o {g.subako} --report {g.subako}",
        "sign {g.subako} --key {k.pem} --detached {k.pem}",
        "sign {g.subako} --key {k.pem} --detached {k.pem.pub}",
        "sign {g.subako} --key {k.pem} --detached {g.subako}",
        "sign {g.subako} --key {k.pem} -o {k.pem}",
        "sign {g.subako} --signer false --public-key {t.pub} -o {t.pub}",
        "sign {g.subako} --attach {s.json} -o {s.json}",
        "sign {g.subako} --attach {s.json} -o {k.pem}",
        "pull dir:{layout}:1 -o {k.pem}",
        "pull dir:{layout}:1 -o {layout}/index.json",
        "pull oci://localhost:1/g:1 --ca-file {c} -o {c}",
        "publish {g.subako} dir:{k.pem}",
        "keygen -o {k.pem}",
        "keygen -o {k}.pem",
        "keygen -o {p} --encrypt --passphrase-file {p}",
    ];
    let files = ["k.pem", "k.pem.pub", "t.pub", "g.subako", "s.json", "p", "c", "layout/index.json"];
    let now = || files.map(|name| fs::read(keys.path(name)).unwrap());
    let before = now();
    for line in lines {
        let line = line.replace("{package}", package.to_str().unwrap());
        let arguments = line.split(' ').map(|word| match word.split_once('{') {
            Some((start, rest)) => {
                let (name, end) = rest.split_once('}').unwrap();
                format!("{start}{}{end}", keys.path(name))
            }
            None => word.to_owned(),
        });
        let run = subakoc(arguments).exits(2);
        assert!(matches!(run.errors()[..], ["E0902" | "E0837"]), "{run}");
        assert!(now() == before, "{run}");
        assert!(fs::symlink_metadata(keys.path("soft.pem")).unwrap().is_symlink(), "{run}");
        assert!(!Path::new(&keys.path("new")).exists(), "{run}");
    }

    // What is meant to be replaced is: a bundle by its own, and what is no key.
    let _ = sign(&bundle, &["--key", &private]).exits(0);
    let _ = subakoc(["rebuild", &bundle, "-o", &bundle, "--target", "pulley64", "--sign", &private]).exits(0);
    let _ = sign(&bundle, &["--key", &private, "--detached", &keys.path("s.json")]).exits(0);
    let _ = subakoc(["verify", &bundle, "--trust", &keys.path("t.pub")]).exits(0);
    let _ = subakoc(["verify", &bundle, "--trust", &other]).exits(3);
}

#[test]
fn a_signature_changes_no_other_entry() {
    let keys = Keys::default();
    let (one, one_public) = keys.make("one", Kind::Ed25519, &[]);
    let (two, two_public) = keys.make("two", Kind::P256, &[]);
    let bundle = copy(&keys, "b.subako", unsigned());
    let others = |path: &str| {
        let mut entries = entries(path);
        entries.retain(|(name, _)| !name.starts_with("signatures/"));
        entries
    };
    let before = others(&bundle);
    let _ = sign(&bundle, &["--key", &one]).exits(0);
    let with_one = fs::read(&bundle).unwrap();
    assert_eq!(others(&bundle), before);
    // The stored bytes before the signature, artifacts among them, do not even move.
    let raw = Raw { bytes: with_one.clone() };
    let (_, local) = raw.headers(&format!("signatures/{}.json", key_id(&one_public)));
    assert_eq!(with_one[..local], unsigned().bytes()[..local]);

    let _ = sign(&bundle, &["--key", &two]).exits(0);
    assert_eq!(others(&bundle), before);
    let both =
        subakoc(["verify", &bundle, "--trust", &one_public, "--trust", &two_public, "--format", "json"]);
    assert_eq!(both.exits(0).json()["signatures"].as_array().unwrap().len(), 2);
    // Ed25519 and our P-256 sign the same bytes alike: signing again changes nothing.
    let with_both = fs::read(&bundle).unwrap();
    let _ = sign(&bundle, &["--key", &one]).exits(0);
    let _ = sign(&bundle, &["--key", &two]).exits(0);
    assert_eq!(fs::read(&bundle).unwrap(), with_both);

    let _ = sign(&bundle, &["--remove", &key_id(&two_public)]).exits(0);
    assert_eq!(fs::read(&bundle).unwrap(), with_one);
    let run = sign(&bundle, &["--remove", &key_id(&two_public)]).exits(3);
    assert_eq!(run.errors(), ["E0836"], "{run}");
    let _ = sign(&bundle, &["--remove", &key_id(&one_public)]).exits(0);
    assert_eq!(fs::read(&bundle).unwrap(), unsigned().bytes());
}

#[test]
fn a_detached_signature_leaves_the_bundle_alone() {
    let keys = Keys::default();
    let (private, public) = keys.make("k", Kind::Ed25519, &[]);
    let bundle = copy(&keys, "b.subako", unsigned());
    let detached = keys.path("b.sig.json");
    let _ = sign(&bundle, &["--key", &private, "--detached", &detached]).exits(0);
    assert_eq!(fs::read(&bundle).unwrap(), unsigned().bytes());
    let verify = |more: &[&str]| subakoc([&["verify", &bundle, "--trust", &public], more].concat());
    assert_eq!(verify(&[]).exits(3).errors(), ["E0801"]);
    let _ = verify(&["--signature", &detached]).exits(0);
    let signed = keys.path("signed.subako");
    let _ = sign(&bundle, &["--attach", &detached, "-o", &signed]).exits(0);
    assert_eq!(call(&signed, &["--trust", &public]).exits(0).stdout, "Hello, Ada!\n");
    let direct = keys.path("direct.subako");
    let _ = sign(&bundle, &["--key", &private, "-o", &direct]).exits(0);
    assert_eq!(fs::read(signed).unwrap(), fs::read(direct).unwrap());

    // One for another bundle is told at once.
    let other = hello().build_with(&["--target", "pulley64"]);
    let run = sign(&copy(&keys, "o.subako", &other), &["--attach", &detached]).exits(3);
    assert_eq!(run.errors(), ["E0810"], "{run}");
}

#[test]
fn the_statement_says_what_was_given_and_no_more() {
    let keys = Keys::default();
    let (private, public) = keys.make("k", Kind::Ed25519, &[]);
    let commit = "0123456789abcdef0123456789abcdef01234567";
    let build = |epoch: Option<&str>| {
        let output = keys.path("b.subako");
        let package = hello();
        let mut command = Command::new(&programs().subakoc);
        command.arg("build").arg(package.path()).args(["-o", &output, "--target", "pulley64"]);
        command.args(["--sign", &private, "--builder", "https://ci.example.com/b", "--keep-exports"]);
        command.args(["--source", &format!("git+https://example.com/r@{commit}")]);
        command.env_remove("SOURCE_DATE_EPOCH");
        if let Some(epoch) = epoch {
            command.env("SOURCE_DATE_EPOCH", epoch);
        }
        (Run::of(&mut command), output)
    };
    let (run, output) = build(None);
    let _ = run.exits(0);
    let first = fs::read(&output).unwrap();
    let run = subakoc(["verify", &output, "--trust", &public, "--format", "json"]).exits(0);
    let index: Value = serde_json::from_slice(
        &entries(&output).into_iter().find(|(name, _)| name == "bundle.json").unwrap().1,
    )
    .unwrap();
    let upload = index["upload"].as_str().unwrap().strip_prefix("sha256:").unwrap();
    let said = &run.json()["signatures"][0]["provenance"];
    assert_eq!(
        *said,
        json!({
            "buildDefinition": {
                "buildType": "urn:subako:build:1",
                "externalParameters": {
                    "package": "hello",
                    "targets": ["pulley64"],
                    "flags": ["--strip=debug", "--keep-exports"],
                },
                "resolvedDependencies": [
                    { "name": "upload", "digest": { "sha256": upload } },
                    { "name": "source", "uri": "git+https://example.com/r", "digest": { "gitCommit": commit } },
                ],
            },
            "runDetails": {
                "builder": {
                    "id": "https://ci.example.com/b",
                    "version": { "wasmtime": index["engine"]["version"], "subakoc": said["runDetails"]["builder"]["version"]["subakoc"] },
                },
            },
        })
    );
    let _ = build(None).0.exits(0);
    assert_eq!(fs::read(&output).unwrap(), first, "a signed build is the same every time");

    let _ = build(Some("1000000000")).0.exits(0);
    let run = subakoc(["verify", &output, "--trust", &public]).exits(0);
    assert!(run.stdout.contains("2001-09-09T01:46:40Z"), "{run}");
    assert_eq!(build(Some("yesterday")).0.exits(2).errors(), ["E0838"]);
}

#[test]
fn nothing_is_signed_that_is_not_what_its_index_says() {
    let keys = Keys::default();
    let (private, _) = keys.make("k", Kind::Ed25519, &[]);
    let mut pieces = Pieces::of(unsigned());
    pieces.get("package/data/one.txt").bytes = b"eno".to_vec();
    let bundle = keys.write("b.subako", pieces.write());
    assert_eq!(sign(&bundle, &["--key", &private]).exits(3).errors(), ["E0727"]);
}

// Trust.

/// A bundle signed by two keys of three, and the keys.
struct Signed {
    keys: Keys,
    bundle: String,
    /// The public keys; the third has not signed.
    public: [String; 3],
}

fn signed() -> Signed {
    let keys = Keys::default();
    let bundle = copy(&keys, "b.subako", unsigned());
    let public = ["a", "b", "c"].map(|name| {
        let kind = if name == "b" { Kind::P256 } else { Kind::Ed25519 };
        let (private, public) = keys.make(name, kind, &[]);
        if name != "c" {
            let _ = sign(&bundle, &["--key", &private]).exits(0);
        }
        public
    });
    Signed { keys, bundle, public }
}

impl Signed {
    /// A trust file of the three keys, each with more fields.
    fn trust(&self, of_keys: &Value, more: &Value) -> String {
        let keys: Vec<Value> = ["a", "b", "c"]
            .iter()
            .zip(&self.public)
            .map(|(name, public)| {
                let mut key = json!({ "name": name, "key": spki_base64(public) });
                key.as_object_mut()
                    .expect("it is an object")
                    .extend(of_keys.as_object().expect("it is an object").clone());
                key
            })
            .collect();
        let mut file = json!({ "format": 1, "keys": keys });
        file.as_object_mut()
            .expect("it is an object")
            .extend(more.as_object().expect("it is an object").clone());
        self.keys.write("trust.json", file.to_string())
    }

    /// Loader and compiler say the same of the bundle.
    fn errors(&self, trust: &[&str]) -> Vec<String> {
        let told = |run: &Run| run.errors().into_iter().map(str::to_owned).collect::<Vec<_>>();
        let run = call(&self.bundle, trust);
        let errors = told(&run);
        let run = run.exits(if errors.is_empty() { 0 } else { 3 });
        assert_eq!(run.stdout.is_empty(), !errors.is_empty(), "{run}");
        let verify = subakoc([&["verify", &self.bundle], trust].concat());
        assert_eq!(told(&verify), errors, "{verify}");
        errors
    }
}

#[test]
fn one_of_the_keys_given_is_enough() {
    let signed = signed();
    let [a, b, c] = signed.public.each_ref().map(String::as_str);
    assert!(signed.errors(&["--trust", a]).is_empty());
    assert!(signed.errors(&["--trust", c, "--trust", b]).is_empty());
    // Both signatures are by strangers then.
    assert_eq!(signed.errors(&["--trust", c]), ["E0803", "E0803"]);
    let run = call(&signed.bundle, &["--trust", a]);
    assert!(run.stderr.contains(&format!("signed by: {a} ({})", key_id(a))), "{run}");
}

#[test]
fn a_trust_file_says_how_many_must_agree() {
    let signed = signed();
    let threshold = |number: u32| signed.trust(&json!({}), &json!({ "threshold": number }));
    assert!(signed.errors(&["--trust", &threshold(2)]).is_empty());
    assert_eq!(signed.errors(&["--trust", &threshold(3)]), ["E0813"]);
    assert_eq!(signed.errors(&["--trust", &threshold(4)]), ["E0820"]);
    let mixed = threshold(1);
    let run = call(&signed.bundle, &["--trust", &mixed, "--trust", &signed.public[0]]).exits(2);
    assert_eq!(run.errors(), ["E0822"], "{run}");
    let run = call(&signed.bundle, &["--trust", &signed.keys.path("absent")]).exits(3);
    assert_eq!(run.errors(), ["E0823"], "{run}");
}

#[test]
fn keys_expire_and_are_for_packages() {
    let signed = signed();
    let key = |more: Value| signed.trust(&more, &json!({}));
    assert!(signed.errors(&["--trust", &key(json!({ "expires": "9999-12-31" }))]).is_empty());
    assert_eq!(signed.errors(&["--trust", &key(json!({ "expires": "2020-01-01" }))]), ["E0811", "E0811"]);
    assert!(signed.errors(&["--trust", &key(json!({ "packages": ["other", "hello"] }))]).is_empty());
    assert_eq!(signed.errors(&["--trust", &key(json!({ "packages": ["other"] }))]), ["E0812", "E0812"]);
}

#[test]
fn a_revoked_bundle_is_refused() {
    let signed = signed();
    let index = unsigned().index();
    let digest = subakoc(["inspect", &signed.bundle, "--format", "json"]).json()["bundle"]["digest"].clone();
    for revoked in [&digest, &index["upload"]] {
        let trust = signed.trust(&json!({}), &json!({ "revoked": [revoked] }));
        assert_eq!(signed.errors(&["--trust", &trust]), ["E0814"]);
    }
}

#[test]
fn allow_unsigned_rescues_nothing() {
    let signed = signed();
    let [a, _, c] = signed.public.each_ref().map(String::as_str);
    let run = call(&signed.bundle, &["--trust", c, "--allow-unsigned"]).exits(3);
    assert_eq!(run.errors(), ["E0803", "E0803"], "{run}");
    let run = call(&signed.bundle, &["--trust", a, "--allow-unsigned"]).exits(0);
    assert!(!run.stderr.contains("warning"), "{run}");
    // Neither where the deployment trusts keys.
    let trust = signed.trust(&json!({}), &json!({ "threshold": 3 }));
    let with_variable = |arguments: &[&str]| {
        let mut command = Command::new(&programs().loader);
        command.args(["call", &signed.bundle, "greet", r#"{"name":"Ada"}"#]).args(arguments);
        Run::of(command.env("SUBAKO_TRUST", &trust))
    };
    assert_eq!(with_variable(&[]).exits(3).errors(), ["E0813"]);
    assert_eq!(with_variable(&["--allow-unsigned"]).exits(3).errors(), ["E0813"]);
    // What is typed goes before what is set.
    let _ = with_variable(&["--trust", a]).exits(0);
    // Where nobody is trusted, it is a choice that is told.
    assert_eq!(call(&signed.bundle, &[]).exits(3).errors(), ["E0802"]);
    let unsigned = copy(&signed.keys, "u.subako", unsigned());
    assert_eq!(call(&unsigned, &[]).exits(3).errors(), ["E0801"]);
    let run = call(&unsigned, &["--allow-unsigned"]).exits(0);
    assert!(run.stderr.contains("nobody who is trusted has signed"), "{run}");
}

#[test]
fn an_installed_bundle_is_asked_about_at_every_call() {
    let signed = signed();
    let cache = signed.keys.path("cache");
    let in_cache = |arguments: &[&str]| loader([arguments, &["--cache-dir", &cache]].concat());
    let run_installed =
        |more: &[&str]| in_cache(&[&["call", "name:hello", "greet", r#"{"name":"Ada"}"#], more].concat());
    let _ = in_cache(&["install", &signed.bundle, "--trust", &signed.public[0]]).exits(0);
    let _ = run_installed(&[]).exits(0);
    let _ = run_installed(&["--trust", &signed.public[0]]).exits(0);
    assert_eq!(run_installed(&["--trust", &signed.public[2]]).exits(3).errors(), ["E0803"]);
    let upload = unsigned().index()["upload"].clone();
    let revoked = signed.trust(&json!({}), &json!({ "revoked": [upload] }));
    let run = run_installed(&["--trust", &revoked, "--allow-unsigned"]).exits(3);
    assert_eq!(run.errors(), ["E0814"], "{run}");
    // Each install adds the keys that are trusted then, and takes none away.
    let _ = in_cache(&["install", &signed.bundle, "--trust", &signed.public[1]]).exits(0);
    let _ = in_cache(&["install", &signed.bundle, "--allow-unsigned"]).exits(0);
    let _ = run_installed(&["--trust", &signed.public[0]]).exits(0);
    let both = signed.trust(&json!({}), &json!({ "threshold": 2 }));
    let _ = run_installed(&["--trust", &both]).exits(0);
    // Installed by the user's own choice, it is nobody's word.
    let _ = in_cache(&["cache", "prune", "--all"]).exits(0);
    let unsigned = copy(&signed.keys, "u.subako", unsigned());
    let _ = in_cache(&["install", &unsigned, "--allow-unsigned"]).exits(0);
    assert_eq!(run_installed(&[]).exits(3).errors(), ["E0801"]);
    let run = run_installed(&["--allow-unsigned", "--trust", &signed.public[0]]).exits(3);
    assert_eq!(run.errors(), ["E0801"], "{run}");
    assert!(run.stderr.contains("install it again"), "{run}");
    let _ = run_installed(&["--allow-unsigned"]).exits(0);
}

#[test]
fn a_trust_file_that_anybody_may_write_says_nothing() {
    let signed = signed();
    let public = &signed.public[0];
    for (mode, status) in [(0o644, 0), (0o664, 0), (0o646, 5), (0o666, 5)] {
        fs::set_permissions(public, fs::Permissions::from_mode(mode)).expect("it is ours");
        let run = call(&signed.bundle, &["--trust", public]).exits(status);
        assert_eq!(run.errors(), if status == 0 { vec![] } else { vec!["E0824"] }, "{mode:o}: {run}");
    }
}

// Tampering.

/// The spoilings of entries that a call of this package's tool never reads: installing and
/// verifying refuse them, and the call runs what is still as it was signed.
const UNUSED: [&str; 7] = [
    "the module is changed",
    "an artifact that does not run is changed",
    "an asset is changed",
    "the manifest is changed",
    "the tools are changed",
    "two assets change places",
    "both headers have another checksum",
];

/// One way to spoil the signed bundle, and the code of its refusal.
type Spoiling<'a> = (&'a str, &'a str, Vec<u8>);

/// Nobody vouches for which artifacts are there, only for what they are.
#[test]
fn artifacts_that_are_taken_out_are_missed_and_nothing_else() {
    let keys = Keys::default();
    let (private, public) = keys.make("k", Kind::Ed25519, &[]);
    let native = format!("native/{}/baseline.cwasm", host_target());
    let pulley = "native/pulley64/baseline.cwasm";
    let targets = ["--target", host_target(), "--target", "pulley64", "--sign", &private];
    let good = hello().build_with(&targets);
    let without = |paths: &[&str]| {
        let mut entries = Pieces::of(&good);
        paths.iter().for_each(|path| entries.remove(path));
        keys.write("thin.subako", entries.write())
    };
    let thin = without(&[&native]);
    let run = call(&thin, &["--trust", &public]).exits(0);
    assert!(run.stderr.contains("is absent from this thin bundle"), "{run}");
    assert!(run.stderr.contains("runs: pulley64"), "{run}");
    let _ = subakoc(["verify", &thin, "--trust", &public]).exits(0);
    let none = without(&[&native, pulley]);
    let run = call(&none, &["--trust", &public]).exits(3);
    assert_eq!(run.errors(), ["E0910"], "{run}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn a_tampered_bundle_is_refused_before_anything_runs() {
    let keys = Keys::default();
    let (private, public) = keys.make("k", Kind::Ed25519, &[]);
    let (other_private, other_public) = keys.make("o", Kind::Ed25519, &[]);
    let (id, other_id) = (key_id(&public), key_id(&other_public));
    let ours = format!("signatures/{id}.json");
    let native = format!("native/{}/baseline.cwasm", host_target());
    let pulley = "native/pulley64/baseline.cwasm";
    let good = {
        let package = hello().with("data/one.txt", "one").with("data/two.txt", "two");
        let targets = ["--target", host_target(), "--target", "pulley64", "--sign", &private];
        package.build_with(&targets)
    };
    let payload = unbase64(
        serde_json::from_slice::<Value>(&good.entry(&ours).bytes).unwrap()["payload"].as_str().unwrap(),
    );
    let signed_by = |key: &str, message: &[u8]| keys.sign(key, Kind::Ed25519, message);

    // In pieces, put together with one thing else.
    let with = |change: &dyn Fn(&mut Pieces)| {
        let mut pieces = Pieces::of(&good);
        change(&mut pieces);
        pieces.write()
    };
    // The same bytes but for some.
    let patched = |change: &dyn Fn(&mut Raw)| {
        let mut raw = Raw::of(&good);
        change(&mut raw);
        raw.bytes
    };
    let enveloped =
        |envelope: String| with(&|pieces| pieces.get(&ours).bytes = envelope.clone().into_bytes());
    let signs = |payload: &[u8]| enveloped(envelope_json(payload, &id, &signed_by(&private, &pae(payload))));
    let says = |from: &str, to: &str| {
        let text = String::from_utf8(payload.clone()).unwrap();
        assert!(text.contains(from), "{text}");
        signs(text.replacen(from, to, 1).as_bytes())
    };
    let flipped = |name: &str| {
        with(&|pieces| {
            let bytes = &mut pieces.get(name).bytes;
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        })
    };
    let other_bundle = {
        let bundle = copy(&keys, "other.subako", &hello().build_with(&["--target", "pulley64"]));
        let _ = sign(&bundle, &["--key", &private]).exits(0);
        entries(&bundle).into_iter().find(|(name, _)| *name == ours).unwrap().1
    };
    let digest_of = |name: &str| {
        let index = good.index();
        let entry = index["entries"].as_array().unwrap().iter().find(|entry| entry["path"] == name).unwrap();
        entry["digest"].as_str().unwrap().to_owned()
    };
    // Nothing is wrong with what the pieces make by themselves.
    let whole = keys.write("whole.subako", with(&|_| ()));
    let _ = call(&whole, &["--trust", &public]).exits(0);

    let table: Vec<Spoiling<'_>> = vec![
        // Contents.
        ("the module is changed", "E0727", flipped("module.wasm")),
        ("the artifact that runs is changed", "E0727", flipped(&native)),
        ("an artifact that does not run is changed", "E0727", flipped(pulley)),
        ("an asset is changed", "E0727", flipped("package/data/one.txt")),
        ("the manifest is changed", "E0727", flipped("subako-package.json")),
        ("the tools are changed", "E0727", flipped("tools.json")),
        ("an asset is longer", "E0720", with(&|it| it.get("package/data/one.txt").bytes.push(b'1'))),
        ("an asset is emptied", "E0720", with(&|it| it.get("package/data/one.txt").bytes.clear())),
        (
            "two assets change places",
            "E0727",
            with(&|it| {
                it.get("package/data/one.txt").bytes = b"two".to_vec();
                it.get("package/data/two.txt").bytes = b"one".to_vec();
            }),
        ),
        (
            "an artifact is another target's",
            "E0720",
            with(&|it| {
                let other = it.get(pulley).bytes.clone();
                it.get(&native).bytes = other;
            }),
        ),
        // The index.
        ("the index is spelt otherwise", "E0706", with(&|it| it.replace("bundle.json", "\n}", "}"))),
        (
            "the index is of another format",
            "E0705",
            with(&|it| it.replace("bundle.json", "\"format\": 1", "\"format\": 2")),
        ),
        ("the index is junk", "E0704", with(&|it| it.get("bundle.json").bytes = b"junk".to_vec())),
        (
            "the package is renamed in the index",
            "E0810",
            with(&|it| it.replace("bundle.json", "\"hello\"", "\"jello\"")),
        ),
        (
            "an asset is changed, and its digest in the index too",
            "E0810",
            with(&|it| {
                it.get("package/data/one.txt").bytes = b"two".to_vec();
                it.replace(
                    "bundle.json",
                    &digest_of("package/data/one.txt"),
                    &digest_of("package/data/two.txt"),
                );
            }),
        ),
        (
            "the engine in the index is another",
            "E0810",
            with(&|it| it.replace("bundle.json", "\"48.0.8\"", "\"48.0.7\"")),
        ),
        (
            "the upload in the index is another",
            "E0810",
            with(&|it| {
                let upload = good.index()["upload"].as_str().unwrap().to_owned();
                it.replace("bundle.json", &upload, &digest_of("module.wasm"));
            }),
        ),
        // Entries.
        ("an asset is added", "E0718", with(&|it| it.add("package/data/three.txt", "three"))),
        ("an entry is added beside", "E0718", with(&|it| it.add("extra", ""))),
        ("an entry leads out", "E0718", with(&|it| it.add("package/../../evil", ""))),
        ("an asset is removed", "E0717", with(&|it| it.remove("package/data/one.txt"))),
        ("the index is removed", "E0703", with(&|it| it.remove("bundle.json"))),
        (
            "an asset is renamed",
            "E0718",
            with(&|it| it.get("package/data/one.txt").name = "package/data/One.txt".to_owned()),
        ),
        ("an entry is there twice", "E0702", patched(&|raw| raw.repeat("package/data/one.txt"))),
        ("the index is there twice", "E0702", patched(&|raw| raw.repeat("bundle.json"))),
        ("entries are in another order", "E0719", with(&|it| it.0.swap(0, 1))),
        // The zip.
        ("data before the first entry", "E0723", patched(&|raw| raw.insert(0, b"#!/bin/sh\n"))),
        (
            "data between entries",
            "E0723",
            patched(&|raw| raw.insert(raw.headers("tools.json").1, b"between")),
        ),
        ("data before the directory", "E0723", patched(&|raw| raw.insert(raw.directory(), b"before"))),
        ("data after the end", "E0723", patched(&|raw| raw.bytes.extend(b"after"))),
        (
            "another zip before it",
            "E0702",
            patched(&|raw| {
                let copy = raw.bytes.clone();
                raw.bytes.splice(0..0, copy);
            }),
        ),
        (
            "a comment at the end",
            "E0723",
            patched(&|raw| {
                let at = raw.bytes.len() - 2;
                raw.bytes[at] = 3;
                raw.bytes.extend(b"abc");
            }),
        ),
        ("the end is cut off", "E0702", patched(&|raw| raw.bytes.truncate(raw.bytes.len() - 1))),
        (
            "the local header has another name",
            "E0702",
            patched(&|raw| {
                let (_, local) = raw.headers("package/data/one.txt");
                raw.bytes[local + 30] = b'P';
            }),
        ),
        (
            "the local header has another size",
            "E0702",
            patched(&|raw| {
                let (_, local) = raw.headers("package/data/one.txt");
                raw.bytes[local + 22] ^= 1;
            }),
        ),
        (
            "the directory has another checksum",
            "E0702",
            patched(&|raw| {
                let (header, _) = raw.headers("package/data/one.txt");
                raw.bytes[header + 16] ^= 1;
            }),
        ),
        (
            "both headers have another checksum",
            "E0726",
            patched(&|raw| {
                let (header, local) = raw.headers("package/data/one.txt");
                raw.bytes[header + 16] ^= 1;
                raw.bytes[local + 14] ^= 1;
            }),
        ),
        (
            "an entry is a symbolic link",
            "E0722",
            patched(&|raw| {
                let (header, _) = raw.headers("package/data/one.txt");
                raw.bytes[header + 41] = 0xa1;
            }),
        ),
        (
            "an entry says that it is encrypted",
            "E0702",
            patched(&|raw| {
                let (header, local) = raw.headers("package/data/one.txt");
                raw.bytes[header + 8] |= 1;
                raw.bytes[local + 6] |= 1;
            }),
        ),
        (
            "an entry has a time",
            "E0722",
            patched(&|raw| {
                let (header, local) = raw.headers("tools.json");
                raw.bytes[header + 12] = 9;
                raw.bytes[local + 10] = 9;
            }),
        ),
        (
            "an artifact is deflated",
            "E0721",
            with(&|it| {
                let piece = it.get(&native);
                piece.stored = false;
                piece.alignment = 1;
            }),
        ),
        ("an artifact is aligned for smaller pages", "E0724", with(&|it| it.get(&native).alignment = 512)),
        (
            "an entry is stored that is not an artifact",
            "E0721",
            with(&|it| it.get("tools.json").stored = true),
        ),
        // The signature.
        ("the signature is removed", "E0801", with(&|it| it.remove(&ours))),
        (
            "the signature is another bundle's",
            "E0810",
            with(&|it| it.get(&ours).bytes = other_bundle.clone()),
        ),
        (
            "the signature is another key's, under ours",
            "E0807",
            enveloped(envelope_json(&payload, &id, &signed_by(&other_private, &pae(&payload)))),
        ),
        (
            "the signature is another key's, under its own",
            "E0803",
            with(&|it| {
                it.remove(&ours);
                it.add(
                    &format!("signatures/{other_id}.json"),
                    envelope_json(&payload, &other_id, &signed_by(&other_private, &pae(&payload))),
                );
            }),
        ),
        ("the key id is swapped in the envelope", "E0806", with(&|it| it.replace(&ours, &id, &other_id))),
        (
            "the key id is swapped in the name",
            "E0803",
            with(&|it| {
                let bytes = it.get(&ours).bytes.clone();
                it.remove(&ours);
                it.add(&format!("signatures/{other_id}.json"), bytes);
            }),
        ),
        (
            "the key id is in capitals",
            "E0803",
            with(&|it| {
                let bytes = it.get(&ours).bytes.clone();
                it.remove(&ours);
                it.add(&format!("signatures/{}.json", id.to_uppercase()), bytes);
            }),
        ),
        (
            "the signature is of the payload without its type",
            "E0807",
            enveloped(envelope_json(&payload, &id, &signed_by(&private, &payload))),
        ),
        ("the signature is empty", "E0808", enveloped(envelope_json(&payload, &id, b""))),
        ("the signature is zeros", "E0807", enveloped(envelope_json(&payload, &id, &[0; 64]))),
        (
            "the signature has a byte more",
            "E0808",
            enveloped(envelope_json(&payload, &id, &[signed_by(&private, &pae(&payload)), vec![0]].concat())),
        ),
        (
            "the payload is another",
            "E0807",
            enveloped(envelope_json(b"{}", &id, &signed_by(&private, &pae(&payload)))),
        ),
        ("the payload type is another", "E0805", with(&|it| it.replace(&ours, "vnd.in-toto+json", "json"))),
        (
            "the envelope has a second signature",
            "E0804",
            with(&|it| {
                it.replace(&ours, "\"signatures\":[", "\"signatures\":[{\"keyid\":\"\",\"sig\":\"\"},")
            }),
        ),
        (
            "the envelope has a field twice",
            "E0804",
            with(&|it| it.replace(&ours, "{\"payloadType\"", "{\"payload\":\"\",\"payloadType\"")),
        ),
        (
            "the envelope has a field more",
            "E0804",
            with(&|it| it.replace(&ours, "{\"payloadType\"", "{\"x\":1,\"payloadType\"")),
        ),
        (
            "the envelope has white space",
            "E0804",
            with(&|it| it.replace(&ours, "{\"payloadType\"", "{ \"payloadType\"")),
        ),
        ("the envelope has something behind it", "E0804", with(&|it| it.get(&ours).bytes.extend(b"{}"))),
        (
            "the envelope's base64 is of the other alphabet",
            "E0804",
            with(&|it| it.replace(&ours, "\"payload\":\"ey", "\"payload\":\"e-")),
        ),
        ("the envelope's base64 is not padded", "E0804", with(&|it| it.replace(&ours, "==\"}]", "\"}]"))),
        ("the envelope is junk", "E0804", enveloped("junk".to_owned())),
        // What our own key says, but not of this bundle, or not well.
        (
            "the statement is about another bundle",
            "E0810",
            says("\"bundle.json\",\"digest\":{\"sha256\":\"", "\"bundle.json\",\"digest\":{\"sha256\":\"0"),
        ),
        (
            "the statement is about something of another name",
            "E0810",
            says("\"bundle.json\"", "\"other.json\""),
        ),
        (
            "the statement is of another kind",
            "E0809",
            says("https://slsa.dev/provenance/v1", "https://example.com/rejected/v1"),
        ),
        (
            "the statement is of an old version",
            "E0809",
            says("in-toto.io/Statement/v1", "in-toto.io/Statement/v0.1"),
        ),
        (
            "the statement has a field twice",
            "E0809",
            says("\"predicate\":{", "\"predicate\":{\"buildDefinition\":{},"),
        ),
        ("the statement has white space", "E0809", says("{\"_type\"", "{ \"_type\"")),
        ("the statement is junk", "E0809", signs(b"junk")),
    ];
    assert!(table.len() >= 30);
    for (what, code, bytes) in table {
        let bundle = keys.write("spoiled.subako", bytes);
        let cache = keys.path("cache");
        let run = loader(["install", &bundle, "--trust", &public, "--cache-dir", &cache]);
        assert_eq!(run.errors(), [code], "{what}: {run}");
        let run = run.exits(3);
        assert!(run.stdout.is_empty(), "{what}: {run}");
        // A call compares what it uses, and nothing of that is used when it differs.
        let run = call(&bundle, &["--trust", &public]);
        if UNUSED.contains(&what) {
            let _ = run.exits(0);
        } else {
            assert_eq!(run.errors(), [code], "{what}: {run}");
            let run = run.exits(3);
            // `-v` names the artifact before it is mapped.
            assert!(run.stdout.is_empty() && !run.stderr.contains("runs: "), "{what}: {run}");
        }
        let verify = subakoc(["verify", &bundle, "--trust", &public]);
        assert_eq!(verify.errors(), [code], "{what}: {verify}");
    }
}

#[test]
fn a_p256_signature_has_one_spelling() {
    let keys = Keys::default();
    let (private, public) = keys.make("k", Kind::P256, &[]);
    let id = key_id(&public);
    let bundle = copy(&keys, "b.subako", unsigned());
    let _ = sign(&bundle, &["--key", &private]).exits(0);
    let (_, message) = envelope(&bundle, &id);
    let payload = message[message.iter().position(|byte| *byte == b'{').unwrap()..].to_vec();
    let good = keys.write("good.subako", fs::read(&bundle).unwrap());
    let _ = subakoc(["verify", &good, "--trust", &public]).exits(0);
    // openssl signs until there is one of each half; both are right to openssl.
    let (mut lower, mut upper) = (0, 0);
    while lower == 0 || upper == 0 {
        let signature = keys.sign(&private, Kind::P256, &message);
        assert!(keys.verifies(&public, Kind::P256, &message, &signature));
        let mut pieces = Pieces::of(unsigned());
        pieces.add(&format!("signatures/{id}.json"), envelope_json(&payload, &id, &signature));
        let bundle = keys.write("p.subako", pieces.write());
        let run = subakoc(["verify", &bundle, "--trust", &public]);
        match run.code {
            Some(0) => lower += 1,
            _ => {
                assert_eq!(run.exits(3).errors(), ["E0808"]);
                upper += 1;
            }
        }
    }
}

#[test]
fn a_cache_that_others_may_write_is_refused() {
    let signed = signed();
    let cache = signed.keys.path("cache");
    let run_with = |arguments: &[&str]| loader([arguments, &["--cache-dir", &cache]].concat());
    let install = ["install", &signed.bundle, "--trust", &signed.public[0]];
    let run = run_with(&install).exits(0);
    let digest = run.stdout.split_whitespace().next().unwrap().strip_prefix("sha256:").unwrap().to_owned();
    let bundles = format!("{cache}/bundles");
    let artifact = format!("{bundles}/{digest}/artifact.cwasm");
    let greet = ["call", "name:hello", "greet", r#"{"name":"Ada"}"#];
    for (path, wrong, right) in [(&cache, 0o770, 0o700), (&artifact, 0o420, 0o400)] {
        fs::set_permissions(path, fs::Permissions::from_mode(wrong)).unwrap();
        let run = run_with(&greet).exits(5);
        assert_eq!(run.errors(), ["E0923"], "{path}: {run}");
        fs::set_permissions(path, fs::Permissions::from_mode(right)).unwrap();
        let _ = run_with(&greet).exits(0);
    }
}

#[test]
fn every_test_that_the_page_names_is_there() {
    let root = subako_tests::workspace();
    let page = fs::read_to_string(root.join("docs/trust.md")).unwrap();
    let names: Vec<&str> = page
        .split('`')
        .filter_map(|word| word.split_once("::"))
        .filter(|(file, test)| *file != "file" && *file != "loader" && !test.contains(' '))
        .map(|(_, test)| test)
        .collect();
    assert!(names.len() > 20, "{names:?}");
    let mut sources = String::new();
    for path in [
        "tests/tests/trust.rs",
        "tests/tests/crash.rs",
        "tests/tests/farm.rs",
        "tests/tests/publish.rs",
        "tests/tests/reports.rs",
        "manifest/src/bundle/tests.rs",
        "manifest/src/key/tests.rs",
        "manifest/src/envelope/tests.rs",
        "manifest/src/statement/tests.rs",
        "manifest/src/trust/tests.rs",
        "loader/src/bundle_file.rs",
        "compiler/src/sbom/tests.rs",
        "compiler/src/sign/tests.rs",
        "compiler/src/precompile/tests.rs",
    ] {
        sources += &fs::read_to_string(root.join(path)).unwrap();
    }
    for name in names {
        let there = sources.contains(&format!("fn {name}()")) || sources.contains(&format!("    {name} = "));
        assert!(there, "docs/trust.md names `{name}`, which is no test");
    }
}
