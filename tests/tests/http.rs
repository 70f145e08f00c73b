//! `subako_http` as a module meets it: requests of a real guest, through the loader's client, to
//! servers on loopback that are as bad as servers can be.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::thread;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::fixture::Fixture;
use subako_tests::https_server::HttpsServer;
use subako_tests::https_server::responses::BOMB_BYTES;
use subako_tests::name_server;
use subako_tests::package::Package;
use subako_tests::run::Run;
use tempfile::TempDir;

const SECRET: &str = "s3cret-of-the-operator";

/// The guest that makes the request it is given.
fn guest() -> &'static Bundle {
    static GUEST: OnceLock<Bundle> = OnceLock::new();
    GUEST.get_or_init(|| Fixture::read("http", "pass").package().build())
}

/// A server, a policy that lets modules reach it, and a volume.
struct World {
    server: HttpsServer,
    policy: Value,
    directory: TempDir,
    environment: Vec<(&'static str, &'static str)>,
}

impl World {
    /// `api.test` and `other.test` are the server, as far as the policy has it.
    fn new() -> Self {
        Self::around(HttpsServer::start(&["api.test", "other.test", "rebind.test", "127.0.0.1"]))
    }

    fn around(server: HttpsServer) -> Self {
        let at = server.address.to_string();
        let policy = json!({
            "allow": ["api.test", "other.test"],
            "resolve": { "api.test": at, "other.test": at },
            "ca_certificates": ["ca.pem"],
            "private_networks": ["127.0.0.1"],
        });
        let directory = tempfile::tempdir().expect("there is room for a folder");
        server.write_authority(directory.path());
        fs::create_dir(directory.path().join("volume")).expect("the folder is ours");
        Self { server, policy, directory, environment: Vec::new() }
    }

    /// The world with another value in its policy.
    fn with(mut self, field: &str, value: Value) -> Self {
        self.policy[field] = value;
        self
    }

    /// The world with a variable in the loader's environment.
    fn with_variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    fn volume(&self) -> PathBuf {
        self.directory.path().join("volume")
    }

    fn command(&self, bundle: &Bundle) -> Command {
        let policy = self.directory.path().join("policy.json");
        fs::write(&policy, self.policy.to_string()).expect("the folder is ours");
        let mut command = bundle.loader("call");
        command.args(["--format", "json", "--network"]).arg(policy);
        command.arg("--volume-tmp").arg(self.volume());
        // What a machine has set for others is nothing to a module's requests.
        command.env("https_proxy", "http://127.0.0.1:9/").env("ALL_PROXY", "http://127.0.0.1:9/");
        command.envs(self.environment.iter().copied());
        command
    }

    fn run(&self, request: &Value, flags: &[&str]) -> Run {
        let arguments = json!({ "request": request }).to_string();
        let run = Run::of(self.command(guest()).args(flags).args(["break", &arguments]));
        for text in [&run.stdout, &run.stderr] {
            assert!(!text.contains(SECRET), "the secret is in {run}");
        }
        run
    }

    /// The answer to a request, with flags for the call.
    #[track_caller]
    fn ask_with(&self, request: &Value, flags: &[&str]) -> Value {
        let mut answer = self.run(request, flags).exits(0).json();
        answer["result"]["structuredContent"].take()
    }

    #[track_caller]
    fn ask(&self, request: &Value) -> Value {
        self.ask_with(request, &[])
    }

    /// The response to a GET of a path of `api.test`.
    #[track_caller]
    fn get(&self, path: &str) -> Value {
        self.ok(&json!({ "url": format!("https://api.test{path}") }))
    }

    #[track_caller]
    fn ok(&self, request: &Value) -> Value {
        let mut answer = self.ask(request);
        assert!(answer.get("ok").is_some(), "{request}: {answer}");
        answer["ok"].take()
    }

    /// What the server has seen of a request to one of its `/echo`s.
    #[track_caller]
    fn echo(&self, request: &Value) -> Value {
        let response = self.ok(request);
        assert_eq!(response["status"], 200, "{response}");
        let text = response["body"]["text"].as_str().expect("the body is inline");
        serde_json::from_str(text).expect("the echo is JSON")
    }

    /// Demands an error of this kind whose message has these words.
    #[track_caller]
    fn fails_with(&self, request: &Value, flags: &[&str], kind: &str, words: &str) {
        let answer = self.ask_with(request, flags);
        assert_eq!(answer["error"]["kind"], kind, "{request}: {answer}");
        let message = answer["error"]["message"].as_str().expect("a message is text");
        assert!(message.contains(words), "{request}: `{words}` is not in `{message}`");
        assert_eq!(answer["error"].as_object().map(serde_json::Map::len), Some(2), "{answer}");
    }

