//! Publishing: what a registry has is the bundle, byte for byte, and nothing that a registry does
//! makes it another.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};
use subako_manifest::digest::Digest;
use subako_tests::bundle::Bundle;
use subako_tests::keys::{Keys, Kind, base64, openssl_prints};
use subako_tests::oci_registry::memory::Memory;
use subako_tests::oci_registry::server::{Request, Response, Server};
use subako_tests::oci_registry::{Access, PASSWORD, Registry, USER};
use subako_tests::package::{hello, hello_bundle};
use subako_tests::programs::{loader, loader_with_registry, programs};
use subako_tests::run::Run;

const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const PULLEY: &str = "native/pulley64/baseline.cwasm";

/// A place for a test's files, and for what `docker login` would keep.
struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary directory can be made") }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `subakoc`, which knows no credentials but those in `config.json` here.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&programs().subakoc);
        command.args(arguments).env("DOCKER_CONFIG", self.folder.path()).env("HOME", self.folder.path());
        for proxy in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"] {
            command.env_remove(proxy);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Run {
        Run::of(&mut self.command(arguments))
    }

    fn publish(&self, bundle: &Path, reference: &str, more: &[&str]) -> Run {
        let bundle = bundle.to_str().expect("the path is UTF-8");
        self.run(&[&["publish", bundle, reference, "--format", "json"], more].concat())
    }

    fn pull(&self, reference: &str, name: &str, more: &[&str]) -> Run {
        let out = self.path(name);
        self.run(
            &[&["pull", reference, "-o", out.to_str().expect("the path is UTF-8"), "--format", "json"], more]
                .concat(),
        )
    }

    fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).expect("the file can be read and written")
    }
}

/// The code of a refusal's only error.
#[track_caller]
fn code(run: &Run) -> String {
    let json = run.json();
    let told = json["diagnostics"].as_array().unwrap_or_else(|| panic!("{run}"));
    let errors: Vec<&Value> = told.iter().filter(|it| it["severity"] == "error").collect();
    assert_eq!(errors.len(), 1, "{run}");
    errors[0]["code"].as_str().expect("a code is text").to_owned()
}

/// The hello bundle, signed; and the public key.
fn signed(desk: &Desk) -> (PathBuf, String) {
    let keys = Keys::default();
    let (private, public) = keys.make("builder", Kind::Ed25519, &[]);
    let path = desk.path("signed.subako");
    fs::copy(hello_bundle().path(), &path).expect("the file can be read and written");
    let _ = desk.run(&["sign", path.to_str().expect("the path is UTF-8"), "--key", &private]).exits(0);
    let kept = desk.path("builder.pub");
    fs::copy(public, &kept).expect("the file can be read and written");
    (path, kept.to_str().expect("the path is UTF-8").to_owned())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

#[test]
fn a_bundle_comes_back_byte_for_byte() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let desk = Desk::new();
    let (bundle, public) = signed(&desk);
    let whole = fs::read(&bundle).unwrap();
    let reference = registry.reference("team/hello:1.0");

    let published = desk.publish(&bundle, &reference, &[]).exits(0).json();
    // The index, what all share, four artifacts; the empty config and the envelope of the signature.
    assert_eq!((&published["sent"], &published["there"]), (&json!(8), &json!(0)));
    assert_eq!(published["signatures"], 1);
    let index = Digest::of(&hello_bundle().entry("bundle.json").bytes).to_string();
    assert_eq!(text(&published["digest"]), index);

    let pulled = desk.pull(&reference, "tag.subako", &[]).exits(0).json();
    assert_eq!(desk.bytes("tag.subako"), whole);
    assert_eq!(pulled["absent"], json!([]));
    assert_eq!(pulled["pinned"], published["pinned"]);
    let _ = desk.pull(text(&published["pinned"]), "digest.subako", &[]).exits(0);
    assert_eq!(desk.bytes("digest.subako"), whole);
    let path = desk.path("digest.subako");
    let _ = desk.run(&["verify", path.to_str().unwrap(), "--trust", &public]).exits(0);

    // Nothing is sent twice, nor fetched twice.
    let again = desk.publish(&bundle, &registry.reference("team/hello:2.0"), &[]).exits(0).json();
    assert_eq!((&again["sent"], &again["there"]), (&json!(0), &json!(8)));
    assert_eq!(again["manifest"], published["manifest"]);
    let again = desk.pull(&reference, "tag.subako", &[]).exits(0).json();
    let config = hello_bundle().entry("bundle.json").bytes.len();
    assert_eq!(again["fetched_bytes"], config, "the index alone");
    assert_eq!(desk.bytes("tag.subako"), whole);

    // As any tool sees it.
    let manifest: Value =
        serde_json::from_slice(&registry.get("/v2/team/hello/manifests/1.0", MANIFEST_TYPE).ok()).unwrap();
    assert_eq!(manifest["mediaType"], MANIFEST_TYPE);
    assert_eq!(manifest["artifactType"], "application/vnd.subako.bundle.v1");
    assert_eq!(manifest["config"]["digest"], published["digest"]);
    let pulley = manifest["layers"].as_array().unwrap().iter();
    let pulley = pulley.filter(|layer| layer["annotations"]["org.opencontainers.image.title"] == PULLEY);
    let digests: Vec<&Value> = pulley.map(|layer| &layer["digest"]).collect();
    let artifact = hello_bundle().entry(PULLEY).bytes;
    assert_eq!(digests, [&json!(Digest::of(&artifact).to_string())], "an artifact's blob is the artifact");
    // This registry lists no referrers: they are under a tag.
    let tag = text(&published["manifest"]).replace(':', "-");
    let listed = registry.get(&format!("/v2/team/hello/manifests/{tag}"), INDEX_TYPE).ok();
    let listed: Value = serde_json::from_slice(&listed).unwrap();
    assert_eq!(listed["manifests"][0]["artifactType"], "application/vnd.subako.signature.v1");
    let signature = text(&listed["manifests"][0]["digest"]);
    let signature = registry.get(&format!("/v2/team/hello/manifests/{signature}"), MANIFEST_TYPE).ok();
    let signature: Value = serde_json::from_slice(&signature).unwrap();
    assert_eq!(signature["subject"]["digest"], published["manifest"]);
    assert_eq!(signature["layers"][0]["mediaType"], "application/vnd.dsse.envelope.v1+json");
    let envelope = text(&signature["layers"][0]["digest"]);
    let envelope = registry.get(&format!("/v2/team/hello/blobs/{envelope}"), "*/*").ok();
    let key_id = text(&pulled["signatures"][0]);
    let entry = Command::new("unzip").arg("-p").arg(&path).arg(format!("signatures/{key_id}.json")).output();
    assert_eq!(entry.unwrap().stdout, envelope);
}

