//! The compile cache that builders share through a registry: it saves compiling and changes no byte
//! of any bundle, whatever somebody has put there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::pae;
use subako_tests::keys::{Keys, Kind, base64, key_id, unbase64};
use subako_tests::oci_registry::memory::Memory;
use subako_tests::oci_registry::server::{Response, Server};
use subako_tests::oci_registry::{Access, PASSWORD, Registry, USER};
use subako_tests::package::{Package, hello, host_target};
use subako_tests::programs::programs;
use subako_tests::run::{COMPILE_CACHE, Run};

const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
const PULLEY: &str = "pulley64";

/// A build server: a key, a cache of its own, and no credentials but those in its folder.
struct Builder {
    keys: Keys,
    private: String,
    public: String,
}

impl Builder {
    fn new() -> Self {
        Self::with_key(Kind::Ed25519)
    }

    fn with_key(kind: Kind) -> Self {
        let keys = Keys::default();
        let (private, public) = keys.make("builder", kind, &[]);
        Self { keys, private, public }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&programs().subakoc);
        let home = self.keys.path("home");
        command.args(arguments).env("DOCKER_CONFIG", &home).env("HOME", &home);
        command.env(COMPILE_CACHE, self.keys.path("cache")).env("NO_PROXY", "127.0.0.1");
        command
    }

    /// Builds for Pulley and this host, and gives the report and the bundle.
    #[track_caller]
    fn build(&self, package: &Path, more: &[&str]) -> (Value, Vec<u8>) {
        self.build_to("out.subako", package, more)
    }

    #[track_caller]
    fn build_to(&self, name: &str, package: &Path, more: &[&str]) -> (Value, Vec<u8>) {
        let out = self.keys.path(name);
        let package = package.to_str().expect("the path is UTF-8");
        let fixed =
            ["build", package, "-o", &out, "--format", "json", "--target", PULLEY, "--target", host_target()];
        let run = Run::of(&mut self.command(&[&fixed, more].concat())).exits(0);
        (run.json(), fs::read(&out).expect("a bundle was built"))
    }

    /// What is compiled here and shared there.
    #[track_caller]
    fn share(&self, package: &Path, place: &str) -> Value {
        self.build(package, &["--no-cache", "--sign", &self.private, "--cache-to", place]).0
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

fn parsed(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|error| panic!("{error}"))
}

fn utf8(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("it is text")
}

/// A file of a bundle.
fn unzipped(bundle: &str, name: &str) -> Vec<u8> {
    let output = Command::new("unzip").args(["-p", bundle, name]).output();
    output.expect("unzip is installed").stdout
}

/// Where the artifacts came from, Pulley's first.
fn sources(report: &Value) -> Vec<&str> {
    list(&report["compiled"]).iter().map(|origin| text(&origin["source"])).collect()
}

/// Codes and messages of the warnings.
fn warnings(report: &Value) -> Vec<(&str, &str)> {
    let told = list(&report["diagnostics"]).iter();
    told.map(|it| {
        assert_eq!(it["severity"], "warning", "{it}");
        (text(&it["code"]), text(&it["message"]))
    })
    .collect()
}

/// The example with another greeting, of five letters.
fn hello_in_other_words(text: &str) -> Package {
    let module = fs::read_to_string(hello().path().join("module.wat")).expect("the example is there");
    Package::of_text("hello", &module.replace("Hello", text))
}

/// The bundle that a build without any cache makes.
fn plain(package: &Path) -> Vec<u8> {
    let (report, bundle) = Builder::new().build(package, &["--no-cache"]);
    assert_eq!(sources(&report), ["compiler", "compiler"]);
    bundle
}

/// What is stored in the repository `cache`, by the target.
fn stored(registry: &Registry) -> Vec<(String, String, Value)> {
    let tags = registry.get("/v2/cache/tags/list", "*/*").ok();
    let tags = parsed(&tags);
    let mut stored: Vec<_> = list(&tags["tags"])
        .iter()
        .map(|tag| {
            let tag = text(tag).to_owned();
            let json = registry.get(&format!("/v2/cache/manifests/{tag}"), MANIFEST_TYPE).ok();
            let manifest = parsed(&json);
            let title = &manifest["layers"][0]["annotations"]["org.opencontainers.image.title"];
            (title.as_str().unwrap_or_default().to_owned(), tag, manifest)
        })
        .collect();
    stored.sort_by(|a, b| a.0.cmp(&b.0));
    stored
}

