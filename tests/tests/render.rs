//! What the model reads: each block of ABI 1's table ("When the agent calls a tool"), answered by a
//! guest that has put real files into its volume.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use subako_tests::fixture::Fixture;
use subako_tests::run::Run;
use subako_tests::wasi_calls::{run, wasi_calls};

/// The eight bytes that tell a PNG, as the guest writes them, and in base64.
const PNG: &str = "%89PNG%0d%0a%1a%0a";
const PNG_BASE64: &str = "iVBORw0KGgo=";

/// Runs a script that ends in an answer with these blocks, and gives what is rendered.
#[track_caller]
fn rendered(script: &str, blocks: &Value, volume: &Path) -> Option<Vec<Value>> {
    let guest = wasi_calls()?;
    let result = json!({ "content": blocks });
    let script = format!("{script}\nresult {result}");
    let flags = ["--render", "--volume-tmp", volume.to_str().expect("the path is UTF-8")];
    let run = run(&guest.bundle, &script, &flags).exits(0);
    let report = run.json();
    assert_eq!(report["result"], result, "the answer is kept as it is: {run}");
    Some(report["rendered"].as_array().unwrap_or_else(|| panic!("{run}")).clone())
}

/// One block, and the one thing that it becomes.
#[track_caller]
fn check(script: &str, block: &Value, expected: &Value) {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    check_in(volume.path(), script, block, expected);
}

#[track_caller]
fn check_in(volume: &Path, script: &str, block: &Value, expected: &Value) {
    if let Some(found) = rendered(script, &json!([block]), volume) {
        assert_eq!(found, std::slice::from_ref(expected), "{block}");
    }
}

/// A block that becomes a note with these words in it.
#[track_caller]
fn check_note(volume: &Path, script: &str, block: &Value, words: &str) {
    let Some(found) = rendered(script, &json!([block]), volume) else { return };
    let [note] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(note["type"], "note", "{block}: {note}");
    let text = note["text"].as_str().unwrap_or_default();
    assert!(text.contains(words), "{block}: `{words}` is not in `{text}`");
}

fn image(mime_type: &str, data: &str) -> Value {
    json!({ "type": "image", "mimeType": mime_type, "data": data })
}

fn link(uri: &str) -> Value {
    json!({ "type": "resource_link", "uri": uri, "name": "chart.png" })
}

#[test]
fn a_text_is_the_text() {
    for text in ["", "Hello, Ada!", "line\nline\t\u{1b}[31mé🦀\u{0}"] {
        let block = json!({ "type": "text", "text": text });
        check("", &block, &block);
    }
}

#[test]
fn an_image_is_the_image() {
    // The first bytes of each type, in base64.
    for (mime_type, data) in [
        ("image/png", PNG_BASE64),
        ("image/jpeg", "/9j/4AAQ"),
        ("image/gif", "R0lGODlhAQABAA=="),
        ("image/webp", "UklGRgQAAABXRUJQ"),
    ] {
        let block = image(mime_type, data);
        check("", &block, &block);
    }
}

#[test]
fn an_image_that_is_none_is_a_note() {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    for (block, words) in [
        (image("image/jpeg", PNG_BASE64), "`mimeType` is `image/jpeg`, but its `data` is `image/png`"),
        (image("image/png", "iVBORw0KGgo"), "not base64"),
        (image("image/png", "not base64!"), "not base64"),
        (image("image/png", "SGVsbG8="), "no PNG, JPEG, GIF or WebP image"),
        (image("image/svg+xml", "PHN2Zy8+"), "no PNG, JPEG, GIF or WebP image"),
        (json!({ "type": "image", "data": PNG_BASE64 }), "`mimeType` is absent"),
        (json!({ "type": "image", "mimeType": "image/png" }), "`data` is absent"),
    ] {
        check_note(volume.path(), "", &block, words);
    }
}

#[test]
fn a_link_into_the_volume_is_the_image_there() {
    let shown = image("image/png", PNG_BASE64);
    for (file, uri) in [
        ("chart.png", "volume:///tmp/chart.png"),
        ("no-ending", "volume:///tmp/no-ending"),
        ("my%20chart.png", "volume:///tmp/my%20chart.png"),
        ("é.png", "volume:///tmp/%C3%A9.png"),
        ("100%25.png", "volume:///tmp/100%25.png"),
        ("chart.png", "VOLUME:///tmp/%63hart.png"),
    ] {
        check(&format!("put /volume/tmp {file} {PNG} cw"), &link(uri), &shown);
    }
    let script = format!("mkdir /volume/tmp a\nmkdir /volume/tmp a/b\nput /volume/tmp a/b/c.png {PNG} cw");
    check(&script, &link("volume:///tmp/a/b/c.png"), &shown);
}

/// A link is read when the module has exited: what it wrote last counts.
#[test]
fn a_link_is_read_after_the_exit() {
    let bundle = Fixture::read("host", "writes-after-answer").package().build();
    let run = bundle.call("break", &json!({}), &["--format", "json", "--render"]).exits(0);
    assert_eq!(run.json()["rendered"], json!([image("image/png", PNG_BASE64)]), "{run}");
}