#[test]
fn a_deployment_fetches_the_one_artifact_that_it_runs() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let desk = Desk::new();
    let (bundle, public) = signed(&desk);
    let reference = registry.reference("hello");
    let _ = desk.publish(&bundle, &reference, &[]).exits(0);

    let pulled = desk.pull(&reference, "thin.subako", &["--target", "pulley64"]).exits(0).json();
    assert_eq!((&pulled["targets"], pulled["absent"].as_array().unwrap().len()), (&json!(["pulley64"]), 3));
    let thin = desk.path("thin.subako");
    let of_thin = thin.to_str().unwrap();
    let other = hello_bundle().entries().into_iter().filter(|it| it.name.starts_with("native/"));
    let other: usize = other.filter(|it| it.name != PULLEY).map(|it| it.bytes.len()).sum();
    assert!(desk.bytes("thin.subako").len() + other <= fs::metadata(&bundle).unwrap().len() as usize);

    // It is verified and runs as the whole one does, but for what is not in it.
    let _ = desk.run(&["verify", of_thin, "--trust", &public]).exits(0);
    let _ = desk.run(&["inspect", of_thin]).exits(0);
    let run = loader(["call", "-v", "--trust", &public, of_thin, "greet", r#"{"name":"Ada"}"#]).exits(0);
    assert!(run.stderr.contains("is absent from this thin bundle"), "{run}");
    assert!(run.stderr.contains("runs: pulley64"), "{run}");
    let run = desk.publish(&thin, &reference, &[]).exits(3);
    assert_eq!(code(&run), "E0853");

    // The rest is fetched when it is wanted.
    let pulled = desk.pull(&reference, "thin.subako", &[]).exits(0).json();
    let index = hello_bundle().entry("bundle.json").bytes.len();
    assert_eq!(pulled["fetched_bytes"], other + index);
    assert_eq!(desk.bytes("thin.subako"), fs::read(&bundle).unwrap());

    let host = desk.pull(&reference, "host.subako", &["--target", "host"]).exits(0).json();
    assert_eq!(host["targets"].as_array().unwrap().len(), 1);
    let run = loader([
        "call",
        "--trust",
        &public,
        desk.path("host.subako").to_str().unwrap(),
        "greet",
        r#"{"name":"Ada"}"#,
    ]);
    let _ = run.exits(0);
    for (target, status, expected) in [("s390x-linux", 2, "E0854"), ("nonsense", 2, "E0501")] {
        let run = desk.pull(&reference, "none.subako", &["--target", target]).exits(status);
        assert_eq!(code(&run), expected);
        assert!(!desk.path("none.subako").exists());
    }
}

#[test]
fn a_registry_with_a_password() {
    let Some(registry) = Registry::start(Access::Password) else { return };
    let desk = Desk::new();
    let bundle = hello_bundle().path();
    let reference = registry.reference("hello:1");
    let denied = |run: Run| assert_eq!(code(&run.exits(5)), "E0844");
    denied(desk.publish(bundle, &reference, &[]));

    let given = ["--username", USER, "--password-stdin"];
    let with = |password: &str| {
        let arguments = ["publish", bundle.to_str().unwrap(), &reference, "--format", "json"];
        Run::with_stdin(&mut desk.command(&[&arguments, &given[..]].concat()), password.as_bytes())
    };
    let wrong = with("wrong\n");
    assert!(!wrong.stdout.contains("wrong\\n") && !wrong.stderr.contains("wrong"), "{wrong}");
    denied(wrong);
    let _ = with(&format!("{PASSWORD}\n")).exits(0);

    // What `docker login` keeps.
    let config = |json: Value| fs::write(desk.path("config.json"), json.to_string()).unwrap();
    let host = registry.host();
    denied(desk.pull(&reference, "out.subako", &[]));
    config(json!({"auths": {host.as_str(): {"auth": base64(format!("{USER}:{PASSWORD}").as_bytes())}}}));
    let _ = desk.pull(&reference, "out.subako", &[]).exits(0);
    assert_eq!(desk.bytes("out.subako"), hello_bundle().bytes());
    config(json!({"auths": {host.as_str(): {"auth": "?"}}}));
    assert_eq!(code(&desk.pull(&reference, "out.subako", &[]).exits(5)), "E0847");

    // And what its helpers keep.
    let helper = desk.path("docker-credential-desk");
    let asked = desk.path("asked");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = get ] && cat > '{}'\n\
         printf '{{\"ServerURL\":\"x\",\"Username\":\"{USER}\",\"Secret\":\"{PASSWORD}\"}}'\n",
        asked.display()
    );
    fs::write(&helper, script).unwrap();
    fs::set_permissions(&helper, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", desk.path("").display(), std::env::var("PATH").unwrap());
    let with_helper = || {
        let out = desk.path("helper.subako");
        let mut command =
            desk.command(&["pull", &reference, "-o", out.to_str().unwrap(), "--format", "json"]);
        Run::of(command.env("PATH", &path))
    };
    config(json!({"credHelpers": {host.as_str(): "desk"}}));
    let _ = with_helper().exits(0);
    assert_eq!(fs::read_to_string(&asked).unwrap(), host);
    config(json!({"credsStore": "desk", "auths": {host.as_str(): {}}}));
    let _ = with_helper().exits(0);
    fs::write(&helper, "#!/bin/sh\necho credentials not found in native keychain\nexit 1\n").unwrap();
    denied(with_helper());
    fs::write(&helper, "#!/bin/sh\nexit 1\n").unwrap();
    assert_eq!(code(&with_helper().exits(5)), "E0847");
}