fn blob(registry: &Registry, descriptor: &Value) -> Vec<u8> {
    registry.get(&format!("/v2/cache/blobs/{}", text(&descriptor["digest"])), "*/*").ok()
}

fn payload(envelope: &[u8]) -> Vec<u8> {
    unbase64(text(&parsed(envelope)["payload"]))
}

#[test]
fn what_one_builder_compiled_another_takes() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let (ada, bob) = (Builder::new(), Builder::new());
    let (package, place) = (hello(), registry.reference("cache"));
    let expected = plain(&package.path());

    let report = ada.share(&package.path(), &place);
    assert_eq!((sources(&report), warnings(&report)), (vec!["compiler", "compiler"], vec![]));
    let from = ["--cache-from", &place, "--cache-trust", &ada.public];
    let (report, bundle) = bob.build(&package.path(), &from);
    assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]));
    assert!(bundle == expected, "the same bytes as without a cache");

    // It is in his own cache from then on.
    let (report, bundle) = bob.build(&package.path(), &[]);
    assert_eq!(sources(&report), ["cache", "cache"]);
    assert!(bundle == expected);

    // For people; and for a bundle that is there.
    let out = bob.keys.path("out.subako");
    let new = bob.keys.path("new.subako");
    let rebuild = ["rebuild", &out, "-o", &new, "--no-cache"];
    let run = Run::of(&mut bob.command(&[&rebuild[..], &from, &["-v"]].concat())).exits(0);
    assert!(run.stdout.contains("pulley64: from the shared cache\n"), "{run}");
    let run = Run::of(&mut bob.command(&[&rebuild[..], &from].concat())).exits(0);
    assert!(run.stdout.contains("2 of 2 artifacts from the shared cache\n"), "{run}");
    assert!(fs::read(&new).unwrap() == expected);

    // As any tool sees it: who signed what.
    let stored = stored(&registry);
    let names: Vec<&str> = stored.iter().map(|(name, ..)| name.as_str()).collect();
    assert!(names.len() == 2 && names[0] == "native/pulley64/baseline.cwasm", "{names:?}");
    let (name, tag, manifest) = &stored[0];
    assert_eq!(manifest["artifactType"], "application/vnd.subako.compiled.v1");
    assert_eq!(manifest["layers"][0]["mediaType"], "application/vnd.subako.artifact.v1");
    let envelope = blob(&registry, &manifest["config"]);
    let payload = payload(&envelope);
    let json: Value = serde_json::from_slice(&envelope).unwrap();
    assert_eq!(json["signatures"][0]["keyid"], key_id(&ada.public));
    let signature = unbase64(json["signatures"][0]["sig"].as_str().unwrap());
    assert!(ada.keys.verifies(&ada.public, Kind::Ed25519, &pae(&payload), &signature), "openssl agrees");
    let statement: Value = serde_json::from_slice(&payload).unwrap();
    let artifact = blob(&registry, &manifest["layers"][0]);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(
        statement["subject"],
        json!([{ "name": name, "digest": { "sha256": Digest::of(&artifact).hex() } }])
    );
    assert_eq!(statement["predicate"]["bytes"], artifact.len());
    let inputs = &statement["predicate"]["inputs"];
    assert_eq!(inputs["target"], PULLEY);
    assert_eq!(inputs["engine"]["version"], report["engine"]["version"]);
    let module = unzipped(&out, "module.wasm");
    assert_eq!(inputs["module"], Digest::of(&module).to_string());
    assert_eq!(*tag, format!("compiled-{}", Digest::of(inputs.to_string().as_bytes()).hex()));
}

