//! The spec's table of content blocks, and what strangers may put in a volume.

use std::fs;
use std::os::unix::fs::symlink;

use super::*;

// 8 bytes of signature are what tells a PNG; the rest is of no interest here.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
// The same by hand: `printf '\x89PNG\r\n\x1a\n\0\0\0\rIHDR' | base64`.
const PNG_BASE64: &str = "iVBORw0KGgoAAAANSUhEUg==";

fn shown_of(blocks: &str, volume: &Volume<'_>) -> Vec<Shown> {
    let raw = RawValue::from_string(format!(r#"{{"content":[{blocks}]}}"#)).unwrap();
    render(&CallToolResult::parse(raw).unwrap(), volume)
}

fn without_volume(block: &str) -> Shown {
    shown_of(block, &Volume::default()).remove(0)
}

fn note(text: &str) -> Shown {
    Shown::Note(text.to_owned())
}

fn png() -> Shown {
    Shown::Image { mime_type: "image/png", bytes: PNG.to_vec() }
}

/// What a link to a file of this volume is shown as.
fn linked(path: &str, tmp: &std::path::Path) -> Shown {
    let block = format!(r#"{{"type":"resource_link","uri":"volume:///{path}","name":"n"}}"#);
    shown_of(&block, &Volume { tmp: Some(tmp), data: None }).remove(0)
}

fn not_shown(path: &str, why: &str) -> Shown {
    note(&format!("Link `n`: volume:///{path} (not shown: {why})"))
}

#[test]
fn text_is_unchanged() {
    assert_eq!(
        without_volume(r#"{"type":"text","text":"a\n\u001b[2J é"}"#),
        Shown::Text("a\n\u{1b}[2J é".into())
    );
    assert_eq!(without_volume(r#"{"type":"text","text":""}"#), Shown::Text(String::new()));
}

#[test]
fn blocks_are_shown_in_their_order() {
    let blocks = r#"{"type":"text","text":"1"},{"type":"audio"},{"type":"text","text":"2"}"#;
    assert_eq!(
        shown_of(blocks, &Volume::default()),
        [
            Shown::Text("1".into()),
            note("Block 2, of type `audio`, was left out: only text, images and links are shown."),
            Shown::Text("2".into()),
        ]
    );
    assert_eq!(shown_of("", &Volume::default()), []);
}

#[test]
fn images_of_the_four_types() {
    for (mime_type, data, bytes) in [
        ("image/png", PNG_BASE64, PNG),
        ("image/jpeg", "/9j/4A==", b"\xff\xd8\xff\xe0"),
        ("image/gif", "R0lGODlh", b"GIF89a"),
        ("image/webp", "UklGRgQAAABXRUJQ", b"RIFF\x04\0\0\0WEBP"),
    ] {
        let block = format!(r#"{{"type":"image","mimeType":"{mime_type}","data":"{data}"}}"#);
        assert_eq!(without_volume(&block), Shown::Image { mime_type, bytes: bytes.to_vec() });
    }
}

#[test]
fn images_that_become_notes() {
    for (fields, why) in [
        (
            format!(r#""mimeType":"image/jpeg","data":"{PNG_BASE64}""#),
            "its `mimeType` is `image/jpeg`, but its `data` is `image/png`",
        ),
        (
            format!(r#""mimeType":"image/svg+xml","data":"{PNG_BASE64}""#),
            "its `mimeType` is `image/svg+xml`, but its `data` is `image/png`",
        ),
        (format!(r#""data":"{PNG_BASE64}""#), "its `mimeType` is absent"),
        (r#""mimeType":"image/png""#.to_owned(), "its `data` is absent"),
        (r#""mimeType":"image/png","data":7"#.to_owned(), "its `data` is a number, not a string"),
        (r#""mimeType":"image/png","data":"%%%%""#.to_owned(), "its `data` is not base64"),
        // Without its padding, in the alphabet of URLs, with a line end, with bits left over.
        (r#""mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUg""#.to_owned(), "its `data` is not base64"),
        (r#""mimeType":"image/jpeg","data":"_9j_4A==""#.to_owned(), "its `data` is not base64"),
        (r#""mimeType":"image/gif","data":"R0lG\nODlh""#.to_owned(), "its `data` is not base64"),
        (r#""mimeType":"image/jpeg","data":"/9j/4B==""#.to_owned(), "its `data` is not base64"),
        // "hello", and nothing at all.
        (
            r#""mimeType":"image/png","data":"aGVsbG8=""#.to_owned(),
            "its `data` is no PNG, JPEG, GIF or WebP image",
        ),
        (r#""mimeType":"image/png","data":"""#.to_owned(), "its `data` is no PNG, JPEG, GIF or WebP image"),
    ] {
        let shown = without_volume(&format!(r#"{{"type":"image",{fields}}}"#));
        assert_eq!(shown, note(&format!("Block 1, of type `image`, was left out: {why}.")), "{fields}");
    }
}

#[test]
fn other_blocks_become_notes() {
    for (block, told) in [
        (
            r#"{"type":"resource","resource":{}}"#,
            "Block 1, of type `resource`, was left out: only text, images and links are shown.",
        ),
        (
            r#"{"type":"Text","text":"x"}"#,
            "Block 1, of type `Text`, was left out: only text, images and links are shown.",
        ),
        (
            r#"{"type":"a\u001b[2J"}"#,
            "Block 1, of type `a\\u{1b}[2J`, was left out: only text, images and links are shown.",
        ),
        (r#"{"type":"text"}"#, "Block 1, of type `text`, was left out: its `text` is absent."),
        (
            r#"{"type":"text","text":null}"#,
            "Block 1, of type `text`, was left out: its `text` is null, not a string.",
        ),
        (
            r#"{"type":"text","text":"\ud800"}"#,
            "Block 1, of type `text`, was left out: its `text` is not Unicode text.",
        ),
        (
            r#"{"type":"resource_link","name":"x"}"#,
            "Block 1, of type `resource_link`, was left out: its `uri` is absent.",
        ),
    ] {
        assert_eq!(without_volume(block), note(told), "{block}");
    }
}

#[test]
fn other_links_become_a_line() {
    for (fields, told) in [
        (r#""uri":"https://example.com/a","name":"report""#, "Link `report`: https://example.com/a"),
        (r#""uri":"file:///etc/passwd","name":"p""#, "Link `p`: file:///etc/passwd"),
        (r#""uri":"https://example.com/a""#, "Link: https://example.com/a"),
        (r#""uri":"x:\n\u001b]0;y","name":"a\nb""#, "Link `a\\u{a}b`: x:\\u{a}\\u{1b}]0;y"),
    ] {
        assert_eq!(without_volume(&format!(r#"{{"type":"resource_link",{fields}}}"#)), note(told));
    }
    // A link is never cut.
    let uri = format!("https://example.com/{}", "x".repeat(1_000));
    let block = format!(r#"{{"type":"resource_link","uri":"{uri}","name":"n"}}"#);
    assert_eq!(without_volume(&block), note(&format!("Link `n`: {uri}")));
}

#[test]
fn linked_images_are_read_from_the_volume() {
    let (tmp, data) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::create_dir(tmp.path().join("a b")).unwrap();
    fs::write(tmp.path().join("a b/é.png"), PNG).unwrap();
    // The bytes tell what it is, not the name.
    fs::write(data.path().join("chart.txt"), b"GIF89a").unwrap();
    let blocks = r#"{"type":"resource_link","uri":"volume:///tmp/a%20b/%C3%A9.png","name":"n","mimeType":"image/gif"},
        {"type":"resource_link","uri":"volume:///data/chart.txt","name":"n"}"#;
    let volume = Volume { tmp: Some(tmp.path()), data: Some(data.path()) };
    let gif = Shown::Image { mime_type: "image/gif", bytes: b"GIF89a".to_vec() };
    assert_eq!(shown_of(blocks, &volume), [png(), gif]);

    let no_data = Volume { tmp: Some(tmp.path()), data: None };
    assert_eq!(shown_of(blocks, &no_data)[1], not_shown("data/chart.txt", "the call has no such directory"));
}

#[test]
fn links_that_name_no_image() {
    let tmp = tempfile::tempdir().unwrap();
    fs::create_dir(tmp.path().join("dir")).unwrap();
    fs::write(tmp.path().join("table.csv"), "a,b").unwrap();
    for (path, why) in [
        ("tmp/absent.png", "there is no such file"),
        ("tmp/absent/a.png", "there is no such file"),
        ("tmp/table.csv/a.png", "there is no such file"),
        ("tmp/dir", "it is not a regular file"),
        ("tmp/table.csv", "it is no PNG, JPEG, GIF or WebP image"),
        ("tmp", "it names no file below `/volume/tmp` or `/volume/data`"),
        ("tmp/../tmp/table.csv", "its path has a segment `.` or `..`"),
        ("tmp/%2e%2e/x", "its path has a segment `.` or `..`"),
        ("tmp/dir%2Fx", "its path has an escaped slash"),
        ("tmp/x%00", "its path has an escaped zero byte"),
        ("tmp/%x", "its path has a `%` that is no escape"),
        ("tmp//table.csv", "its path has an empty segment"),
    ] {
        assert_eq!(linked(path, tmp.path()), not_shown(path, why), "{path}");
    }
    let long = format!("tmp/{}", "x".repeat(1_000));
    assert!(matches!(linked(&long, tmp.path()), Shown::Note(_)));
}

#[test]
fn no_symlink_is_followed() {
    let outside = tempfile::tempdir().unwrap();
    fs::create_dir(outside.path().join("dir")).unwrap();
    fs::write(outside.path().join("dir/secret.png"), PNG).unwrap();
    let tmp = outside.path().join("tmp");
    fs::create_dir(&tmp).unwrap();
    fs::write(tmp.join("real.png"), PNG).unwrap();
    symlink(outside.path().join("dir/secret.png"), tmp.join("absolute.png")).unwrap();
    symlink("../dir/secret.png", tmp.join("relative.png")).unwrap();
    symlink("../dir", tmp.join("up")).unwrap();
    symlink("real.png", tmp.join("inside.png")).unwrap();
    symlink("loop.png", tmp.join("loop.png")).unwrap();
    assert_eq!(linked("tmp/real.png", &tmp), png());
    for path in
        ["tmp/absolute.png", "tmp/relative.png", "tmp/up/secret.png", "tmp/inside.png", "tmp/loop.png"]
    {
        assert_eq!(linked(path, &tmp), not_shown(path, "its path goes through a symbolic link"), "{path}");
    }
    // The directory that the user named may itself be reached through one.
    let named = outside.path().join("named");
    symlink(&tmp, &named).unwrap();
    assert_eq!(linked("tmp/real.png", &named), png());
}

// rustix makes FIFOs on Linux only.
#[cfg(target_os = "linux")]
#[test]
fn a_fifo_or_socket_is_not_waited_for() {
    let tmp = tempfile::tempdir().unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, tmp.path().join("fifo.png"), rustix::fs::FileType::Fifo, mode, 0)
        .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(tmp.path().join("socket.png")).unwrap();
    for path in ["tmp/fifo.png", "tmp/socket.png"] {
        assert_eq!(linked(path, tmp.path()), not_shown(path, "it is not a regular file"), "{path}");
    }
}

/// A sparse file that begins like a PNG.
fn large_png(path: &std::path::Path, bytes: u64) {
    fs::write(path, PNG).unwrap();
    fs::File::options().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn linked_images_are_bounded() {
    let tmp = tempfile::tempdir().unwrap();
    large_png(&tmp.path().join("max.png"), 16_777_216);
    large_png(&tmp.path().join("over.png"), 16_777_217);
    assert!(
        matches!(linked("tmp/max.png", tmp.path()), Shown::Image { bytes, .. } if bytes.len() == 16_777_216)
    );
    let why = "it has 16,777,217 bytes, at most 16,777,216 bytes are shown";
    assert_eq!(linked("tmp/over.png", tmp.path()), not_shown("tmp/over.png", why));

    // Four of the largest are shown; after them there is no room for one more.
    let link = r#"{"type":"resource_link","uri":"volume:///tmp/max.png","name":"n"}"#;
    let shown = shown_of(&[link; 5].join(","), &Volume { tmp: Some(tmp.path()), data: None });
    assert!(shown[..4].iter().all(|shown| matches!(shown, Shown::Image { .. })));
    let why = "the files that this answer links to are too large together";
    assert_eq!(shown[4], not_shown("tmp/max.png", why));
}

#[test]
fn json_form() {
    let shown = [Shown::Text("a".into()), png(), note("b")];
    assert_eq!(
        serde_json::to_string(&shown).unwrap(),
        format!(
            r#"[{{"type":"text","text":"a"}},{{"type":"image","mimeType":"image/png","data":"{PNG_BASE64}"}},{{"type":"note","text":"b"}}]"#
        )
    );
}
