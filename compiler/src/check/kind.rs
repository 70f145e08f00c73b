//! What kind of file it is: a core module and nothing else (ABI 1, "The module", row "Kind").
//!
//! A module begins with eight bytes: `\0asm`, a version of two bytes (1), and a layer of two
//! bytes (0 for a module, 1 for a component). Sections follow, each an id, a length and so many
//! bytes.

use subako_manifest::diagnostic::{Code, Diagnostic, Place};
use subako_manifest::text::{grouped, shown};
use wasmparser::BinaryReader;

const RULE: &str = "a package's module is a WebAssembly core module (ABI 1, \"The module\")";

const MAGIC: &[u8] = b"\0asm";
const HEADER_BYTES: usize = 8;

/// What keeps the file from being read as a module at all, if anything does.
pub(super) fn check(bytes: &[u8], file: &str) -> Option<Diagnostic> {
    let name = shown(file);
    let refuse = |code, offset: usize, message: String| {
        Diagnostic::error(code, name.as_str(), message).at(Place::file(file).at(offset as u64)).rule(RULE)
    };

    if bytes.is_empty() {
        return Some(refuse(Code::ModuleEmpty, 0, format!("`{name}` is empty")));
    }
    if bytes.len() < HEADER_BYTES && (MAGIC.starts_with(bytes) || bytes.starts_with(MAGIC)) {
        return Some(refuse(
            Code::ModuleTruncated,
            bytes.len(),
            format!("`{name}` ends within its header: it has {} bytes of 8", bytes.len()),
        ));
    }
    let (Some(header), true) = (bytes.first_chunk::<HEADER_BYTES>(), bytes.starts_with(MAGIC)) else {
        return Some(not_module(bytes, &name, refuse));
    };
    let version = u16::from_le_bytes([header[4], header[5]]);
    let layer = u16::from_le_bytes([header[6], header[7]]);
    match (version, layer) {
        (1, 0) => {}
        (_, 1) => {
            return Some(
                refuse(Code::Component, 4, format!("`{name}` is a component, not a core module"))
                    .hint(COMPONENT_HINT),
            );
        }
        _ => {
            let found = u32::from_le_bytes([header[4], header[5], header[6], header[7]]);
            return Some(refuse(
                Code::ModuleVersion,
                4,
                format!("`{name}` is WebAssembly of version {found}, only version 1 is known"),
            ));
        }
    }
    let cut = cut_section(bytes)?;
    Some(refuse(
        Code::ModuleTruncated,
        cut.offset,
        format!(
            "`{name}` ends within its {}: the section has {} bytes, the file has {} of them",
            cut.section,
            grouped(cut.length),
            grouped(cut.present)
        ),
    ))
}

const COMPONENT_HINT: &str = "build for WASI preview 1, whose programs are core modules: Rust \
    `cargo build --target wasm32-wasip1` (not `wasm32-wasip2`), wasi-sdk `--target=wasm32-wasip1`, \
    TinyGo `-target=wasip1`";

/// A section that says more bytes than the file has.
struct Cut {
    offset: usize,
    section: &'static str,
    length: u64,
    present: u64,
}

fn cut_section(bytes: &[u8]) -> Option<Cut> {
    let mut reader = BinaryReader::new(bytes, 0);
    reader.read_bytes(HEADER_BYTES).ok()?;
    while !reader.eof() {
        let offset = reader.original_position();
        let id = reader.read_u8().ok()?;
        let section = section_name(id)?;
        let Ok(length) = reader.read_var_u32() else {
            // A length that the file's end cuts is the cut section's; any other bad length is
            // left to validation.
            let rest = bytes.get(offset + 1..)?;
            let cut = rest.len() < 5 && rest.iter().all(|byte| byte & 0x80 != 0);
            return cut.then_some(Cut { offset, section, length: 0, present: 0 });
        };
        let present = reader.bytes_remaining();
        if (length as usize) > present {
            return Some(Cut { offset, section, length: length.into(), present: present as u64 });
        }
        reader.read_bytes(length as usize).ok()?;
    }
    None
}

fn section_name(id: u8) -> Option<&'static str> {
    Some(match id {
        0 => "custom section",
        1 => "type section",
        2 => "import section",
        3 => "function section",
        4 => "table section",
        5 => "memory section",
        6 => "global section",
        7 => "export section",
        8 => "start section",
        9 => "element section",
        10 => "code section",
        11 => "data section",
        12 => "data count section",
        13 => "tag section",
        _ => return None,
    })
}