/// Trust is handed on: `docs/trust.md` says so.
#[test]
fn a_builder_vouches_for_what_it_believed() {
    let (ada, bob, eve) = (Builder::new(), Builder::new(), Builder::new());
    let (package, keys) = (hello(), Keys::default());
    let (of_ada, of_bob) = (format!("dir:{}", keys.path("ada")), format!("dir:{}", keys.path("bob")));
    let _ = ada.share(&package.path(), &of_ada);
    let from = ["--cache-from", &of_ada, "--cache-trust", &ada.public];
    let (report, _) = bob.build(&package.path(), &from);
    assert_eq!(sources(&report), ["registry", "registry"]);
    let (report, _) = bob.build(&package.path(), &["--sign", &bob.private, "--cache-to", &of_bob]);
    assert_eq!(sources(&report), ["cache", "cache"]);
    let from = ["--cache-from", &of_bob, "--cache-trust", &bob.public];
    let (report, _) = eve.build(&package.path(), &from);
    assert_eq!(sources(&report), ["registry", "registry"], "she never heard of Ada");

    // Bob compiles what he shares, where he is told to.
    let report = bob.share(&package.path(), &format!("dir:{}", keys.path("other")));
    assert_eq!(sources(&report), ["compiler", "compiler"]);
}

#[test]
fn a_rebuilt_bundle_is_shared_and_signed() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let ada = Builder::new();
    let (package, place) = (hello(), registry.reference("cache"));
    // What her own cache has is shared too.
    let _ = ada.build(&package.path(), &[]);
    let (out, new) = (ada.keys.path("out.subako"), ada.keys.path("new.subako"));
    let both = ["--sign", &ada.private, "--cache-from", &place, "--cache-to", &place, "--format", "json"];
    let mut rebuild = ada.command(&[&["rebuild", &out, "-o", &new], &both[..]].concat());
    let report = Run::of(&mut rebuild).exits(0).json();
    assert_eq!((sources(&report), warnings(&report)), (vec!["cache", "cache"], vec![]));
    assert_eq!(report["signed_by"], key_id(&ada.public));
    let _ = Run::of(&mut ada.command(&["verify", &new, "--trust", &ada.public])).exits(0);
    let before = stored(&registry);
    assert_eq!(before.len(), 2);

    // Her own key is trusted, and what is there stays as it is.
    let report = Run::of(rebuild.arg("--no-cache")).exits(0).json();
    assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]));
    assert_eq!(stored(&registry), before);
}

/// What somebody did to Pulley's artifact, and the words by which it is found out.
type Trick = (&'static str, Box<dyn Fn(&Stage)>, &'static str);

/// A registry in which Ada has shared what she compiled.
struct Stage {
    registry: Registry,
    ada: Builder,
    package: Package,
    /// The tags and manifests of Pulley's artifact and the host's.
    pulley: (String, Value),
    host: (String, Value),
}

impl Stage {
    fn put(&self, manifest: &Value) {
        self.registry.put_manifest("cache", &self.pulley.0, manifest.to_string().as_bytes());
    }

    fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        self.registry.put_blob("cache", bytes);
        json!({ "mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len() })
    }

    /// Pulley's manifest with this in place of its envelope.
    fn put_config(&self, media_type: &str, bytes: &[u8]) {
        let mut manifest = self.pulley.1.clone();
        manifest["config"] = self.blob(media_type, bytes);
        self.put(&manifest);
    }

    fn payload(&self) -> Vec<u8> {
        payload(&blob(&self.registry, &self.pulley.1["config"]))
    }

    /// An envelope by Ada's key.
    fn sealed(&self, payload: &[u8]) -> Vec<u8> {
        let signature = self.ada.keys.sign(&self.ada.private, Kind::Ed25519, &pae(payload));
        let signatures = json!([{ "keyid": key_id(&self.ada.public), "sig": base64(&signature) }]);
        let payload_type = "application/vnd.in-toto+json";
        let envelope =
            json!({ "payloadType": payload_type, "payload": base64(payload), "signatures": signatures });
        format!("{envelope}\n").into_bytes()
    }
}

const ENVELOPE_TYPE: &str = "application/vnd.dsse.envelope.v1+json";

fn tricks() -> Vec<Trick> {
    let edited = |stage: &Stage, from: &str, to: &str| {
        let envelope = utf8(blob(&stage.registry, &stage.pulley.1["config"]));
        assert!(envelope.contains(from), "{envelope}");
        stage.put_config(ENVELOPE_TYPE, envelope.replacen(from, to, 1).as_bytes());
    };
    vec![
        (
            "unsigned",
            Box::new(|it| it.put_config("application/vnd.oci.empty.v1+json", b"{}")),
            "it is not signed",
        ),
        (
            "signed by a stranger",
            Box::new(|it| {
                let report = Builder::new().share(&it.package.path(), &it.registry.reference("cache"));
                assert_eq!(warnings(&report), vec![]);
                it.registry.put_manifest("cache", &it.host.0, it.host.1.to_string().as_bytes());
            }),
            ", which is not trusted",
        ),
        ("another target's", Box::new(|it| it.put(&it.host.1)), ", expected pulley64"),
        (
            "another module's",
            Box::new(|it| {
                let other = hello_in_other_words("Howdy");
                let before = stored(&it.registry);
                let _ = it.ada.share(&other.path(), &it.registry.reference("cache"));
                let new = stored(&it.registry)
                    .into_iter()
                    .find(|found| found.0.contains(PULLEY) && !before.contains(found));
                it.put(&new.expect("it was shared").2);
            }),
            "`module` is sha256:",
        ),
        (
            "another engine's, by a trusted key",
            Box::new(|it| {
                let payload = utf8(it.payload());
                it.put_config(
                    ENVELOPE_TYPE,
                    &it.sealed(payload.replacen("wasmtime", "wasmtame", 1).as_bytes()),
                );
            }),
            "`engine.name` is wasmtame, expected wasmtime",
        ),
        (
            "the statement of a bundle",
            Box::new(|it| {
                let (_, _) = it.ada.build(&it.package.path(), &["--sign", &it.ada.private]);
                let name = format!("signatures/{}.json", key_id(&it.ada.public));
                let out = it.ada.keys.path("out.subako");
                let envelope = unzipped(&out, &name);
                it.put_config(ENVELOPE_TYPE, &envelope);
            }),
            "`predicateType` is https://slsa.dev/provenance/v1",
        ),
        (
            "other bytes than those that were signed",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"] = it.host.1["layers"].clone();
                it.put(&manifest);
            }),
            "`subject.sha256` is",
        ),
        (
            "no artifact, by a trusted key",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                let old = text(&manifest["layers"][0]["digest"]).replace("sha256:", "");
                manifest["layers"] = json!([it.blob("application/vnd.subako.artifact.v1", b"no artifact")]);
                let payload = utf8(it.payload());
                let payload = payload.replace(&old, &Digest::of(b"no artifact").hex());
                let bytes = format!("\"bytes\":{}", it.pulley.1["layers"][0]["size"]);
                let payload = payload.replace(&bytes, "\"bytes\":11");
                manifest["config"] = it.blob(ENVELOPE_TYPE, &it.sealed(payload.as_bytes()));
                it.put(&manifest);
            }),
            "has a wrong artifact",
        ),
        (
            "a changed signature",
            Box::new(move |it| edited(it, "\"sig\":\"", "\"sig\":\"AAAA")),
            "its signature has a signature that",
        ),
        (
            "a second spelling",
            Box::new(move |it| edited(it, "{\"payloadType\"", "{ \"payloadType\"")),
            "is not spelled as an envelope is spelled here",
        ),
        ("no envelope", Box::new(|it| it.put_config(ENVELOPE_TYPE, b"{}")), "is not an envelope"),
        (
            "another kind of thing",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["artifactType"] = json!("application/vnd.subako.bundle.v1");
                it.put(&manifest);
            }),
            "it is a `application/vnd.subako.bundle.v1`",
        ),
        (
            "a layer of another type",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"][0]["mediaType"] = json!("application/octet-stream");
                it.put(&manifest);
            }),
            "its layer is a `application/octet-stream`",
        ),
        (
            "two layers",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"] = json!([manifest["layers"][0], it.host.1["layers"][0]]);
                it.put(&manifest);
            }),
            "it has 2 layers, expected 1",
        ),
        (
            "another size than it says",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"][0]["size"] = json!(5);
                it.put(&manifest);
            }),
            "`bytes` is ",
        ),
        (
            "more bytes than were signed",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"][0]["size"] = json!(4_000_000_000_u64);
                it.put(&manifest);
            }),
            ", expected 4000000000",
        ),
        (
            "more than anybody takes",
            Box::new(|it| {
                let mut manifest = it.pulley.1.clone();
                manifest["layers"][0]["size"] = json!(5_000_000_000_u64);
                it.put(&manifest);
            }),
            "has 5,000,000,000 bytes, at most 4,294,967,294 are allowed",
        ),
    ]
}