    #[track_caller]
    fn fails(&self, request: &Value, kind: &str, words: &str) {
        self.fails_with(request, &[], kind, words);
    }

    #[track_caller]
    fn get_fails(&self, path: &str, kind: &str, words: &str) {
        self.fails(&json!({ "url": format!("https://api.test{path}") }), kind, words);
    }

    /// The names in the volume, sorted.
    fn files(&self) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.volume())
            .expect("the volume is ours")
            .map(|entry| entry.expect("the volume can be listed").file_name().into_string().expect("ASCII"))
            .collect();
        names.sort();
        names
    }
}

fn save(path: &str, to: &str) -> Value {
    json!({ "url": format!("https://api.test{path}"), "output": { "type": "file", "path": to } })
}

#[test]
fn return_codes() {
    let fixture = Fixture::read("http", "misuse");
    let run = Run::of(fixture.package().build().loader("call").args(["break", "{}"])).exits(0);
    assert_eq!(run.stdout, "fine\n");
}

#[test]
fn without_a_policy_no_host_is_allowed() {
    let request = json!({ "request": { "url": "https://api.example.com/orders" } }).to_string();
    let run = Run::of(guest().loader("call").args(["--format", "json", "break", &request])).exits(0);
    let message = "api.example.com is not in this function's network allowlist";
    assert_eq!(
        run.json()["result"]["structuredContent"],
        json!({ "error": { "kind": "host_not_allowed", "message": message } })
    );
}

/// In discovery there is no network, and a request says so.
#[test]
fn abi_outside_of_a_call() {
    let bundle = Fixture::read("http", "discovery").package().build();
    let tools = Run::of(bundle.loader("tools").args(["--format", "json"])).exits(0).json();
    let answer = &tools["tools"][0]["inputSchema"]["answered"];
    assert_eq!(answer["error"]["kind"], "abi", "{answer}");
}

#[test]
fn a_request_as_small_as_can_be() {
    let world = World::new();
    let echo = world.echo(&json!({ "url": "https://api.test/echo?a=b#c" }));
    assert_eq!(echo["method"], "GET");
    assert_eq!(echo["target"], "/echo?a=b");
    assert_eq!(echo["body"], "");
    let mut names: Vec<&String> = echo["headers"].as_object().expect("an object").keys().collect();
    names.sort();
    assert_eq!(names, ["accept", "accept-encoding", "host", "user-agent"]);
    assert_eq!(echo["headers"]["host"], "api.test");
}

#[test]
fn methods() {
    let world = World::new();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
        let echo = world.echo(&json!({ "method": method, "url": "https://api.test/echo" }));
        assert_eq!(echo["method"], method);
    }
    // The length is told, and nothing comes.
    let head = world.ok(&json!({ "method": "HEAD", "url": "https://api.test/announce/1073741824" }));
    assert_eq!(head["headers"]["content-length"], "1073741824");
    assert_eq!(head["body"], json!({ "type": "inline", "text": "" }));
}

#[test]
fn headers_are_sent_but_for_the_connections_own() {
    let world = World::new();
    let echo = world.echo(&json!({
        "url": "https://api.test/echo",
        "headers": {
            "accept": "text/plain", "user-agent": "mine", "x-own": "a, b",
            "host": "other.test", "content-length": "7", "connection": "close", "te": "trailers",
            "transfer-encoding": "chunked", "upgrade": "h2c", "trailer": "x", "keep-alive": "1",
            "proxy-connection": "x",
        },
    }));
    assert_eq!(
        echo["headers"],
        json!({
            "accept": "text/plain", "user-agent": "mine", "x-own": "a, b",
            "host": "api.test", "accept-encoding": "gzip, br, zstd",
        })
    );
}

