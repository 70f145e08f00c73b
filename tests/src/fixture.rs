//! Guests of `tests/fixtures`: WebAssembly text with directives in the comments of its head.
//!
//! - `;; expect: WORDS` – how it ends; once.
//! - `;; args: FLAGS` – more arguments for the command.
//! - `;; contains: WORDS` – what must be in the command's output; any number.
//! - `;; include: FILE` – the file of `fixtures/guest` (fields of a module) comes first, and the
//!   fixture's own text is fields of the same module; any number, in order.

use std::fs;

use crate::fixture_path;
use crate::package::Package;

/// One fixture, its directives read.
#[derive(Debug)]
pub struct Fixture {
    /// The file's name without `.wat`.
    pub name: String,
    /// The whole module as text.
    pub text: String,
    /// What `expect` says.
    pub expect: String,
    /// What `args` says, word by word.
    pub args: Vec<String>,
    /// What each `contains` says.
    pub contains: Vec<String>,
}

impl Fixture {
    /// Reads `FOLDER/NAME.wat`.
    ///
    /// # Panics
    ///
    /// When it is absent, or a directive is unknown or missing.
    #[must_use]
    pub fn read(folder: &str, name: &str) -> Self {
        let read = |folder: &str, file: &str| {
            let path = fixture_path(folder).join(file);
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        let own = read(folder, &format!("{name}.wat"));
        let mut included = String::new();
        let mut fixture = Self {
            name: name.to_owned(),
            text: own.clone(),
            expect: String::new(),
            args: Vec::new(),
            contains: Vec::new(),
        };
        for line in own.lines().map_while(|line| line.strip_prefix(";; ")) {
            match line.split_once(": ").map(|(word, rest)| (word, rest.trim())) {
                Some(("expect", words)) => fixture.expect = words.to_owned(),
                Some(("args", flags)) => fixture.args.extend(flags.split(' ').map(str::to_owned)),
                Some(("contains", words)) => fixture.contains.push(words.to_owned()),
                Some(("include", file)) => included.push_str(&read("guest", file)),
                _ => {}
            }
        }
        if !included.is_empty() {
            fixture.text = format!("(module\n{included}{own})\n");
        }
        assert!(!fixture.expect.is_empty(), "{folder}/{name}.wat does not say what to expect");
        fixture
    }

    /// A package with it as the module, named after the fixture.
    #[must_use]
    pub fn package(&self) -> Package {
        Package::of_text(&self.name, &self.text)
    }
}