/// Beginnings of files that end up in a module's place, what they are, and the mend.
const KNOWN: &[(&[u8], &str, Option<&str>)] = &[
    (b"\x7fELF", "an ELF file, native code", Some("build for `wasm32-wasip1` instead of this machine")),
    (b"MZ", "a Windows program", Some("build for `wasm32-wasip1` instead of this machine")),
    (
        b"\xcf\xfa\xed\xfe",
        "a Mach-O file, native code",
        Some("build for `wasm32-wasip1` instead of this machine"),
    ),
    (b"\xca\xfe\xba\xbe", "a Java class or a universal Mach-O file", None),
    (b"!<arch>\n", "a static library", Some("link it to a program: what the linker writes is the module")),
    (
        b"BC\xc0\xde",
        "LLVM bitcode",
        Some("it comes from `-emit-llvm`, or from `-flto` with `-c`: compile and link it to a program"),
    ),
    (b"\x1f\x8b", "gzip data", Some("unpack it with `gunzip`")),
    (b"\x28\xb5\x2f\xfd", "Zstandard data", Some("unpack it with `zstd -d`")),
    (b"\xfd7zXZ\0", "xz data", Some("unpack it with `unxz`")),
    (b"PK\x03\x04", "a zip", Some("put the module itself here; a package may be a zip as a whole")),
    (b"version https://git-lfs", "a Git LFS pointer", Some("fetch the file itself with `git lfs pull`")),
    (b"#!", "a script", None),
    (b"<", "a markup document, perhaps an error page", None),
];

fn not_module(bytes: &[u8], name: &str, refuse: impl Fn(Code, usize, String) -> Diagnostic) -> Diagnostic {
    if let Some(told) = component_text(bytes, name) {
        return told;
    }
    if is_text(bytes) {
        return refuse(Code::ModuleText, 0, format!("`{name}` is WebAssembly text, not a binary module"))
            .hint(
                "name the file `module.wat`, or assemble it: `wasm-tools parse module.wat -o module.wasm`",
            );
    }
    for (beginning, what, hint) in KNOWN {
        if bytes.starts_with(beginning) {
            return refuse(Code::NotModule, 0, format!("`{name}` is {what}, not a WebAssembly module"))
                .maybe_hint(hint.map(str::to_owned));
        }
    }
    refuse(
        Code::NotModule,
        0,
        format!("`{name}` is not a WebAssembly module: it does not begin with `\\0asm`"),
    )
}

/// The refusal of a component as text, if `bytes` are the text of one; diagnostics call it `file`.
pub(crate) fn component_text(bytes: &[u8], file: &str) -> Option<Diagnostic> {
    (first_word(bytes)? == b"component").then(|| {
        let name = shown(file);
        let message = format!("`{name}` is the text of a component, not of a core module");
        Diagnostic::error(Code::Component, name, message)
            .at(Place::file(file))
            .rule(RULE)
            .hint(COMPONENT_HINT)
    })
}

/// Whether the first thing after blanks and comments of the text format is a parenthesis.
pub(crate) fn is_text(bytes: &[u8]) -> bool {
    first_word(bytes).is_some()
}

/// The word behind the parenthesis that a text begins with, after blanks and comments; none for
/// what is no text.
fn first_word(bytes: &[u8]) -> Option<&[u8]> {
    let inside = skip_blanks(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)).strip_prefix(b"(");
    let Some(inside) = inside else {
        // Nothing but a comment.
        return bytes.trim_ascii_start().starts_with(b";;").then_some(b"");
    };
    let inside = skip_blanks(inside);
    let end = inside.iter().position(|byte| !byte.is_ascii_alphanumeric()).unwrap_or(inside.len());
    Some(&inside[..end])
}

/// What comes after the blanks and comments at the beginning of a text.
fn skip_blanks(mut rest: &[u8]) -> &[u8] {
    loop {
        rest = rest.trim_ascii_start();
        if rest.starts_with(b";;") {
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return b"" };
            rest = &rest[end..];
        } else if rest.starts_with(b"(;") {
            let mut depth = 0_u32;
            let mut at = 0;
            while at < rest.len() {
                if rest[at..].starts_with(b"(;") {
                    depth += 1;
                    at += 2;
                } else if rest[at..].starts_with(b";)") {
                    depth -= 1;
                    at += 2;
                    if depth == 0 {
                        break;
                    }
                } else {
                    at += 1;
                }
            }
            rest = &rest[at..];
        } else {
            return rest;
        }
    }
}