#[test]
fn a_link_that_leads_out_is_a_note() {
    let place = tempfile::tempdir().expect("there is room for a folder");
    let volume = place.path().join("volume");
    let secret = place.path().join("secret.png");
    fs::create_dir(&volume).expect("the folder is ours");
    fs::write(&secret, b"\x89PNG\r\n\x1a\n").expect("the folder is ours");
    symlink(&secret, volume.join("absolute.png")).expect("the folder is ours");
    symlink("../secret.png", volume.join("relative.png")).expect("the folder is ours");
    symlink("..", volume.join("up")).expect("the folder is ours");
    for (uri, words) in [
        ("volume:///tmp/../secret.png", "`.` or `..`"),
        ("volume:///tmp/%2e%2e/secret.png", "`.` or `..`"),
        ("volume:///tmp/.%2E/secret.png", "`.` or `..`"),
        ("volume:///../secret.png", "`.` or `..`"),
        ("volume:///tmp/..%2Fsecret.png", "escaped slash"),
        ("volume:///tmp/x%00.png", "zero byte"),
        ("volume:///tmp/%zz.png", "no escape"),
        ("volume:///tmp//secret.png", "empty segment"),
        ("volume:///tmp/absolute.png", "symbolic link"),
        ("volume:///tmp/relative.png", "symbolic link"),
        ("volume:///tmp/up/secret.png", "symbolic link"),
        ("volume:///package/a.png", "no file below"),
        ("volume:///data/a.png", "no such directory"),
        ("volume:///tmp", "no file below"),
    ] {
        check_note(&volume, "", &link(uri), words);
    }
    // Links of the module's own making.
    let script = "symlink /volume/tmp own.png ../secret.png\nsymlink /volume/tmp own-up ..";
    check_note(&volume, script, &link("volume:///tmp/own.png"), "symbolic link");
    check_note(&volume, "", &link("volume:///tmp/own-up/secret.png"), "symbolic link");
}

#[test]
fn a_link_to_no_image_is_a_note() {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    let _ = Run::of(Command::new("mkfifo").arg(volume.path().join("fifo"))).exits(0);
    for (script, uri, words) in [
        ("", "volume:///tmp/absent.png", "no such file"),
        ("mkdir /volume/tmp dir", "volume:///tmp/dir", "not a regular file"),
        ("", "volume:///tmp/fifo", "not a regular file"),
        ("put /volume/tmp a.txt hello cw", "volume:///tmp/a.txt", "no PNG, JPEG, GIF or WebP image"),
        ("put /volume/tmp empty.png \"\" cw", "volume:///tmp/empty.png", "no PNG, JPEG, GIF or WebP image"),
        ("", "volume:///tmp/a.txt/b.png", "no such file"),
    ] {
        check_note(volume.path(), script, &link(uri), words);
    }
    // One byte more than is shown.
    let script = format!("put /volume/tmp big.png {PNG} cw\nopen f /volume/tmp big.png w\nsize $f 16777217");
    check_note(volume.path(), &script, &link("volume:///tmp/big.png"), "16,777,217");
}

#[test]
fn any_other_link_is_a_line_with_it() {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    for uri in ["https://example.com/chart.png", "file:///volume/tmp/chart.png", "volume:/tmp/chart.png"] {
        check_note(volume.path(), "", &link(uri), &format!("Link `chart.png`: {uri}"));
    }
}

#[test]
fn any_other_block_is_a_note() {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    for block in [
        json!({ "type": "audio", "mimeType": "audio/wav", "data": "UklGRg==" }),
        json!({ "type": "resource", "resource": { "uri": "volume:///tmp/a", "text": "a" } }),
        json!({ "type": "hologram" }),
    ] {
        let kind = block["type"].as_str().expect("it has a type");
        check_note(volume.path(), "", &block, &format!("`{kind}`, was left out"));
    }
}

#[test]
fn blocks_keep_their_order() {
    let volume = tempfile::tempdir().expect("there is room for a folder");
    let blocks = json!([
        { "type": "text", "text": "one" },
        image("image/png", PNG_BASE64),
        { "type": "text", "text": "two" },
    ]);
    if let Some(found) = rendered("", &blocks, volume.path()) {
        assert_eq!(Value::from(found), blocks);
    }
}

/// In text, an image is told, and everything else is what the model reads.
#[test]
fn in_text() {
    let Some(guest) = wasi_calls() else { return };
    let blocks = json!([{ "type": "text", "text": "one" }, image("image/png", PNG_BASE64)]);
    let script = format!("result {}", json!({ "content": blocks }));
    let arguments = json!({ "script": script });
    let run = guest.bundle.call("run", &arguments, &[]).exits(0);
    assert_eq!(run.stdout, "one\n[image: image/png, 8 bytes]\n", "{run}");
}

/// A tool's own failure is an answer, with exit code 1.
#[test]
fn a_failure_that_the_model_reads() {
    let Some(guest) = wasi_calls() else { return };
    let result = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    let arguments = json!({ "script": format!("result {result}") });
    let run = guest.bundle.call("run", &arguments, &["--format", "json"]).exits(1);
    let report = run.json();
    assert_eq!(report["outcome"], "answered", "{run}");
    assert_eq!(report["is_error"], true, "{run}");
    assert_eq!(report["result"], result, "{run}");
}