#[test]
fn a_registry_with_a_certificate_of_ones_own() {
    let desk = Desk::new();
    let (certificate, key) = (desk.path("cert.pem"), desk.path("key.pem"));
    let _ = openssl_prints(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=registry",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-keyout",
        key.to_str().unwrap(),
        "-out",
        certificate.to_str().unwrap(),
    ]);
    let Some(registry) = Registry::start(Access::Tls(&certificate, &key)) else { return };
    let bundle = hello_bundle().path();
    let reference = registry.reference("hello:1");
    let ca = ["--ca-file", certificate.to_str().unwrap()];
    let _ = desk.publish(bundle, &reference, &ca).exits(0);
    let _ = desk.pull(&reference, "out.subako", &ca).exits(0);
    assert_eq!(desk.bytes("out.subako"), hello_bundle().bytes());

    // Another CA does not do, and neither does a file without one.
    let (other, other_key) = (desk.path("other.pem"), desk.path("other-key.pem"));
    let _ = openssl_prints(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=other",
        "-keyout",
        other_key.to_str().unwrap(),
        "-out",
        other.to_str().unwrap(),
    ]);
    for (file, status, expected) in
        [(&other, 5, "E0841"), (&key, 2, "E0848"), (&desk.path("absent"), 2, "E0848")]
    {
        let run = desk.pull(&reference, "none.subako", &["--ca-file", file.to_str().unwrap()]).exits(status);
        assert_eq!(code(&run), expected);
    }
}

#[test]
fn a_push_goes_on_after_the_registry_died() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let desk = Desk::new();
    let registry = Arc::new(Mutex::new(registry));
    let (puts, behind) = (AtomicUsize::new(0), registry.clone());
    // The third blob is the last thing that the registry hears of, half of it.
    let proxy = Server::start(move |request| {
        let mut registry = behind.lock().unwrap();
        match request.sends_blob().then(|| puts.fetch_add(1, Ordering::Relaxed)) {
            None | Some(0 | 1) if puts.load(Ordering::Relaxed) < 3 => Some(registry.forward(request)),
            Some(2) => {
                registry.forward_half(request);
                registry.kill();
                None
            }
            _ => None,
        }
    });
    let bundle = hello_bundle().path();
    let run = desk.publish(bundle, &format!("oci://{}/hello:1", proxy.host()), &[]).exits(5);
    assert_eq!(code(&run), "E0841");

    drop(proxy);
    // The proxy's threads have let go of it, or wait for requests that nobody makes.
    let mut held = registry.lock().unwrap();
    let other = Registry::start(Access::Open).unwrap();
    let registry = std::mem::replace(&mut *held, other).restarted();
    let reference = registry.reference("hello:1");
    let absent = desk.pull(&reference, "none.subako", &[]).exits(3);
    assert_eq!(code(&absent), "E0850", "what is not whole has no name");
    let run = desk.publish(bundle, &reference, &[]).exits(0).json();
    assert_eq!((&run["sent"], &run["there"]), (&json!(4), &json!(2)));
    let _ = desk.pull(&reference, "out.subako", &[]).exits(0);
    assert_eq!(desk.bytes("out.subako"), hello_bundle().bytes());
}