#[test]
fn bodies() {
    let world = World::new();
    fs::write(world.volume().join("in.bin"), vec![b'x'; 300_000]).expect("the volume is ours");
    let large = "x".repeat(300_000);
    for (body, content_type, sent) in [
        (json!({ "type": "text", "text": "hé" }), Some("text/plain; charset=utf-8"), "hé"),
        (json!({ "type": "text", "text": "" }), Some("text/plain; charset=utf-8"), ""),
        (
            json!({ "type": "json", "json": { "b": [1, null], "a": "é" } }),
            Some("application/json"),
            r#"{"b":[1,null],"a":"é"}"#,
        ),
        (json!({ "type": "file", "path": "/volume/tmp/in.bin" }), None, &large),
    ] {
        let request = json!({ "method": "POST", "url": "https://api.test/to/200/x", "body": body });
        assert_eq!(world.ok(&request)["status"], 200);
        let received = world.server.received().pop().expect("the request has arrived");
        assert_eq!(received.header("content-type").as_deref(), content_type);
        assert_eq!(received.header("content-length"), Some(sent.len().to_string()));
        assert!(received.body == sent.as_bytes(), "{body} has changed on its way");
    }
    let own = json!({
        "method": "PUT", "url": "https://api.test/echo", "headers": { "content-type": "text/csv" },
        "body": { "type": "text", "text": "a,b" },
    });
    assert_eq!(world.echo(&own)["headers"]["content-type"], "text/csv");
}

#[test]
fn http2() {
    let world = World::around(HttpsServer::start_http2(&["api.test", "other.test"]));
    let echo = world.echo(&json!({
        "method": "POST", "url": "https://api.test/orders?a=b",
        "headers": { "x-own": "a", "te": "gzip", "host": "other.test" },
        "body": { "type": "json", "json": 1 },
    }));
    assert_eq!(echo["method"], "POST");
    assert_eq!(echo["target"], "/orders?a=b");
    assert_eq!(echo["headers"]["host"], "api.test");
    assert_eq!(echo["headers"]["x-own"], "a");
    assert_eq!(echo["headers"].get("te"), None);
    assert_eq!(echo["body"], "1");
    assert!(world.server.received()[0].http2);

    let saved = world.ok(&save("/orders", "/volume/tmp/out.json"));
    let file = fs::read(world.volume().join("out.json")).expect("the file is there");
    assert_eq!(saved["body"], json!({ "type": "file", "path": "/volume/tmp/out.json", "bytes": file.len() }));
}

#[test]
fn responses() {
    let world = World::new();
    let not_found = world.get("/nothing");
    assert_eq!(not_found["status"], 404);
    assert_eq!(not_found["headers"]["content-type"], "text/plain");
    assert_eq!(not_found["body"], json!({ "type": "inline", "text": "no such path" }));
    assert_eq!(world.get("/cookies")["headers"]["set-cookie"], "a=1, b=2");
    assert_eq!(world.get("/status/204")["body"]["text"], "");
    assert_eq!(world.get("/status/304")["status"], 304);
    assert_eq!(world.get("/status/503")["status"], 503);
}

#[test]
fn compressed_responses() {
    let world = World::new();
    for path in ["/gzip", "/br", "/zstd"] {
        let response = world.get(path);
        assert_eq!(response["body"]["text"], "hello", "{path}");
        assert_eq!(response["headers"].get("content-encoding"), None, "{path}");
        assert_eq!(response["headers"].get("content-length"), None, "{path}");
        let saved = world.ok(&save(path, "/volume/tmp/hello"));
        assert_eq!(saved["body"]["bytes"], 5);
        assert_eq!(fs::read(world.volume().join("hello")).expect("the file is there"), b"hello");
    }
    world.get_fails("/cut/gzip", "connection", "api.test");
}

#[test]
fn bombs() {
    let world = World::new();
    for path in ["/bomb/gzip", "/bomb/br", "/bomb/zstd"] {
        world.get_fails(path, "too_large", "262,144");
        world.fails_with(&save(path, "/volume/tmp/out"), &["--write-budget", "1MiB"], "write_budget", "out");
        assert_eq!(world.files(), Vec::<String>::new(), "{path}");
    }
    let saved = world.ok(&save("/bomb/zstd", "/volume/tmp/out"));
    assert_eq!(saved["body"]["bytes"], BOMB_BYTES);
}

#[test]
fn too_large() {
    let world = World::new();
    let longest = world.get("/bytes/262144");
    assert_eq!(longest["body"]["text"].as_str().map(str::len), Some(262_144));
    world.get_fails("/bytes/262145", "too_large", "262,145 bytes, at most 262,144");
    // Told by what the server says, before anything is sent, and by what comes.
    world.get_fails("/announce/1073741824", "too_large", "1,073,741,824");
    world.get_fails("/endless", "too_large", "262,144");
}

#[test]
fn not_text() {
    let world = World::new();
    // The server would go on without end.
    world.get_fails("/binary", "not_text", "byte 0");
    world.get_fails("/half-character", "not_text", "byte 1");
    assert_eq!(world.ok(&save("/half-character", "/volume/tmp/out"))["body"]["bytes"], 2);
}

