//! What must hold of the workspace itself; each assertion names the mend.

use std::fs;
use std::path::{Path, PathBuf};

use subako_manifest::diagnostic::Code;
use subako_manifest::index::ENGINE_VERSION;
use subako_manifest::tool::ToolSet;
use subako_tests::package::hello_bundle;
use subako_tests::programs::cargo;
use subako_tests::run::Run;
use subako_tests::workspace;

/// The crates that a package's normal dependencies are, itself included.
fn tree(package: &str) -> Vec<String> {
    tree_with(package, &[])
}

fn tree_with(package: &str, features: &[&str]) -> Vec<String> {
    let run = Run::of(cargo().arg("tree").args(features).args([
        "--locked",
        "--package",
        package,
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--format",
        "{p}",
    ]))
    .exits(0);
    let mut crates: Vec<String> =
        run.stdout.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect();
    crates.sort();
    crates.dedup();
    assert!(crates.iter().any(|name| name == package), "{run}");
    crates
}

#[test]
fn the_loader_has_no_compiler() {
    let compilers = [
        "cranelift-codegen",
        "regalloc2",
        "wasmtime-internal-cranelift",
        "wasmtime-internal-winch",
        "walrus",
    ];
    let slim = tree("subako-loader");
    for name in ["subako-registry", "ureq", "zip"] {
        assert!(
            !slim.iter().any(|it| it == name),
            "`{name}` is in the slim loader: it goes behind a feature"
        );
    }
    let with_registry = tree_with("subako-loader", &["--features", "registry"]);
    assert!(with_registry.iter().any(|name| name == "subako-registry"));
    for name in slim.into_iter().chain(with_registry) {
        assert!(
            !compilers.contains(&name.as_str()),
            "`{name}` is in the loader: find who asks for it with `cargo tree -p subako-loader -e normal -i {name}`"
        );
    }
}

#[test]
fn the_manifest_has_no_engine_and_no_network() {
    let refused = |name: &str| {
        [
            "wasmtime",
            "cranelift",
            "wasi",
            "tokio",
            "hyper",
            "rustls",
            "reqwest",
            "ureq",
            "socket2",
            "mio",
            "walrus",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
    };
    for name in tree("subako-manifest") {
        assert!(
            !refused(&name),
            "`{name}` is in subako-manifest: move what needs it to the loader or the compiler"
        );
    }
}

/// Every Rust file of the workspace's crates, by its path from the root.
fn sources() -> Vec<PathBuf> {
    fn list(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder can be listed") {
            let path = entry.expect("the folder can be listed").path();
            if path.is_dir() {
                list(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(workspace()).expect("it is in the workspace").to_owned());
            }
        }
    }
    let mut found = Vec::new();
    for folder in ["manifest", "registry", "loader", "compiler", "tests"] {
        list(&workspace().join(folder), &mut found);
    }
    found.sort();
    assert!(found.len() > 10, "the sources were not found");
    found
}

/// Where code may be that the compiler cannot check; docs/architecture.md has the argument for
/// each.
const UNCHECKED: &[&str] = &[
    "compiler/src/discover.rs",
    "compiler/src/precompile",
    "loader/src/main.rs",
    "loader/src/map.rs",
    "loader/src/signals.rs",
    "loader/src/start.rs",
    "loader/src/verify.rs",
];

#[test]
fn unsafe_is_where_it_is_argued_for() {
    let word = concat!("un", "safe");
    for path in sources() {
        let text = fs::read_to_string(workspace().join(&path)).expect("the source can be read");
        // Comments and the lint's name are not code.
        let found = text.lines().filter_map(|line| line.split("//").next()).any(|code| {
            [" {", " fn ", " impl ", " extern ", "("]
                .iter()
                .any(|next| code.contains(&format!("{word}{next}")))
        });
        let path = path.to_str().expect("sources have names in ASCII");
        assert!(
            !found || UNCHECKED.iter().any(|place| path.starts_with(place)),
            "{path} has {word} code: do without, or argue for it in docs/architecture.md and add it here"
        );
    }
}

#[test]
fn every_code_is_explained() {
    let page = fs::read_to_string(workspace().join("docs/errors.md")).expect("docs/errors.md is there");
    let mut sections: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("## ")?.split(' ').next()).collect();
    sections.retain(|word| word.starts_with('E') && word[1..].chars().all(|c| c.is_ascii_digit()));
    for code in Code::ALL {
        let found = sections.iter().filter(|section| **section == code.as_str()).count();
        assert_eq!(found, 1, "docs/errors.md needs one section `## {} {}`", code.as_str(), code.title());
    }
    for section in sections {
        assert!(
            Code::ALL.iter().any(|code| code.as_str() == section),
            "docs/errors.md has `{section}`, which is no code: take the section out"
        );
    }
}