#[test]
fn two_who_push_the_same_tag() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let desk = Desk::new();
    let other: Bundle = hello().with("words.txt", "other").build_with(&["--target", "pulley64"]);
    let bundles = [hello_bundle().path(), other.path()];
    let reference = registry.reference("hello:1");
    let manifests: Vec<Value> = thread::scope(|scope| {
        let pushes: Vec<_> = [0, 1, 0, 1]
            .map(|at| {
                let (desk, bundles, reference) = (&desk, &bundles, &reference);
                scope.spawn(move || desk.publish(bundles[at], reference, &[]))
            })
            .into();
        pushes.into_iter().map(|it| it.join().unwrap().exits(0).json()["manifest"].clone()).collect()
    });
    let pulled = desk.pull(&reference, "out.subako", &[]).exits(0).json();
    let winner = manifests.iter().position(|it| *it == pulled["manifest"]).expect("one of them");
    assert_eq!(desk.bytes("out.subako"), fs::read(bundles[winner % 2]).unwrap());
    for (at, bundle) in bundles.iter().enumerate() {
        let pinned = registry.reference(&format!("hello@{}", text(&manifests[at])));
        let _ = desk.pull(&pinned, "pinned.subako", &[]).exits(0);
        assert_eq!(desk.bytes("pinned.subako"), fs::read(bundle).unwrap(), "both are there");
    }
}

/// A registry in memory that has the signed hello bundle as `hello:1`.
fn filled(desk: &Desk) -> (Memory, PathBuf) {
    let memory = Memory::default();
    let (bundle, _) = signed(desk);
    let server = memory.serve(|_| None);
    let run = desk.publish(&bundle, &format!("oci://{}/hello:1", server.host()), &[]).exits(0).json();
    assert_eq!(run["signatures"], 1);
    assert!(!memory.stored().manifests.keys().any(|name| name.starts_with("sha256-")));
    (memory, bundle)
}

#[test]
fn a_registry_that_gives_something_else() {
    let desk = Desk::new();
    let (memory, bundle) = filled(&desk);
    let pull = |instead: fn(&Memory, &Request) -> Option<Response>, reference: &str| {
        let of_server = memory.clone();
        let server = memory.serve(move |request| instead(&of_server, request));
        desk.pull(&format!("oci://{}/hello{reference}", server.host()), "out.subako", &[])
    };
    fn flipped(memory: &Memory, request: &Request) -> Option<Response> {
        let mut answer = memory.answer(request);
        *answer.body.last_mut()? ^= 1;
        Some(answer)
    }
    let manifest = Digest::of(&memory.stored().manifests["1"].1).to_string();
    let pinned = format!("@{manifest}");
    let refused = |instead: fn(&Memory, &Request) -> Option<Response>, reference: &str, expected: &str| {
        let run = pull(instead, reference).exits(3);
        assert_eq!(code(&run), expected, "{run}");
        assert!(!desk.path("out.subako").exists(), "nothing is left behind");
    };
    // Other bytes for a blob, and for a manifest that is asked for by its digest.
    refused(|memory, it| it.fetches_blob().then(|| flipped(memory, it)).flatten(), ":1", "E0852");
    refused(
        |memory, it| it.place().contains("/manifests/sha256:").then(|| flipped(memory, it)).flatten(),
        &pinned,
        "E0852",
    );
    // More than was asked for; less, and nothing for the rest.
    refused(
        |memory, it| {
            it.fetches_blob().then(|| {
                let mut answer = memory.answer(it);
                answer.body.push(0);
                answer
            })
        },
        ":1",
        "E0852",
    );
    refused(
        |memory, it| {
            it.fetches_blob().then(|| {
                let mut answer = memory.answer(it);
                if it.header("range").is_none() {
                    answer.body.pop();
                } else {
                    answer.body.clear();
                }
                answer
            })
        },
        ":1",
        "E0852",
    );
    // Other things.
    refused(|_, it| it.fetches_blob().then(|| Response::new(404, "")), ":1", "E0850");
    refused(|_, it| it.place().contains("/manifests/").then(|| Response::new(404, "")), ":1", "E0850");
    for body in ["", "{}", "[1]", "<html>", r#"{"schemaVersion":2,"config":{},"layers":[]}"#] {
        let server = Server::start(move |_| Some(Response::new(200, body)));
        let run = desk.pull(&format!("oci://{}/hello", server.host()), "out.subako", &[]).exits(3);
        assert_eq!(code(&run), "E0851", "{body}");
    }
    // An image that is no bundle, and more than any manifest has.
    let image = json!({"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "layers": [], "config": {
        "mediaType": "application/vnd.oci.image.config.v1+json", "size": 2, "digest": Digest::of(b"{}").to_string()}});
    for body in [image.to_string(), " ".repeat(5 * 1024 * 1024)] {
        let server = Server::start(move |_| Some(Response::new(200, body.clone())));
        let run = desk.pull(&format!("oci://{}/hello", server.host()), "out.subako", &[]).exits(3);
        assert_eq!(code(&run), "E0851");
    }
    // An honest one after all of them.
    let _ = pull(|_, _| None, &pinned).exits(0);
    assert_eq!(desk.bytes("out.subako"), fs::read(bundle).unwrap());
}

