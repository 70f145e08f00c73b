//! The whole way: from a package to an answer out of a bundle.

use std::fs;
use std::io::Write as _;
use std::process::Command;

use serde_json::{Value, json};
use subako_tests::bundle::Bundle;
use subako_tests::fixture::Fixture;
use subako_tests::in_ci;
use subako_tests::package::{Package, example, greet_c, hello, hello_bundle, host_target};
use subako_tests::programs::{loader, programs, subakoc, tests_directory};
use subako_tests::run::Run;

/// One line of a request, as `exec` passes it on.
fn request(id: &Value, method: &str, params: Value) -> String {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "subako-tests", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
}

/// Every string in a JSON value that is exactly `text`, or begins an object's member with it.
fn mentions(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string == text,
        Value::Array(values) => values.iter().any(|value| mentions(value, text)),
        Value::Object(members) => members.iter().any(|(name, value)| name == text || mentions(value, text)),
        _ => false,
    }
}

#[test]
fn hello_is_checked() {
    let run = subakoc(["check".into(), example("hello")]).exits(0);
    assert!(run.errors().is_empty() && run.warnings().is_empty(), "{run}");
    let json =
        subakoc(["check".as_ref(), "--format".as_ref(), "json".as_ref(), example("hello").as_os_str()])
            .exits(0)
            .json();
    assert!(json.is_object(), "{json}");
}

#[test]
fn hello_is_built() {
    let package = hello();
    let (run, output) = package.try_build(&["--format", "json", "--target", host_target()]);
    let json = run.exits(0).json();
    assert!(json.is_object() && mentions(&json, host_target()), "{json}");
    assert!(output.is_file());
}

/// The default set: the two x86-64 levels, aarch64 Linux, portable bytecode.
#[test]
fn the_default_targets() {
    let names: Vec<String> = hello_bundle().entries().into_iter().map(|entry| entry.name).collect();
    for artifact in [
        "native/aarch64-unknown-linux-gnu/baseline.cwasm",
        "native/pulley64/baseline.cwasm",
        "native/x86_64-unknown-linux-gnu/baseline.cwasm",
        "native/x86_64-unknown-linux-gnu/x86-64-v3.cwasm",
    ] {
        assert!(names.iter().any(|name| name == artifact), "`{artifact}` is not in {names:?}");
    }
}

/// The index names every other entry with its size and digest, computed here anew.
#[test]
fn the_index_is_true() {
    let bundle = hello_bundle();
    let index = bundle.index();
    assert_eq!(index["package"], "hello");
    assert_eq!(index["engine"]["version"], subako_manifest::index::ENGINE_VERSION);
    let imports = json!(["wasi_snapshot_preview1.fd_read", "wasi_snapshot_preview1.fd_write"]);
    assert_eq!(index["imports"], imports);

    let listed = index["entries"].as_array().expect("the index lists entries");
    let entries = bundle.entries();
    assert_eq!(listed.len() + 1, entries.len(), "all but the index itself");
    for entry in entries.iter().filter(|entry| entry.name != "bundle.json") {
        let line = listed.iter().find(|line| line["path"] == entry.name.as_str());
        let line = line.unwrap_or_else(|| panic!("`{}` is not in the index", entry.name));
        assert_eq!(line["size"], entry.bytes.len());
        assert_eq!(line["digest"], subako_manifest::digest::Digest::of(&entry.bytes).to_string());
    }
    let as_written = fs::read(example("hello").join("subako-package.json")).expect("the example is there");
    assert_eq!(bundle.entry("subako-package.json").bytes, as_written);
}

#[test]
fn another_zip_reader_agrees() {
    // Nobody's machine but CI's has to have it.
    if Command::new("python3").arg("--version").output().is_err() && !in_ci() {
        return;
    }
    let run = Run::of(Command::new("python3").args(["-m", "zipfile", "-t"]).arg(hello_bundle().path()));
    _ = run.exits(0);
}

