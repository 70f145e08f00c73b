//! `module.wat`, assembled. What is in the module is not looked at: that is the check's.

use std::path::Path;

use subako_manifest::diagnostic::{Code, Diagnostic, Place, Refused};
use subako_manifest::package::{self, MODULE_FILE, MODULE_TEXT_FILE};
use subako_manifest::text::shown;

use crate::check::component_text;

/// The binary module of `text`; diagnostics call it `file`.
pub(super) fn assemble(text: &[u8], file: &str) -> Result<Vec<u8>, Refused> {
    let refused = |message| Diagnostic::error(Code::TextInvalid, MODULE_TEXT_FILE, message);
    if text.starts_with(b"\0asm") {
        return Err(refused(format!("`{MODULE_TEXT_FILE}` is a binary module, not text"))
            .at(Place::file(file))
            .hint(format!("name it `{MODULE_FILE}`"))
            .into());
    }
    if let Some(component) = component_text(text, file) {
        return Err(component.into());
    }
    let text = std::str::from_utf8(text).map_err(|error| -> Refused {
        refused(format!("`{MODULE_TEXT_FILE}` is not UTF-8 text"))
            .at(package::place_of(&text[..error.valid_up_to()], file))
            .into()
    })?;
    wat::Parser::new().parse_str(Some(Path::new(MODULE_TEXT_FILE)), text).map_err(|error| {
        let (said, line, column) = parts(&error.to_string());
        let message = format!("`{MODULE_TEXT_FILE}` is not valid WebAssembly text: {}", shown(&said));
        refused(message).at(Place { line, column, ..Place::file(file) }).into()
    })
}

/// What an error of `wat` says, with line and column: its text has them as
/// `… --> module.wat:3:10`, or ` at module.wat:3:10` where the line is long.
fn parts(error: &str) -> (String, Option<u64>, Option<u64>) {
    let position = format!("{MODULE_TEXT_FILE}:");
    let found = error.match_indices(&position).find_map(|(at, _)| {
        let said = error[..at].trim_end();
        let said = said.strip_suffix("-->").or_else(|| said.strip_suffix(" at"))?;
        let rest = error[at + position.len()..].lines().next()?;
        let (line, column) = rest.trim_end().split_once(':')?;
        Some((said.trim_end().to_owned(), line.parse().ok()?, column.parse().ok()?))
    });
    match found {
        Some((said, line, column)) => (said, Some(line), Some(column)),
        None => (error.to_owned(), None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &[u8]) -> (String, Option<u64>, Option<u64>) {
        let Refused(faults) = assemble(text, "greet/module.wat").unwrap_err();
        let [fault] = <[_; 1]>::try_from(faults).unwrap();
        let place = fault.place.unwrap();
        assert_eq!((fault.code, place.file.as_deref()), (Code::TextInvalid, Some("greet/module.wat")));
        (fault.message, place.line, place.column)
    }

    #[test]
    fn text_is_assembled() {
        assert_eq!(assemble(b"(module)", "m").unwrap(), b"\0asm\x01\0\0\0");
    }

    #[test]
    fn faults_have_line_and_column() {
        assert_eq!(
            refused(b"(module\n  (func\n    i32.frob))"),
            (
                "`module.wat` is not valid WebAssembly text: unknown operator or unexpected token".into(),
                Some(3),
                Some(5)
            )
        );
        let (_, line, column) = refused(b"(module (func call $absent))");
        assert_eq!((line, column), (Some(1), Some(20)));
        let long = format!("(module {}(frob))", " ".repeat(600));
        assert_eq!(refused(long.as_bytes()).1, Some(1));
        assert_eq!(refused(long.as_bytes()).2, Some(610));
    }

    #[test]
    fn a_component_is_told_as_that() {
        for text in
            ["(component)", ";; text\n( component $c)", "\u{feff}(; (; a ;) ;)(component\n(core module))"]
        {
            let Refused(faults) = assemble(text.as_bytes(), "greet/module.wat").unwrap_err();
            let [fault] = &faults[..] else { panic!("{text}") };
            assert_eq!(fault.code, Code::Component, "{text}");
            assert_eq!(fault.message, "`greet/module.wat` is the text of a component, not of a core module");
        }
        assert_eq!(refused(b"(components)").1, Some(1));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert_eq!(refused(b"\0asm\x01\0\0\0").0, "`module.wat` is a binary module, not text");
        let (message, line, column) = refused(b"(module\n \xff)");
        assert_eq!((&*message, line, column), ("`module.wat` is not UTF-8 text", Some(2), Some(2)));
    }
}