/// Whoever can push to the repository can put anything under any name.
#[test]
fn what_is_not_believed_is_compiled() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let (ada, package) = (Builder::new(), hello());
    let expected = plain(&package.path());
    let place = registry.reference("cache");
    let _ = ada.share(&package.path(), &place);
    let mut stored = stored(&registry).into_iter().map(|(_, tag, manifest)| (tag, manifest));
    let (pulley, host) = (stored.next().unwrap(), stored.next().unwrap());
    let stage = Stage { registry, ada, package, pulley, host };
    let from = ["--no-cache", "--cache-from", &place, "--cache-trust", &stage.ada.public];

    for (name, trick, words) in tricks() {
        trick(&stage);
        let bob = Builder::new();
        let (report, bundle) = bob.build(&stage.package.path(), &from);
        assert_eq!(sources(&report), ["compiler", "registry"], "{name}");
        let told = warnings(&report);
        assert!(told.len() == 1 && told[0].0 == "E0514", "{name}: {told:?}");
        let tag = &stage.pulley.0;
        assert!(told[0].1.contains(words), "{name}: {told:?}");
        assert!(
            told[0].1.starts_with(&format!("`{place}:{tag}` is ignored, and `pulley64` compiled: ")),
            "{told:?}"
        );
        assert!(bundle == expected, "{name}");

        // Who shares there puts it right.
        let (report, _) = stage.ada.build(
            &stage.package.path(),
            &[&from[..3], &["--cache-to", &place, "--sign", &stage.ada.private]].concat(),
        );
        assert_eq!(sources(&report), ["compiler", "registry"], "{name}");
        let (report, bundle) = bob.build(&stage.package.path(), &from);
        assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]), "{name}");
        assert!(bundle == expected, "{name}");
    }

    // For people, on stderr.
    stage.put(&stage.host.1);
    let out = stage.ada.keys.path("out.subako");
    let package = stage.package.path();
    let build = ["build", package.to_str().unwrap(), "-o", &out, "--target", PULLEY, "--deny-warnings"];
    let run = Run::of(&mut stage.ada.command(&[&build[..], &from].concat())).exits(0);
    assert_eq!(run.warnings(), ["E0514"], "{run}");
}

/// What a registry gives for a digest is compared with it.
#[test]
fn a_registry_that_gives_other_bytes() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let (ada, package) = (Builder::new(), hello());
    let _ = ada.share(&package.path(), &registry.reference("cache"));
    let expected = plain(&package.path());
    let artifact = stored(&registry)[0].2["layers"][0]["digest"].as_str().unwrap().to_owned();
    let server = Server::start(move |request| {
        let mut answer = registry.forward(request);
        if request.place().ends_with(&artifact) {
            answer.body[0] ^= 1;
        }
        Some(answer)
    });
    let place = format!("oci://{}/cache", server.host());
    let from = ["--cache-from", &place, "--cache-trust", &ada.public];
    let bob = Builder::new();
    let (report, bundle) = bob.build(&package.path(), &from);
    let told = warnings(&report);
    assert!(
        told.len() == 1 && told[0].0 == "E0514" && told[0].1.contains("came with the digest"),
        "{told:?}"
    );
    assert_eq!(sources(&report), ["compiler", "registry"]);
    assert!(bundle == expected);
    // Nothing of it went into his own cache.
    let (report, bundle) = bob.build(&package.path(), &[]);
    assert_eq!(sources(&report), ["cache", "cache"]);
    assert!(bundle == expected);
}

/// A registry that gives a byte at a time is not asked for all of them.
#[test]
fn a_registry_that_gives_little_at_a_time() {
    let (ada, package) = (Builder::new(), hello());
    let memory = Memory::default();
    let honest = memory.serve(|_| None);
    let report = ada.share(&package.path(), &format!("oci://{}/cache", honest.host()));
    assert_eq!(warnings(&report), vec![]);
    let store = memory.clone();
    let server = memory.serve(move |request| {
        let mut answer = store.answer(request);
        if request.fetches_blob() {
            answer.body.truncate(1);
        }
        Some(answer)
    });
    let place = format!("oci://{}/cache", server.host());
    let from = ["--no-cache", "--cache-from", &place, "--cache-trust", &ada.public];
    let (report, bundle) = Builder::new().build(&package.path(), &from);
    assert_eq!(sources(&report), ["compiler", "compiler"]);
    assert!(!warnings(&report).is_empty(), "{report}");
    let asked = server.seen().iter().filter(|request| request.fetches_blob()).count();
    assert!((1..=4).contains(&asked), "{asked}");
    assert!(bundle == plain(&package.path()));
}