/// The headings of a page.
fn headings(page: &str) -> Vec<String> {
    let text = fs::read_to_string(workspace().join(page)).unwrap_or_else(|error| panic!("{page}: {error}"));
    text.lines()
        .filter_map(|line| line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#')))
        .map(str::to_owned)
        .collect()
}

/// A source as one line, its comments and strings without the breaks in them.
fn unbroken(source: &str) -> String {
    let lines = source.lines().map(|line| {
        let line = line.trim().trim_end_matches('\\');
        line.trim_start_matches('/').trim_start_matches('!')
    });
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ").replace("\\\"", "\"")
}

/// The quoted sections right behind each place of `document` in `text`: `document, "A", "B"`.
fn sections<'t>(text: &'t str, document: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(document) {
        let mut rest = &text[at + document.len()..];
        while let Some((section, after)) = rest.strip_prefix(", \"").and_then(|rest| rest.split_once('"')) {
            found.push(section);
            rest = after;
        }
    }
    found
}

/// Whoever reads a rule can look up the section that it cites.
#[test]
fn cited_sections_are_there() {
    let mut pages = vec![("ABI 1".to_owned(), "docs/package.md".to_owned())];
    for entry in fs::read_dir(workspace().join("docs")).expect("docs is there") {
        let name =
            entry.expect("docs can be listed").file_name().into_string().expect("pages have plain names");
        if name.ends_with(".md") {
            pages.push((format!("docs/{name}"), format!("docs/{name}")));
        }
    }
    let mut cited = 0;
    for path in sources() {
        let text = unbroken(&fs::read_to_string(workspace().join(&path)).expect("the source can be read"));
        for (document, page) in &pages {
            let headings = headings(page);
            for section in sections(&text, document) {
                cited += 1;
                assert!(
                    headings.iter().any(|heading| heading == section),
                    "{} cites {document}, \"{section}\": {page} has no such heading",
                    path.display()
                );
            }
        }
    }
    assert!(cited > 20, "the citations were not found");
}

/// What the page for authors shows can be sent: each line of its JSON is JSON, and the tools keep
/// the rules.
#[test]
fn the_json_of_the_page_for_authors_is_right() {
    let page = fs::read_to_string(workspace().join("docs/package.md")).expect("docs/package.md is there");
    let (mut inside, mut listed) = (false, 0);
    for line in page.lines().map(str::trim_start) {
        if line.starts_with("```") {
            inside = line == "```json";
        } else if inside {
            let value: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            if value["result"].get("tools").is_some() {
                listed += 1;
                let tools = value["result"]["tools"].as_array().expect("an array");
                let raw = tools.iter().map(|tool| serde_json::value::to_raw_value(tool).expect("JSON"));
                let (tools, warnings) = ToolSet::check(raw.collect()).expect("the tools keep the rules");
                assert_eq!((tools.tools().len(), warnings), (1, vec![]));
            }
        }
    }
    assert_eq!(listed, 1);
}

/// The versions that the lock file has of a crate.
fn locked(name: &str) -> Vec<String> {
    let lock = fs::read_to_string(workspace().join("Cargo.lock")).expect("Cargo.lock is there");
    let name = format!("name = \"{name}\"");
    lock.split("[[package]]")
        .filter(|package| package.lines().any(|line| line == name))
        .filter_map(|package| {
            package.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'))
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_engine_is_the_one_in_the_lock_file() {
    let versions = locked("wasmtime");
    assert_eq!(versions, [ENGINE_VERSION], "set ENGINE_VERSION in manifest/src/index.rs to the lock file's");
}

#[test]
fn the_compiler_that_an_sbom_names_is_the_one_in_the_lock_file() {
    let source = fs::read_to_string(workspace().join("compiler/src/sbom.rs")).expect("the source is there");
    let version = locked("cranelift-codegen").join(", ");
    assert!(
        source.contains(&format!("const COMPILER_VERSION: &str = \"{version}\";")),
        "set COMPILER_VERSION in compiler/src/sbom.rs to the lock file's, {version}"
    );
}

/// A bundle says nothing of the machine that made it.
#[test]
fn a_bundle_has_no_machine_paths() {
    let bundle = hello_bundle();
    let mut paths = vec![workspace().to_path_buf(), std::env::temp_dir()];
    paths.push(bundle.path().parent().expect("a bundle is in a folder").to_owned());
    paths.extend(std::env::home_dir());
    for entry in bundle.entries() {
        for path in &paths {
            let needle = path.to_str().expect("the path is UTF-8").as_bytes();
            // `/` alone, as a home of no one, is everywhere.
            if needle.len() < 4 {
                continue;
            }
            let found = entry.bytes.windows(needle.len()).any(|window| window == needle);
            assert!(!found, "{} has the path {}", entry.name, path.display());
        }
    }
}