#[test]
fn hello_is_inspected() {
    let path = hello_bundle().path();
    let run = subakoc(["inspect".as_ref(), path.as_os_str()]).exits(0);
    for words in ["hello", "greet", "pulley64", "x86_64-unknown-linux-gnu/x86-64-v3", "fd_read", "sha256:"] {
        assert!(run.stdout.contains(words), "`{words}` is not in {run}");
    }
    let json =
        subakoc(["inspect".as_ref(), "--format".as_ref(), "json".as_ref(), path.as_os_str()]).exits(0).json();
    for words in ["hello", "greet", "x86_64-unknown-linux-gnu/x86-64-v3"] {
        assert!(mentions(&json, words), "`{words}` is not in {json}");
    }
}

#[test]
fn hello_lists_its_tools() {
    let run = Run::of(&mut hello_bundle().loader("tools")).exits(0);
    assert!(run.stdout.contains("greet") && run.stdout.contains("Greet someone by name."), "{run}");
    let json = Run::of(hello_bundle().loader("tools").args(["--format", "json"])).exits(0).json();
    assert_eq!(json["tools"][0]["name"], "greet");
    assert_eq!(json["tools"][0]["inputSchema"]["required"], json!(["name"]));
}

#[test]
fn hello_answers() {
    let run = hello_bundle().call("greet", &json!({ "name": "Ada" }), &[]).exits(0);
    assert_eq!(run.stdout, "Hello, Ada!\n", "{run}");
    // A choice that is dangerous outside of development is said.
    assert!(run.stderr.contains("unsigned"), "{run}");

    let json = hello_bundle().call("greet", &json!({ "name": "Ada" }), &["--format", "json"]).exits(0).json();
    assert_eq!(json["outcome"], "answered");
    assert_eq!(json["result"]["structuredContent"]["message"], "Hello, Ada!");
    assert_eq!(json["result"]["content"], json!([{ "type": "text", "text": "Hello, Ada!" }]));
}

#[test]
fn names_come_back_as_they_were() {
    for name in ["\"id\":7", "a\\b", "\u{1f600} \u{e9}", "tab\there", "}{][,:", &"x".repeat(200_000)] {
        // By stdin: a long one is too long for a command line.
        let mut command = hello_bundle().loader("call");
        let arguments = json!({ "name": name }).to_string();
        let json = Run::with_stdin(command.args(["--format", "json", "greet", "-"]), arguments.as_bytes());
        let message = json.exits(0).json()["result"]["structuredContent"]["message"].clone();
        assert_eq!(message, format!("Hello, {name}!"));
    }
}