/// What a registry has lost is compiled, and put there again.
#[test]
fn a_registry_that_lost_an_artifact() {
    let (ada, package) = (Builder::new(), hello());
    let memory = Memory::default();
    let server = memory.serve(|_| None);
    let place = format!("oci://{}/cache", server.host());
    let report = ada.share(&package.path(), &place);
    assert_eq!(warnings(&report), vec![]);
    let artifact = text(&report["artifacts"][0]["digest"]);
    assert!(memory.stored().blobs.remove(artifact).is_some());
    let from = ["--no-cache", "--cache-from", &place, "--cache-trust", &ada.public];
    let (report, bundle) = Builder::new().build(&package.path(), &from);
    let told = warnings(&report);
    assert!(told.len() == 1 && told[0].0 == "E0514" && told[0].1.ends_with("is not there"), "{told:?}");
    assert!(bundle == plain(&package.path()));
    let _ = ada.share(&package.path(), &place);
    let (report, _) = Builder::new().build(&package.path(), &from);
    assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]));
}

/// A build needs no shared cache: one that fails is told of once, in either direction.
#[test]
fn a_registry_that_fails_is_done_without() {
    let (ada, package) = (Builder::new(), hello());
    let expected = plain(&package.path());
    let check = |place: &str, words: &str| {
        let from = ["--no-cache", "--deny-warnings", "--cache-from", place, "--cache-trust", &ada.public];
        let (report, bundle) = ada.build(&package.path(), &from);
        assert_eq!(sources(&report), ["compiler", "compiler"], "{place}");
        let told = warnings(&report);
        assert!(told.len() == 1 && told[0].0 == "E0515" && told[0].1.contains(words), "{told:?}");
        assert!(told[0].1.starts_with(&format!("`{place}` gives no artifacts to this build: ")), "{told:?}");
        assert!(bundle == expected, "{place}");
        let report = ada.share(&package.path(), place);
        let told = warnings(&report);
        assert!(told.len() == 1 && told[0].0 == "E0515", "{told:?}");
        assert!(told[0].1.starts_with(&format!("`{place}` gets no artifacts of this build: ")), "{told:?}");
    };
    let failing = Server::start(|_| Some(Response::new(500, "")));
    check(&format!("oci://{}/cache", failing.host()), "answers 500 at each of 2 attempts");
    let waiting = Server::start(|_| Some(Response::new(429, "").with("Retry-After", "100")));
    check(&format!("oci://{}/cache", waiting.host()), "asks to wait 100 s, at most 2 s are waited");
    let other = Server::start(|_| Some(Response::new(200, "<html>")));
    let (report, bundle) = ada.build(
        &package.path(),
        &[
            "--no-cache",
            "--cache-from",
            &format!("oci://{}/cache", other.host()),
            "--cache-trust",
            &ada.public,
        ],
    );
    assert!(warnings(&report).iter().all(|told| told.0 == "E0514"), "{report}");
    assert!(bundle == expected);
    if let Some(registry) = Registry::start(Access::Password) {
        let place = registry.reference("cache");
        check(&place, "asks for a user and a password");
        // What `docker login` keeps.
        let auth = base64(format!("{USER}:{PASSWORD}").as_bytes());
        let config = json!({ "auths": { registry.host().as_str(): { "auth": auth } } });
        fs::create_dir(ada.keys.path("home")).unwrap();
        fs::write(ada.keys.path("home/config.json"), config.to_string()).unwrap();
        assert_eq!(warnings(&ada.share(&package.path(), &place)), vec![]);
        let from = ["--no-cache", "--cache-from", &place, "--cache-trust", &ada.public];
        assert_eq!(sources(&ada.build(&package.path(), &from).0), ["registry", "registry"]);
    }
    if let Some(mut registry) = Registry::start(Access::Open) {
        registry.kill();
        check(&registry.reference("cache"), "cannot be reached");
    }
    let nowhere = PathBuf::from(ada.keys.path("absent"));
    let place = format!("dir:{}", nowhere.display());
    let from = ["--no-cache", "--cache-from", &place, "--cache-trust", &ada.public];
    let (report, _) = ada.build(&package.path(), &from);
    assert_eq!(warnings(&report)[0].0, "E0515");
    assert!(!nowhere.exists());
}