#[test]
fn saved_files() {
    let world = World::new();
    let saved = world.ok(&save("/bytes/300000", "/volume/tmp/a/b/out.bin"));
    let body = json!({ "type": "file", "path": "/volume/tmp/a/b/out.bin", "bytes": 300_000 });
    assert_eq!(saved["body"], body);
    let path = world.volume().join("a/b/out.bin");
    assert_eq!(fs::read(&path).expect("the file is there"), vec![b'x'; 300_000]);
    world.ok(&save("/bytes/5", "/volume/tmp/a/b/out.bin"));
    assert_eq!(fs::read(&path).expect("the file is there"), b"xxxxx");
    assert_eq!(fs::read_dir(path.parent().expect("it is in a folder")).expect("it is ours").count(), 1);
    // A body that is not there is a file without bytes.
    assert_eq!(world.ok(&save("/status/204", "/volume/tmp/none"))["body"]["bytes"], 0);
    assert_eq!(fs::read(world.volume().join("none")).expect("the file is there"), b"");
}

#[test]
fn saved_to_volume_data() {
    let world = World::new();
    let data = tempfile::tempdir().expect("there is room for a folder");
    let flags = ["--volume-data", data.path().to_str().expect("the path is UTF-8")];
    let answer = world.ask_with(&save("/bytes/5", "/volume/data/out"), &flags);
    assert_eq!(answer["ok"]["body"]["bytes"], 5, "{answer}");
    assert_eq!(fs::read(data.path().join("out")).expect("the file is there"), b"xxxxx");
}

/// A response that does not come whole leaves what was there before.
#[test]
fn nothing_partial_is_saved() {
    let world = World::new();
    fs::write(world.volume().join("out"), "before").expect("the volume is ours");
    for (path, flags, kind) in [
        ("/cut", &[][..], "connection"),
        ("/cut-chunked", &[], "connection"),
        ("/cut/gzip", &[], "connection"),
        ("/endless", &["--write-budget", "1MiB"], "write_budget"),
        ("/bytes/1048577", &["--write-budget", "1MiB"], "write_budget"),
        ("/announce/1073741825", &[], "write_budget"),
    ] {
        world.fails_with(&save(path, "/volume/tmp/out"), flags, kind, "");
        world.fails_with(&save(path, "/volume/tmp/new/out"), flags, kind, "");
        assert_eq!(world.files(), ["out"], "{path}");
        assert_eq!(fs::read(world.volume().join("out")).expect("the file is there"), b"before", "{path}");
    }
    let saved = world.ask_with(&save("/bytes/1048576", "/volume/tmp/out"), &["--write-budget", "1MiB"]);
    assert_eq!(saved["ok"]["body"]["bytes"], 1_048_576, "{saved}");
}