#[test]
fn arguments_from_file_and_stdin() {
    let mut file = tempfile::NamedTempFile::new().expect("there is room");
    file.write_all(br#"{"name": "Grace"}"#).expect("there is room");
    let at = format!("@{}", file.path().display());
    let run = Run::of(hello_bundle().loader("call").args(["greet", &at])).exits(0);
    assert_eq!(run.stdout, "Hello, Grace!\n");

    let mut command = hello_bundle().loader("call");
    let run = Run::with_stdin(command.args(["greet", "-"]), br#"{"name": "Joan"}"#).exits(0);
    assert_eq!(run.stdout, "Hello, Joan!\n");
}

#[test]
fn a_failure_of_the_tool_is_exit_code_1() {
    for arguments in [json!({ "name": "" }), json!({}), json!({ "name": 5 })] {
        let run = hello_bundle().call("greet", &arguments, &[]).exits(1);
        assert_eq!(run.stdout, "name must be a string that is not empty\n", "{run}");
        let json = hello_bundle().call("greet", &arguments, &["--format", "json"]).exits(1).json();
        assert_eq!(json["outcome"], "answered");
        assert_eq!(json["result"]["isError"], true);
    }
    // No arguments at all.
    _ = Run::of(hello_bundle().loader("call").arg("greet")).exits(1);
}

#[test]
fn wrong_calls_never_start() {
    let run = hello_bundle().call("nothing", &json!({}), &[]);
    assert!(matches!(run.code, Some(2 | 3)), "{run}");
    assert!(run.stderr.contains("nothing") && run.stdout.is_empty(), "{run}");
    for arguments in ["", "{", "[]", "5", "@/nowhere/at/all"] {
        let run = Run::of(hello_bundle().loader("call").args(["greet", arguments]));
        assert!(matches!(run.code, Some(2 | 3 | 5)), "{run}");
        assert_eq!(run.stdout, "", "{run}");
    }
}

#[test]
fn an_unsigned_bundle_needs_a_choice() {
    for command in ["tools", "call", "exec"] {
        let mut line = vec![command.into(), hello_bundle().path().as_os_str().to_owned()];
        if command == "call" {
            line.extend(["greet".into(), "{}".into()]);
        }
        let run = loader(line).exits(3);
        assert_eq!(run.errors(), ["E0801"], "{run}");
        assert!(run.stderr.contains("--allow-unsigned") && run.stdout.is_empty(), "{run}");
    }
}

#[test]
fn exec_is_the_module_on_stdio() {
    let lines = [
        request(&json!("one"), "server/discover", json!({})),
        request(&json!(2), "tools/list", json!({})),
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":2}}\n"
            .to_owned(),
        request(&json!("three"), "tools/call", json!({ "name": "greet", "arguments": { "name": "Ada" } })),
        request(&json!(-4), "resources/list", json!({})),
    ];
    let run = Run::with_stdin(&mut hello_bundle().loader("exec"), lines.concat().as_bytes()).exits(0);
    let answers: Vec<Value> =
        run.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(answers.len(), 4, "{run}");
    assert_eq!(answers[0]["id"], "one");
    assert_eq!(answers[0]["result"]["supportedVersions"], json!(["2026-07-28"]));
    assert_eq!(answers[1]["id"], 2);
    assert_eq!(answers[1]["result"]["tools"][0]["name"], "greet");
    assert_eq!(answers[2]["id"], "three");
    assert_eq!(answers[2]["result"]["structuredContent"]["message"], "Hello, Ada!");
    assert_eq!(answers[3]["id"], -4);
    assert_eq!(answers[3]["error"]["code"], -32_601);
}

#[test]
fn greet_c_goes_the_whole_way() {
    let Some(package) = greet_c() else { return };
    let bundle = package.build_with(&[]);

    let run = bundle.call("greet", &json!({ "name": "Ada \u{1f600}" }), &[]).exits(0);
    assert_eq!(run.stdout, "Hello, Ada \u{1f600}!\n");

    let volume = tempfile::tempdir().expect("there is room");
    let flags = ["--volume-tmp", volume.path().to_str().expect("the path is UTF-8")];
    let run = bundle.call("note", &json!({ "text": "buy milk" }), &flags).exits(0);
    assert_eq!(run.stdout, "buy milk\n");
    assert_eq!(fs::read(volume.path().join("note.txt")).expect("the note is there"), b"buy milk");

    // Without a volume of ours, there is one for the time of the call.
    let run = bundle.call("note", &json!({ "text": "" }), &[]).exits(0);
    assert_eq!(run.stdout.trim_end(), "");

    let run = bundle.call("fail", &json!({}), &[]).exits(1);
    assert_eq!(run.stdout, "this tool always fails\n");
}

#[test]
fn greet_c_answers_the_same_from_bytecode() {
    let Some(package) = greet_c() else { return };
    let bundle = package.build_with(&["--target", "pulley64"]);
    let run = bundle.call("note", &json!({ "text": "caf\u{e9}" }), &[]).exits(0);
    assert_eq!(run.stdout, "caf\u{e9}\n");
}

/// One byte of an artifact, of the index, of any entry: the bundle is refused before it runs.
#[test]
fn a_changed_bundle_is_refused() {
    let bundle = hello().build();
    let whole = bundle.bytes();
    let target = host_target();
    let offsets = [format!("native/{target}/baseline.cwasm"), "bundle.json".to_owned()]
        .map(|name| usize::try_from(bundle.entry(&name).offset).expect("the bundle is in memory"));
    for at in offsets {
        let mut bytes = whole.clone();
        bytes[at + 20] ^= 1;
        fs::write(bundle.path(), &bytes).expect("the bundle is ours");
        let run = bundle.call("greet", &json!({ "name": "Ada" }), &[]).exits(3);
        assert_eq!(run.stdout, "", "{run}");
        assert!(!run.errors().is_empty() && run.errors()[0].starts_with("E0"), "{run}");
    }
    for len in [0, 1, whole.len() / 2, whole.len() - 1] {
        fs::write(bundle.path(), &whole[..len]).expect("the bundle is ours");
        let run = bundle.call("greet", &json!({ "name": "Ada" }), &[]).exits(3);
        assert!(!run.errors().is_empty() && run.errors()[0].starts_with("E07"), "{run}");
    }
}

#[test]
fn an_absent_bundle_is_named() {
    let run = loader(["tools", "--allow-unsigned", "not-there.subako"]).exits(3);
    assert_eq!(run.errors(), ["E0701"], "{run}");
    assert!(run.stderr.contains("not-there.subako"), "{run}");
}

#[test]
fn help_is_exit_code_0() {
    for program in [&programs().subakoc, &programs().loader] {
        let run = Run::of(Command::new(program).arg("--help")).exits(0);
        assert!(!run.stdout.is_empty() && run.stderr.is_empty(), "{run}");
        _ = Run::of(Command::new(program).arg("--version")).exits(0);
        _ = Run::of(&mut Command::new(program)).exits(2);
    }
}

/// What we send to a module, seen by a module that repeats it on stderr: JSON-RPC, with the
/// revision and the capabilities in `_meta`, and an id of its own each time. The messages are
/// left in `target/tests-bin/messages.jsonl`, where CI compares them with the published schema.
#[test]
fn requests_are_mcp() {
    let fixture = Fixture::read("host", "repeats-requests");
    let bundle: Bundle = fixture.package().build();
    let first = Run::of(bundle.loader("call").args(["--stderr", "break", "{\"a\":[1]}"])).exits(0);
    let second = Run::of(bundle.loader("call").args(["--stderr", "break", "{\"a\":[1]}"])).exits(0);

    // Discovery shows stderr only when it fails.
    let fixture = Fixture::read("host", "repeats-discovery");
    let package: Package = fixture.package();
    let (discovery, _) = package.try_build(&["--target", host_target()]);
    let discovery = discovery.exits(3);
    assert!(discovery.errors()[0].starts_with("E06"), "{discovery}");

    let mut messages = Vec::new();
    for run in [&first, &second, &discovery] {
        let lines = run.stderr.lines().filter_map(|line| Some(&line[line.find("{\"jsonrpc\"")?..]));
        messages.extend(lines.map(|line| serde_json::from_str::<Value>(line).expect("a request is JSON")));
    }
    let methods: Vec<&str> = messages.iter().filter_map(|message| message["method"].as_str()).collect();
    assert_eq!(methods, ["tools/call", "tools/call", "server/discover", "tools/list"]);
    for (at, message) in messages.iter().enumerate() {
        assert_eq!(message["jsonrpc"], "2.0");
        assert!(message["id"].is_string() || message["id"].is_number(), "{message}");
        assert!(
            messages[..at].iter().all(|other| other["id"] != message["id"]),
            "an id comes twice: {message}"
        );
        let meta = &message["params"]["_meta"];
        assert_eq!(meta["io.modelcontextprotocol/protocolVersion"], "2026-07-28");
        assert!(meta["io.modelcontextprotocol/clientCapabilities"].is_object(), "{message}");
        assert!(meta["io.modelcontextprotocol/clientInfo"]["name"].is_string(), "{message}");
        assert!(message["params"].get("cursor").is_none(), "the first page has no cursor: {message}");
    }
    assert_eq!(messages[0]["params"]["name"], "break");
    assert_eq!(messages[0]["params"]["arguments"], json!({ "a": [1] }));

    let lines: String = messages.iter().map(|message| format!("{message}\n")).collect();
    fs::write(tests_directory().join("messages.jsonl"), lines)
        .expect("the target directory is ours to write");
}