#[test]
fn a_registry_that_takes_something_else() {
    let desk = Desk::new();
    let bundle = hello_bundle().path();
    let other = Digest::of(b"other").to_string();
    let memory = Memory::default();
    let server = memory.serve(move |it| {
        it.sends_blob().then(|| Response::new(201, "").with("Docker-Content-Digest", other.clone()))
    });
    let run = desk.publish(bundle, &format!("oci://{}/hello:1", server.host()), &[]).exits(3);
    assert_eq!(code(&run), "E0852");
    assert!(memory.stored().manifests.is_empty());
    for (instead, expected) in [
        (Response::new(202, ""), "E0846"),
        (Response::new(202, "").with("Location", "no address"), "E0846"),
        (Response::new(202, "").with("Location", "https://user:secret@127.0.0.1/"), "E0846"),
        (Response::new(400, r#"{"errors":[{"code":"NAME_INVALID","message":"no\u001b[2J"}]}"#), "E0843"),
    ] {
        let server = memory.serve(move |it| (it.method == "POST").then(|| instead.clone()));
        let run = desk.publish(bundle, &format!("oci://{}/hello:1", server.host()), &[]).exits(5);
        assert_eq!(code(&run), expected);
        assert!(!run.stdout.contains("secret") && !run.stdout.contains('\u{1b}'), "{run}");
    }
}

#[test]
fn a_registry_that_asks_to_wait() {
    let desk = Desk::new();
    let bundle = hello_bundle().path();
    let memory = Memory::default();
    let begun = Mutex::new(BTreeSet::new());
    // Each request the first time.
    let server = memory.serve(move |it| {
        let answers = [429, 500, 502, 503, 504];
        let mut begun = begun.lock().unwrap();
        let status = answers[begun.len() % 5];
        let first = begun.insert(format!("{} {}", it.method, it.path));
        first.then(|| Response::new(status, "slow down").with("Retry-After", "0"))
    });
    let reference = format!("oci://{}/hello:1", server.host());
    let _ = desk.publish(bundle, &reference, &[]).exits(0);
    let _ = desk.pull(&reference, "out.subako", &[]).exits(0);
    assert_eq!(desk.bytes("out.subako"), hello_bundle().bytes());

    // What the registry does not see while somebody else sends the same.
    let races = AtomicUsize::new(0);
    let server = memory.serve(move |it| {
        let manifest = it.method == "PUT" && it.place().contains("/manifests/");
        let code = ["DIGEST_INVALID", "MANIFEST_BLOB_UNKNOWN"].get(if manifest {
            races.fetch_add(1, Ordering::Relaxed)
        } else {
            2
        })?;
        Some(Response::new(400, format!(r#"{{"errors":[{{"code":"{code}"}}]}}"#)))
    });
    let _ = desk.publish(bundle, &format!("oci://{}/hello:2", server.host()), &[]).exits(0);

    for (status, wait, attempts) in [(500, "0", 6), (429, "0", 6), (503, "3600", 1)] {
        let server = Server::start(move |_| Some(Response::new(status, "").with("Retry-After", wait)));
        let run = desk.pull(&format!("oci://{}/hello", server.host()), "none.subako", &[]).exits(5);
        assert_eq!((code(&run).as_str(), server.seen().len()), ("E0842", attempts), "{run}");
    }
    // What does not pass is not tried again.
    let server = Server::start(|_| Some(Response::new(400, "no")));
    let run = desk.pull(&format!("oci://{}/hello", server.host()), "none.subako", &[]).exits(5);
    assert_eq!((code(&run).as_str(), server.seen().len()), ("E0843", 1));
}

#[test]
fn a_connection_that_breaks_goes_on_where_it_was() {
    let desk = Desk::new();
    let (memory, bundle) = filled(&desk);
    let of_server = memory.clone();
    let server = memory.serve(move |it| {
        (it.fetches_blob() && it.header("range").is_none()).then(|| {
            let mut answer = of_server.answer(it);
            answer.cut = Some(answer.body.len() / 2);
            answer
        })
    });
    let _ = desk.pull(&format!("oci://{}/hello:1", server.host()), "out.subako", &[]).exits(0);
    assert_eq!(desk.bytes("out.subako"), fs::read(bundle).unwrap());
    assert!(server.seen().iter().any(|it| it.header("range").is_some_and(|range| range != "bytes=0-")));
}

#[test]
fn a_signature_that_anybody_attached() {
    let desk = Desk::new();
    let (memory, bundle) = filled(&desk);
    // A real signature, of another bundle, that claims to be about this one; and something else.
    let subject = Digest::of(&memory.stored().manifests["1"].1).to_string();
    let other = hello().with("words.txt", "other").build_with(&["--target", "pulley64"]);
    let keys = Keys::default();
    let (private, _) = keys.make("other", Kind::Ed25519, &[]);
    let detached = desk.path("other.json");
    let _ = desk
        .run(&[
            "sign",
            other.path().to_str().unwrap(),
            "--key",
            &private,
            "--detached",
            detached.to_str().unwrap(),
        ])
        .exits(0);
    for envelope in [fs::read(detached).unwrap(), b"not an envelope".to_vec()] {
        let digest = Digest::of(&envelope).to_string();
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE, "artifactType": "application/vnd.subako.signature.v1",
            "config": {"mediaType": "application/vnd.oci.empty.v1+json", "size": 2, "digest": Digest::of(b"{}").to_string()},
            "layers": [{"mediaType": "application/vnd.dsse.envelope.v1+json", "size": envelope.len(), "digest": digest}],
            "subject": {"mediaType": MANIFEST_TYPE, "size": 1, "digest": subject},
        })
        .to_string();
        let mut stored = memory.stored();
        stored.blobs.insert(digest, envelope);
        let name = Digest::of(manifest.as_bytes()).to_string();
        stored.manifests.insert(name, (MANIFEST_TYPE.to_owned(), manifest.into_bytes()));
    }
    let server = memory.serve(|_| None);
    let run = desk.pull(&format!("oci://{}/hello:1", server.host()), "out.subako", &[]).exits(0).json();
    let warnings = run["diagnostics"].as_array().unwrap();
    assert_eq!(warnings.len(), 2, "{run}");
    assert!(warnings.iter().all(|it| it["code"] == "E0855" && it["severity"] == "warning"), "{run}");
    assert_eq!(run["signatures"].as_array().unwrap().len(), 1);
    assert_eq!(desk.bytes("out.subako"), fs::read(bundle).unwrap());
}

#[test]
fn tokens_are_fetched_and_go_to_nobody_else() {
    let desk = Desk::new();
    let memory = Memory::default();
    let of_server = memory.clone();
    // Blobs are served by somebody else, as large registries do.
    let elsewhere = Server::start(move |it| Some(of_server.answer(it)));
    let storage = elsewhere.host();
    let realm = Arc::new(Mutex::new(String::new()));
    let told = realm.clone();
    let server = memory.serve(move |it| {
        if it.place() == "/token" {
            let known = it.header("authorization") == Some(&format!("Basic {}", base64(b"me:secret")));
            return Some(match known {
                true => Response::new(200, r#"{"token":"abc"}"#),
                false => Response::new(401, r#"{"errors":[{"code":"UNAUTHORIZED","message":"who"}]}"#),
            });
        }
        if it.header("authorization") != Some("Bearer abc") {
            let challenge = format!("Bearer realm=\"{}\",service=\"tests\"", told.lock().unwrap());
            return Some(Response::new(401, "").with("WWW-Authenticate", challenge));
        }
        it.fetches_blob().then(|| {
            Response::new(307, "").with("Location", format!("http://{storage}{}?X-Signature=s", it.path))
        })
    });
    *realm.lock().unwrap() = format!("http://{}/token", server.host());
    let reference = format!("oci://{}/a/hello:1", server.host());
    let arguments = ["--username", "me", "--password-stdin"];
    let mut publish = desk.command(&["publish", hello_bundle().path().to_str().unwrap(), &reference]);
    let _ = Run::with_stdin(publish.args(arguments), b"secret").exits(0);
    let out = desk.path("out.subako");
    let mut pull = desk.command(&["pull", &reference, "-o", out.to_str().unwrap()]);
    let _ = Run::with_stdin(pull.args(arguments), b"secret").exits(0);
    assert_eq!(fs::read(&out).unwrap(), hello_bundle().bytes());

    let seen = server.seen();
    let scopes: Vec<_> =
        seen.iter().filter(|it| it.place() == "/token").map(|it| it.query("scope")).collect();
    assert_eq!(scopes, [Some("repository%3Aa%2Fhello%3Apull%2Cpush"), Some("repository%3Aa%2Fhello%3Apull")]);
    let passwords =
        seen.iter().filter(|it| it.header("authorization").is_some_and(|it| it.contains("Basic")));
    assert!(passwords.clone().count() == 2 && passwords.clone().all(|it| it.place() == "/token"));
    assert!(!elsewhere.seen().is_empty());
    assert!(elsewhere.seen().iter().all(|it| it.header("authorization").is_none()));

    let run = desk.pull(&reference, "none.subako", &[]).exits(5);
    assert_eq!(code(&run), "E0844");
}

#[test]
fn what_is_no_reference_is_told_before_the_work() {
    let desk = Desk::new();
    for wrong in ["greet", "oci://h", "oci://h/Greet", "dir:", "https://h/greet"] {
        let run = desk.pull(wrong, "out.subako", &[]).exits(2);
        assert_eq!(code(&run), "E0840", "{wrong}");
    }
    let pinned = format!("oci://h/greet@{}", Digest::of(b""));
    let run = desk.publish(hello_bundle().path(), &pinned, &[]).exits(2);
    assert_eq!(code(&run), "E0840");
}

#[test]
fn a_registry_of_files() {
    let desk = Desk::new();
    let (bundle, public) = signed(&desk);
    let layout = desk.path("layout");
    let reference = format!("dir:{}:1.0", layout.display());
    let published = desk.publish(&bundle, &reference, &[]).exits(0).json();
    // Another bundle beside it, and the same once more.
    let other = hello().with("words.txt", "other").build_with(&["--target", "pulley64"]);
    let beside = format!("dir:{}:other", layout.display());
    let _ = desk.publish(other.path(), &beside, &[]).exits(0);
    let again = desk.publish(&bundle, &reference, &[]).exits(0).json();
    assert_eq!((&again["sent"], &again["there"]), (&json!(0), &json!(8)));

    let version: Value = serde_json::from_slice(&fs::read(layout.join("oci-layout")).unwrap()).unwrap();
    assert_eq!(version, json!({"imageLayoutVersion": "1.0.0"}));
    let index: Value = serde_json::from_slice(&fs::read(layout.join("index.json")).unwrap()).unwrap();
    let tags: Vec<&Value> = index["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["annotations"]["org.opencontainers.image.ref.name"])
        .collect();
    assert_eq!(tags, [&Value::Null, &json!("other"), &json!("1.0")]);
    for blob in fs::read_dir(layout.join("blobs/sha256")).unwrap() {
        let path = blob.unwrap().path();
        let digest = Digest::of(&fs::read(&path).unwrap()).hex();
        assert_eq!(path.file_name().unwrap().to_str(), Some(digest.as_str()));
    }

    // A copy of the directory is as good.
    let moved = desk.path("moved");
    fs::rename(&layout, &moved).unwrap();
    let reference = format!("dir:{}:1.0", moved.display());
    let _ = desk.pull(&reference, "out.subako", &[]).exits(0);
    assert_eq!(desk.bytes("out.subako"), fs::read(&bundle).unwrap());
    let out = desk.path("out.subako");
    let _ = desk.run(&["verify", out.to_str().unwrap(), "--trust", &public]).exits(0);
    let pinned = format!("dir:{}@{}", moved.display(), text(&published["manifest"]));
    let _ = desk.pull(&pinned, "thin.subako", &["--target", "pulley64"]).exits(0);
    let _ = desk.pull(&format!("dir:{}:other", moved.display()), "other.subako", &[]).exits(0);
    assert_eq!(desk.bytes("other.subako"), other.bytes());

    // What was changed on the way is told, and mended by publishing again.
    let pulley = Digest::of(&hello_bundle().entry(PULLEY).bytes).hex();
    let blob = moved.join("blobs/sha256").join(pulley);
    fs::write(&blob, "changed").unwrap();
    fs::remove_file(&out).unwrap();
    let run = desk.pull(&reference, "out.subako", &[]).exits(3);
    assert_eq!(code(&run), "E0852");
    let mended = desk.publish(&bundle, &reference, &[]).exits(0).json();
    assert_eq!(mended["sent"], 1);
    let _ = desk.pull(&reference, "out.subako", &[]).exits(0);

    for (place, action, expected) in [
        (desk.path(""), "publish", "E0856"),
        (desk.path(""), "pull", "E0856"),
        (desk.path("nowhere"), "pull", "E0850"),
        (moved, "pull", "E0850"),
    ] {
        let reference = format!("dir:{}:2.0", place.display());
        let run = match action {
            "publish" => desk.publish(&bundle, &reference, &[]),
            _ => desk.pull(&reference, "none.subako", &[]),
        };
        assert_eq!(code(&run.exits(3)), expected);
    }
}

/// `subako-loader`, built with registries, which knows no credentials but those in `config.json`
/// here, and its cache.
struct Deployment<'a> {
    desk: &'a Desk,
    cache: String,
}

impl<'a> Deployment<'a> {
    fn new(desk: &'a Desk) -> Self {
        let cache = desk.path("loader-cache").to_str().expect("the path is UTF-8").to_owned();
        Self { desk, cache }
    }

    fn install(&self, reference: &str, more: &[&str]) -> Run {
        self.install_with(reference, more, b"")
    }

    fn install_with(&self, reference: &str, more: &[&str], stdin: &[u8]) -> Run {
        let mut command = Command::new(loader_with_registry());
        command.args(["install", reference, "--format", "json", "--cache-dir", &self.cache]).args(more);
        command.env("DOCKER_CONFIG", self.desk.folder.path()).env("HOME", self.desk.folder.path());
        Run::with_stdin(&mut command, stdin)
    }

    fn installed(&self) -> usize {
        let run = loader(["cache", "list", "--cache-dir", &self.cache]).exits(0);
        run.stdout.lines().count()
    }
}

#[test]
fn a_loader_installs_from_a_registry() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let desk = Desk::new();
    let (bundle, public) = signed(&desk);
    let published = desk.publish(&bundle, &registry.reference("hello:1"), &[]).exits(0).json();
    let manifest = text(&published["manifest"]).to_owned();
    let deployment = Deployment::new(&desk);
    let server = Server::start(move |request| Some(registry.forward(request)));
    let of = |version: &str| format!("oci://{}/hello{version}", server.host());
    let pinned = of(&format!("@{manifest}"));

    let installed = deployment.install(&pinned, &["--trust", &public]).exits(0).json();
    assert_eq!(installed["digest"], published["digest"]);
    assert_eq!(installed["signed_by"].as_array().unwrap().len(), 1);
    // The index, what all targets share, the one artifact, and the signature.
    let fetched = server.seen().iter().filter(|request| request.fetches_blob()).count();
    assert_eq!(fetched, 4);
    // What runs it needs no registry.
    let digest = text(&installed["digest"]);
    let call =
        ["call", "--cache-dir", &deployment.cache, "--trust", &public, digest, "greet", r#"{"name":"Ada"}"#];
    let run = loader(call).exits(0);
    assert_eq!(run.stdout, "Hello, Ada!\n");

    // Another target; and by a tag, as a key is trusted.
    let more = ["--target", PULLEY_TARGET, "--trust", &public];
    let installed = deployment.install(&of(":1"), &more).exits(0).json();
    assert_eq!(installed["target"], PULLEY_TARGET);
    let run = loader(call).exits(0);
    assert_eq!(run.stdout, "Hello, Ada!\n");
    let help = Run::of(Command::new(loader_with_registry()).args(["install", "--help"])).exits(0);
    assert!(help.stdout.contains("oci://HOST/REPOSITORY@DIGEST"), "{help}");
    // By the digest alone, it is what the user names.
    let run = deployment.install(&pinned, &["--allow-unsigned"]).exits(0);
    assert!(run.stderr.contains("--allow-unsigned accepts"), "{run}");
}

const PULLEY_TARGET: &str = "pulley64";

#[test]
fn a_loader_installs_nothing_that_nobody_vouches_for() {
    let desk = Desk::new();
    let (memory, _) = filled(&desk);
    let keys = Keys::default();
    let (_, stranger) = keys.make("stranger", Kind::Ed25519, &[]);
    let public = desk.path("builder.pub").to_str().unwrap().to_owned();
    let deployment = Deployment::new(&desk);
    let manifest = Digest::of(&memory.stored().manifests["1"].1).to_string();
    let server = memory.serve(|_| None);
    let of = |version: &str| format!("oci://{}/hello{version}", server.host());
    let pinned = of(&format!("@{manifest}"));
    let other = of(&format!("@{}", Digest::of(b"another")));
    let refused = |reference: &str, more: &[&str], status: i32, expected: &str| {
        let run = deployment.install(reference, more).exits(status);
        assert_eq!(code(&run), expected, "{run}");
        assert_eq!(deployment.installed(), 0, "nothing is left behind");
    };
    // Nothing is asked for without a digest or a key.
    refused(&of(":1"), &["--allow-unsigned"], 2, "E0927");
    refused(&of(":1"), &[], 2, "E0927");
    refused(&of("/Hello"), &["--trust", &public], 2, "E0840");
    assert_eq!(server.seen().len(), 0);

    refused(&pinned, &[], 3, "E0802");
    refused(&of(":1"), &["--trust", &stranger], 3, "E0803");
    refused(&other, &["--trust", &public], 3, "E0850");
    refused(&pinned, &["--trust", &public, "--target", "s390x-unknown-linux-gnu"], 2, "E0854");

    // A registry that gives another manifest for the digest, and one that gives other blobs.
    for of_manifests in [true, false] {
        let of_server = memory.clone();
        let lying = memory.serve(move |request| {
            let wanted = if of_manifests {
                request.place().contains("/manifests/sha256:")
            } else {
                request.fetches_blob()
            };
            wanted.then(|| {
                let mut answer = of_server.answer(request);
                *answer.body.last_mut().unwrap() ^= 1;
                answer
            })
        });
        refused(&format!("oci://{}/hello@{manifest}", lying.host()), &["--trust", &public], 3, "E0852");
    }
    let _ = deployment.install(&pinned, &["--trust", &public]).exits(0);
    assert_eq!(deployment.installed(), 1);
}

#[test]
fn a_loader_is_known_to_a_registry_as_subakoc_is() {
    let Some(registry) = Registry::start(Access::Password) else { return };
    let desk = Desk::new();
    let reference = registry.reference("hello:1");
    let host = registry.host();
    let config = |json: Value| fs::write(desk.path("config.json"), json.to_string()).unwrap();
    let auth = base64(format!("{USER}:{PASSWORD}").as_bytes());
    config(json!({"auths": {host.as_str(): {"auth": auth}}}));
    let published = desk.publish(hello_bundle().path(), &reference, &[]).exits(0).json();
    let pinned = text(&published["pinned"]);
    let deployment = Deployment::new(&desk);
    let _ = deployment.install(pinned, &["--allow-unsigned"]).exits(0);
    config(json!({}));
    assert_eq!(code(&deployment.install(pinned, &["--allow-unsigned"]).exits(5)), "E0844");
    let given = ["--allow-unsigned", "--username", USER, "--password-stdin"];
    let _ = deployment.install_with(pinned, &given, PASSWORD.as_bytes()).exits(0);
}

#[test]
fn a_slim_loader_says_what_it_lacks() {
    let pinned = format!("oci://ghcr.io/team/hello@{}", Digest::of(b"any"));
    let run = loader(["install", &pinned, "--allow-unsigned"]).exits(2);
    assert_eq!(run.errors(), ["E0926"], "{run}");
    assert!(run.stderr.contains(&format!("`subakoc pull {pinned} -o FILE.subako --target host`")), "{run}");
    assert!(run.stderr.contains("`--features registry`"), "{run}");
}