#[test]
fn two_builders_who_share_the_same_at_once() {
    let Some(registry) = Registry::start(Access::Open) else { return };
    let place = registry.reference("cache");
    // Two servers with one key, and one with a key of its own, by which openssl signs.
    let (ada, bob) = (&Builder::new(), &Builder::with_key(Kind::P256));
    let openssl = format!("openssl dgst -sha256 -sign '{}'", bob.private);
    let sign = |builder: &Builder| match builder.public == bob.public {
        true => {
            ["--signer".to_owned(), openssl.clone(), "--public-key".to_owned(), bob.public.clone()].to_vec()
        }
        false => ["--sign".to_owned(), ada.private.clone()].to_vec(),
    };
    let trust = ["--cache-trust", &ada.public, "--cache-trust", &bob.public];
    let from = [&["--no-cache", "--cache-from", &place][..], &trust].concat();
    for text in ["Hello", "Howdy", "Hallo"] {
        let package = hello_in_other_words(text);
        let expected = plain(&package.path());
        let built = thread::scope(|scope| {
            let threads = [(ada, "1.subako"), (ada, "2.subako"), (bob, "3.subako")].map(|(builder, out)| {
                let (at, from, place, sign) = (package.path(), &from, &place, sign(builder));
                // A registry may show half of what somebody else sends at the moment, which is a
                // warning; the build is none the worse.
                scope.spawn(move || {
                    let sign: Vec<&str> = sign.iter().map(String::as_str).collect();
                    builder.build_to(out, &at, &[&from[..], &["--cache-to", place], &sign].concat()).1
                })
            });
            threads.map(|thread| thread.join().unwrap())
        });
        assert!(built[0] == built[1]);
        let (report, bundle) = Builder::new().build(&package.path(), &from);
        assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]));
        assert!(bundle == expected);
    }
}

#[test]
fn a_directory_is_shared_as_a_registry_is() {
    let (ada, package) = (Builder::new(), hello());
    let place = format!("dir:{}", ada.keys.path("layout"));
    let _ = ada.share(&package.path(), &place);
    let from = ["--cache-from", &place, "--cache-trust", &ada.public];
    let (report, bundle) = Builder::new().build(&package.path(), &from);
    assert_eq!((sources(&report), warnings(&report)), (vec!["registry", "registry"], vec![]));
    assert!(bundle == plain(&package.path()));
}

#[test]
fn what_is_missing_is_told_before_the_work() {
    let ada = Builder::new();
    let key = ["--sign", ada.private.as_str()];
    let trust = ["--cache-trust", ada.public.as_str()];
    let from = |place| ["--cache-from", place];
    let place = "oci://127.0.0.1:1/cache";
    let out = ada.keys.path("out.subako");
    for (arguments, code) in [
        (vec!["--cache-to", place], "E0516"),
        (from(place).to_vec(), "E0516"),
        ([&from("oci://127.0.0.1:1/cache:tag")[..], &trust].concat(), "E0840"),
        ([&from("127.0.0.1:1/cache")[..], &trust].concat(), "E0840"),
        ([&["--cache-to", "dir:a:b"], &key[..]].concat(), "E0840"),
        ([&from(place)[..], &["--cache-trust", "/nowhere/ada.pub"]].concat(), "E0823"),
        ([&from(place)[..], &["--cache-trust", &ada.private]].concat(), "E0821"),
        ([&from(place)[..], &trust, &["--ca-file", "/nowhere/ca.pem"]].concat(), "E0848"),
        (vec!["--plain-http"], "E0902"),
    ] {
        for command in ["build", "rebuild"] {
            let fixed = [command, "/nowhere/package", "-o", &out, "--no-cache"];
            let run = Run::of(&mut ada.command(&[&fixed[..], &arguments].concat()));
            assert_eq!(run.errors(), [code], "{run}");
            assert!(run.code != Some(0) && !Path::new(&out).exists());
        }
    }
    let fixed = ["build", "/nowhere/package", "-o", &out, "--cache-trust", &ada.public];
    let run = Run::of(&mut ada.command(&fixed)).exits(2);
    assert!(run.stderr.contains("--cache-from"), "{run}");
}