#[test]
fn bad_paths() {
    let world = World::new();
    let outside = tempfile::tempdir().expect("there is room for a folder");
    fs::write(outside.path().join("kept"), "kept").expect("the folder is ours");
    symlink(outside.path(), world.volume().join("out-dir")).expect("the volume is ours");
    symlink(outside.path().join("kept"), world.volume().join("out-link")).expect("the volume is ours");
    fs::create_dir(world.volume().join("folder")).expect("the volume is ours");
    fs::write(world.volume().join("file"), "").expect("the volume is ours");
    for path in [
        "out.bin",
        "/etc/passwd",
        "/package/a",
        "/skills/a/b",
        "/volume/tmp",
        "/volume/tmp/",
        "/volume/tmp/../../out",
        "/volume/tmp/a/../../../out",
        "/volume/data/out",
        "/volume/tmp/out-dir/new",
        "/volume/tmp/out-link",
        "/volume/tmp/folder",
        "/volume/tmp/file/below",
    ] {
        world.fails(&save("/bytes/5", path), "bad_path", path);
    }
    for path in [
        "/volume/tmp/absent",
        "/volume/tmp/out-link",
        "/volume/tmp/out-dir/kept",
        "/volume/tmp/folder",
        "/volume/data/in",
        "/etc/passwd",
    ] {
        let body = json!({ "type": "file", "path": path });
        let request = json!({ "method": "POST", "url": "https://api.test/echo", "body": body });
        world.fails(&request, "bad_path", path);
    }
    assert_eq!(fs::read_dir(outside.path()).expect("the folder is ours").count(), 1);
    // None of this was worth a connection.
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn invalid_requests() {
    let world = World::new();
    for (request, words) in [
        (json!({ "url": "https://api.test/", "method": "TRACE" }), "`method`"),
        (json!({ "url": "https://api.test/", "retries": 3 }), "`retries`"),
        (json!({ "url": "api.test" }), "`url`"),
        (json!({ "url": "https://api.test/", "headers": { "a b": "c" } }), "`headers.a b`"),
        (json!({ "url": "https://api.test/", "headers": { "a": "b\r\nc: d" } }), "`headers.a`"),
        (json!([]), "not an object"),
    ] {
        world.fails(&request, "invalid_request", words);
    }
    assert_eq!(world.server.received().len(), 0);
}

#[test]
fn connections_that_break() {
    let world = World::new();
    for path in ["/cut", "/cut-chunked", "/no-http", "/large-head"] {
        world.get_fails(path, "connection", "api.test");
    }
    // Nobody listens there any more.
    let gone = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
    let address = gone.local_addr().expect("it is bound").to_string();
    drop(gone);
    let world = world.with("resolve", json!({ "api.test": address }));
    world.get_fails("/echo", "connection", "api.test cannot be reached");
}

#[test]
fn certificates_are_checked() {
    // Another authority's, and another name.
    let stranger = World::new().with("ca_certificates", json!([]));
    stranger.get_fails("/echo", "connection", "certificate");
    let misnamed = World::around(HttpsServer::start(&["other.test"]));
    misnamed.get_fails("/echo", "connection", "certificate");
}

#[test]
fn timeouts() {
    let world = World::new();
    for path in ["/silent", "/stall", "/endless", "/hops/1000"] {
        let mut request = save(path, "/volume/tmp/out");
        request["timeout_ms"] = json!(if path == "/hops/1000" { 1 } else { 300 });
        world.fails(&request, "timeout", "timeout_ms");
        assert_eq!(world.files(), Vec::<String>::new());
    }
}

/// The call's own time ends a request too, and with it the call.
#[test]
fn the_calls_time() {
    let world = World::new();
    for request in [
        json!({ "url": "https://api.test/silent" }),
        json!({ "url": "https://api.test/stall", "timeout_ms": 3_600_000 }),
        save("/endless", "/volume/tmp/out"),
    ] {
        let flags = ["--timeout", "1s", "--write-budget", "64GiB"];
        let run = world.run(&request, &flags).exits(4);
        assert_eq!(run.json()["cause"], "out_of_time", "{run}");
        assert_eq!(world.files(), Vec::<String>::new());
    }
}

/// A signal ends a request as the end of the call's time does.
#[test]
fn an_interrupted_request_leaves_nothing() {
    let world = World::new();
    let arguments = json!({ "request": save("/endless", "/volume/tmp/out") }).to_string();
    let mut command = world.command(guest());
    command
        .args(["--write-budget", "64GiB", "break", &arguments])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut loader = command.spawn().expect("the loader runs");
    while world.files().is_empty() {
        assert!(loader.try_wait().expect("it is ours").is_none(), "the loader ended by itself");
        thread::yield_now();
    }
    let killed = Command::new("kill").arg(loader.id().to_string()).status().expect("`kill` runs");
    assert!(killed.success());
    assert!(!loader.wait().expect("it is ours").success());
    assert_eq!(world.files(), Vec::<String>::new());
}

#[test]
fn redirects() {
    let world = World::new();
    let response = world.get("/hops/10");
    assert_eq!(response["status"], 200);
    assert_eq!(world.server.received().len(), 11);
    world.get_fails("/hops/11", "too_many_redirects", "10 hops");

    let stays = world.ok(&json!({ "url": "https://api.test/hops/3", "follow_redirects": false }));
    assert_eq!(stays["status"], 302);
    assert_eq!(stays["headers"]["location"], "/hops/2");
    // Without a place to go to, and without a request to go there.
    assert_eq!(world.get("/status/302")["status"], 302);
    assert_eq!(world.get("/to/300/https://other.test/")["body"]["text"], "elsewhere");
}

#[test]
fn redirects_change_methods_as_browsers_do() {
    let world = World::new();
    for (status, method, next, body) in [
        (301, "POST", "GET", ""),
        (302, "POST", "GET", ""),
        (303, "POST", "GET", ""),
        (303, "PUT", "GET", ""),
        (301, "PUT", "PUT", "sent"),
        (302, "DELETE", "DELETE", "sent"),
        (307, "POST", "POST", "sent"),
        (308, "PATCH", "PATCH", "sent"),
    ] {
        let echo = world.echo(&json!({
            "method": method, "url": format!("https://api.test/to/{status}/https://api.test/echo"),
            "headers": { "content-language": "en", "x-own": "a" },
            "body": { "type": "text", "text": "sent" },
        }));
        assert_eq!((&echo["method"], &echo["body"]), (&json!(next), &json!(body)), "{status} {method}");
        let kept = echo["headers"].get("content-type").is_some();
        assert_eq!(kept, !body.is_empty(), "{status} {method}");
        assert_eq!(echo["headers"].get("content-language").is_some(), !body.is_empty(), "{status} {method}");
        assert_eq!(echo["headers"]["x-own"], "a");
    }
    // A file is sent again from its beginning.
    fs::write(world.volume().join("in"), "from the file").expect("the volume is ours");
    let echo = world.echo(&json!({
        "method": "PUT", "url": "https://api.test/to/307/https://other.test/echo",
        "body": { "type": "file", "path": "/volume/tmp/in" },
    }));
    assert_eq!(echo["body"], "from the file");
}

#[test]
fn redirects_to_another_origin_lose_what_is_private() {
    let world = World::new();
    let request = |to: &str| {
        json!({
            "url": format!("https://api.test/to/302/{to}"),
            "headers": {
                "authorization": "own-1", "cookie": "own-2", "proxy-authorization": "own-3", "x-own": "own-4",
            },
        })
    };
    let same = world.echo(&request("https://API.test:443/echo"));
    for (name, value) in [
        ("authorization", "own-1"),
        ("cookie", "own-2"),
        ("proxy-authorization", "own-3"),
        ("x-own", "own-4"),
    ] {
        assert_eq!(same["headers"][name], value);
    }
    // Also when it comes back.
    for to in ["https://other.test/echo", "https://other.test/to/302/https://api.test/echo"] {
        let other = world.echo(&request(to));
        for name in ["authorization", "cookie", "proxy-authorization"] {
            assert_eq!(other["headers"].get(name), None, "{to}");
        }
        assert_eq!(other["headers"]["x-own"], "own-4");
    }
    // What a server writes before an `@` is no header of ours.
    let user = world.echo(&json!({ "url": "https://api.test/to/302/https://me:pass@other.test/echo" }));
    assert_eq!(user["headers"].get("authorization"), None);
}

#[test]
fn every_hop_is_checked() {
    let world = World::new();
    for (to, kind) in [
        ("http://api.test/echo", "forbidden_destination"),
        ("https://127.0.0.2/", "forbidden_destination"),
        ("https://2852039166/latest/meta-data/", "forbidden_destination"),
        ("https://[::1]/", "forbidden_destination"),
        ("file:///etc/passwd", "forbidden_destination"),
        ("https://evil.test/", "host_not_allowed"),
        ("https://api.test:8443/", "host_not_allowed"),
        ("https://a..b/", "connection"),
    ] {
        world.get_fails(&format!("/to/302/{to}"), kind, "");
    }
    assert!(world.server.received().iter().all(|request| request.target.starts_with("/to/")));
}

#[test]
fn forbidden_destinations() {
    let world = World::new();
    for url in [
        "http://api.test/",
        "https://127.0.0.2/",
        "https://127.2/",
        "https://2130706434/",
        "https://0x7f.0.0.2/",
        "https://0177.0.0.2/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/",
        "https://10.0.0.1/",
    ] {
        world.fails(&json!({ "url": url }), "forbidden_destination", "");
    }
    // Without the network in the policy, neither address nor name nor `resolve` leads there.
    let closed = World::new().with("private_networks", json!([]));
    closed.get_fails("/echo", "forbidden_destination", "api.test is at a loopback address");
    let port = closed.server.address.port();
    let closed = closed.with("allow", json!([format!("127.0.0.1:{port}")]));
    let url = format!("https://127.0.0.1:{port}/echo");
    closed.fails(&json!({ "url": url }), "forbidden_destination", "127.0.0.1 is a loopback address");
    assert_eq!(closed.server.received().len(), 0);
    // And with it, the address itself does.
    let open = closed.with("private_networks", json!(["127.0.0.0/8"]));
    assert_eq!(open.echo(&json!({ "url": url }))["headers"]["host"], format!("127.0.0.1:{port}"));
}

/// The address that is connected to is the one that was checked, each time anew.
#[test]
fn names_are_resolved_and_checked_at_each_hop() {
    let world = World::new();
    let port = world.server.address.port();
    let loopback = Ipv4Addr::LOCALHOST;
    let private = Ipv4Addr::new(10, 0, 0, 1);
    let asked = world.server.has_been_asked();
    let names = name_server::start(move |name| match name {
        "api.test" => Some(vec![loopback]),
        "mixed.test" => Some(vec![loopback, private]),
        "private.test" => Some(vec![private]),
        "rebind.test" => Some(vec![if asked() { private } else { loopback }]),
        "empty.test" => Some(Vec::new()),
        _ => None,
    });
    let host = |name: &str| format!("{name}.test:{port}");
    let world = world
        .with("resolve", json!({}))
        .with("nameservers", json!([names.to_string()]))
        .with("allow", json!(["api", "mixed", "private", "rebind", "empty", "absent"].map(host)));
    let url = |name: &str, path: &str| json!({ "url": format!("https://{name}.test:{port}{path}") });

    world.fails(&url("mixed", "/echo"), "forbidden_destination", "mixed.test is at a private address");
    world.fails(&url("private", "/echo"), "forbidden_destination", "private.test is at a private address");
    world.fails(&url("empty", "/echo"), "connection", "empty.test has no address");
    world.fails(&url("absent", "/echo"), "connection", "absent.test has no address");
    assert_eq!(world.server.received().len(), 0);

    let rebinds = url("rebind", "/to/302//echo");
    world.fails(&rebinds, "forbidden_destination", "rebind.test is at a private address");
    assert_eq!(world.server.received().len(), 1);
    assert_eq!(world.echo(&url("api", "/echo"))["headers"]["host"], format!("api.test:{port}"));
}

fn credential(host: &str, header: &str, value: Value) -> Value {
    json!({ "origin": format!("https://{host}"), "header": header, "prefix": "Bearer ", "value": value })
}

#[test]
fn credentials_ride_to_their_origin_alone() {
    let world = World::new().with_variable("SUBAKO_TEST_TOKEN", SECRET).with(
        "credentials",
        json!([
            credential("api.test", "authorization", json!({ "env": "SUBAKO_TEST_TOKEN" })),
            credential("other.test", "x-key", json!({ "file": "key" }))
        ]),
    );
    fs::write(world.directory.path().join("key"), "key-of-the-other\n").expect("the folder is ours");
    let sent = |at: usize, name: &str| world.server.received()[at].header(name);

    world.get("/to/302/https://other.test/echo");
    assert_eq!(sent(0, "authorization"), Some(format!("Bearer {SECRET}")));
    assert_eq!(sent(0, "x-key"), None);
    assert_eq!(sent(1, "authorization"), None);
    assert_eq!(sent(1, "x-key").as_deref(), Some("Bearer key-of-the-other"));

    // What the server repeats is struck out of the answer, inline, saved, and in headers.
    let stars = "*".repeat(SECRET.len());
    let echo = world.echo(&json!({ "url": "https://api.test/echo" }));
    assert_eq!(echo["headers"]["authorization"], format!("Bearer {stars}"));
    world.ok(&save("/echo", "/volume/tmp/out"));
    let saved = fs::read_to_string(world.volume().join("out")).expect("the file is there");
    assert!(saved.contains(&stars) && !saved.contains(SECRET), "{saved}");
    let location = format!("/to/302/https://evil.test/{SECRET}");
    let stays = world.ok(&json!({ "url": format!("https://api.test{location}"), "follow_redirects": false }));
    assert_eq!(stays["headers"]["location"], format!("https://evil.test/{stars}"));
}

#[test]
fn credential_headers_are_the_operators() {
    let world = World::new().with_variable("SUBAKO_TEST_TOKEN", SECRET).with(
        "credentials",
        json!([credential("other.test", "X-Key", json!({ "env": "SUBAKO_TEST_TOKEN" }))]),
    );
    let own = |url: &str| json!({ "url": url, "headers": { "x-key": "own" } });
    world.fails(&own("https://other.test/echo"), "credential_header", "x-key");
    assert_eq!(world.server.received().len(), 0);
    // Also at a hop, and not at another origin.
    world.fails(&own("https://api.test/to/302/https://other.test/echo"), "credential_header", "other.test");
    assert_eq!(world.echo(&own("https://api.test/echo"))["headers"]["x-key"], "own");
}

#[test]
fn credentials_that_are_not_there() {
    let with =
        |value: Value| World::new().with("credentials", json!([credential("api.test", "x-key", value)]));
    for value in [json!({ "env": "SUBAKO_TEST_ABSENT" }), json!({ "file": "absent" })] {
        let world = with(value);
        world.get_fails("/echo", "credential_unavailable", "`x-key` of api.test");
        assert_eq!(world.server.received().len(), 0);
        assert_eq!(world.echo(&json!({ "url": "https://other.test/echo" }))["target"], "/echo");
    }
    let lines = with(json!({ "env": "SUBAKO_TEST_TOKEN" })).with_variable("SUBAKO_TEST_TOKEN", "two\nlines");
    lines.get_fails("/echo", "credential_unavailable", "x-key");
}

#[test]
fn user_information_is_an_authorization() {
    let world = World::new();
    let echo = world.echo(&json!({ "url": "https://user:pass@api.test/echo" }));
    assert_eq!(echo["headers"]["authorization"], "Basic dXNlcjpwYXNz");
    assert_eq!(echo["headers"]["host"], "api.test");
}

#[test]
fn calls_share_nothing() {
    let worlds: Vec<World> = (0..4).map(|_| World::new()).collect();
    thread::scope(|scope| {
        for (at, world) in worlds.iter().enumerate() {
            scope.spawn(move || {
                for round in 0..3 {
                    let path = format!("/echo?{at}-{round}");
                    let echo = world.echo(&json!({ "url": format!("https://api.test{path}") }));
                    assert_eq!(echo["target"], path);
                }
            });
        }
    });
    for (at, world) in worlds.iter().enumerate() {
        let targets: Vec<String> =
            world.server.received().into_iter().map(|request| request.target).collect();
        assert_eq!(targets, [0, 1, 2].map(|round| format!("/echo?{at}-{round}")));
    }
}

/// A policy that is not one stops the call before it begins.
#[test]
fn policies_are_read_strictly() {
    for (policy, codes) in [
        (json!({ "allow": ["*"], "allowed": [] }), &["E0953", "E0952"][..]),
        (
            json!({ "credentials": [{ "origin": "https://a.test", "header": "x", "value": "s3cret" }] }),
            &["E0952"],
        ),
        (json!({ "private_networks": ["0.0.0.0/0"] }), &["E0955"]),
        (json!({ "ca_certificates": ["absent.pem"] }), &["E0956"]),
    ] {
        let mut world = World::new();
        world.policy = policy;
        let told = world.run(&json!({ "url": "https://a.test/" }), &[]).exits(3).json();
        let diagnostics = told["diagnostics"].as_array().expect("a list");
        let found: Vec<&str> = diagnostics.iter().filter_map(|told| told["code"].as_str()).collect();
        assert_eq!(found, codes, "{told}");
        for diagnostic in diagnostics {
            let file = diagnostic["place"]["file"].as_str().expect("a text");
            assert!(file.ends_with("policy.json"), "{told}");
        }
    }
    let absent = guest().call("break", &json!({}), &["--network", "absent.json"]).exits(3);
    assert_eq!(absent.errors(), ["E0950"], "{absent}");
}

/// What the schema names, the loader reads.
#[test]
fn the_policys_schema() {
    let schema = fs::read_to_string(subako_tests::workspace().join("docs/schema/network.json"));
    let schema: Value = serde_json::from_str(&schema.expect("the schema is there")).expect("it is JSON");
    let mut world = World::new();
    let used: Vec<String> = world.policy.as_object().expect("an object").keys().cloned().collect();
    world.policy = json!({});
    for (name, property) in schema["properties"].as_object().expect("an object") {
        world.policy[name] = match property["type"].as_str() {
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!(""),
        };
    }
    for name in used {
        assert!(world.policy.get(&name).is_some(), "`{name}` is not in the schema");
    }
    world.get_fails("/echo", "host_not_allowed", "api.test");
}

/// The example in C, where its toolchain is there.
#[test]
fn the_example_in_c() {
    let Some(package) = subako_tests::package::c_example("fetch-c") else { return };
    let bundle: Bundle = Package::build(package);
    let world = World::new();
    let call =
        |arguments: Value| Run::of(world.command(&bundle).args(["fetch", &arguments.to_string()])).json();
    let fine = call(json!({ "url": "https://api.test/echo" }));
    assert_eq!(fine["is_error"], false, "{fine}");
    assert!(
        fine["result"]["content"][0]["text"].as_str().expect("text").contains("\"target\":\"/echo\""),
        "{fine}"
    );
    let refused = call(json!({ "url": "https://evil.test/" }));
    assert_eq!(refused["is_error"], true, "{refused}");
    let text = refused["result"]["content"][0]["text"].as_str().expect("text");
    assert!(text.contains("evil.test is not in this function's network allowlist"), "{text}");
}
