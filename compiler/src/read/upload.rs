//! From listed files to an [`Upload`]: which file is the manifest, which the module, and what
//! the rest is.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::IgnoredAny;
use subako_manifest::bundle::{INDEX, TOOLS};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _, Place, Refused};
use subako_manifest::digest::Digest;
use subako_manifest::package::{self, MANIFEST_FILE, MODULE_FILE, MODULE_TEXT_FILE, Manifest};
use subako_manifest::text::{grouped, shown};

use super::listing::Listing;
use super::{Error, PACKAGE_RULE, file_of, module_text};

/// What makes a package from its sources, in the examples and by custom.
const BUILD_SCRIPT: &str = "build.sh";

/// Faults of one package that are told one by one; a hostile zip can have tens of thousands.
const MAX_FAULTS: usize = 100;

/// A package as read: bytes within the limits, paths that stay inside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// The manifest, its rules checked.
    pub manifest: Manifest,
    /// The manifest as the author wrote it.
    pub manifest_bytes: Vec<u8>,
    /// The module in binary; `module.wat` is assembled already.
    pub module: Vec<u8>,
    /// How diagnostics call the module's file: `greet/module.wasm`.
    pub module_file: String,
    /// The digest of that file as it was given.
    pub module_digest: Digest,
    /// Every other file, by its path in the package.
    pub assets: BTreeMap<String, Vec<u8>>,
    /// The digest over all files as they were given; see
    /// [`Index::upload`](subako_manifest::index::Index::upload).
    pub digest: Digest,
    /// What is said of the package and does not refuse it.
    pub warnings: Vec<Diagnostic>,
}

/// Reads the listed files by `contents` and makes an upload of them.
pub(super) fn assemble<Source>(
    mut listing: Listing<'_, Source>,
    contents: impl Fn(&str, &Source) -> Result<Vec<u8>, Error>,
) -> Result<Upload, Error> {
    let package = listing.package;
    if let Some(bundle) = bundle(&listing, &contents) {
        return Err(bundle.into());
    }
    let mut faults = std::mem::take(&mut listing.faults);
    faults.extend(absent(&listing));
    // A file whose bytes are refused adds its faults; a disk that fails ends the step.
    let read = |name: &str, faults: &mut Vec<Diagnostic>| {
        let Some(source) = listing.files.get(name) else { return Ok(None) };
        match contents(name, source) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Error::Refused(refused)) => {
                faults.extend(refused.0);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    };

    let mut warnings = Vec::new();
    let manifest_bytes = read(MANIFEST_FILE, &mut faults)?;
    let manifest = manifest_bytes.as_deref().and_then(|bytes| {
        match package::parse(bytes, &file_of(package, MANIFEST_FILE)) {
            Ok((manifest, more)) => {
                warnings.extend(more);
                Some(manifest)
            }
            Err(refused) => {
                faults.extend(refused.diagnostics());
                None
            }
        }
    });

    let binary = read(MODULE_FILE, &mut faults)?;
    let text = read(MODULE_TEXT_FILE, &mut faults)?;
    let module_name = if binary.is_some() { MODULE_FILE } else { MODULE_TEXT_FILE };
    let module_file = file_of(package, module_name);
    // Both of them is a fault already.
    let given = binary.or(text);
    let given_digest = given.as_deref().map(Digest::of);
    let module = match given {
        Some(text) if module_name == MODULE_TEXT_FILE => match module_text::assemble(&text, &module_file) {
            Ok(module) => Some(module),
            Err(refused) => {
                faults.extend(refused.0);
                None
            }
        },
        given => given,
    };

    let mut assets = BTreeMap::new();
    // With sums beyond the limits nothing more is read.
    if !faults.iter().any(|fault| matches!(fault.code, Code::TotalBytesLimit | Code::FilesLimit)) {
        for name in listing.files.keys() {
            if matches!(name.as_str(), MANIFEST_FILE | MODULE_FILE | MODULE_TEXT_FILE) {
                continue;
            }
            if let Some(bytes) = read(name, &mut faults)?
                // To find more faults is all that is left to do.
                && faults.is_empty()
            {
                assets.insert(name.clone(), bytes);
            }
        }
    }

    match (manifest, manifest_bytes, module, given_digest) {
        (Some(manifest), Some(manifest_bytes), Some(module), Some(given_digest)) if faults.is_empty() => {
            let mut digests: BTreeMap<&str, Digest> =
                assets.iter().map(|(name, bytes)| (name.as_str(), Digest::of(bytes))).collect();
            digests.insert(MANIFEST_FILE, Digest::of(&manifest_bytes));
            digests.insert(module_name, given_digest);
            let digest = digest_of(&digests);
            let module_digest = given_digest;
            Ok(Upload {
                manifest,
                manifest_bytes,
                module,
                module_file,
                module_digest,
                assets,
                digest,
                warnings,
            })
        }
        _ => Err(Refused(cut(faults, package)).into()),
    }
}

/// What every version of a bundle's index has, and an asset of the same name hardly.
#[derive(Deserialize)]
struct IndexLike {
    #[serde(rename = "format")]
    _format: u64,
    #[serde(rename = "engine")]
    _engine: BTreeMap<String, IgnoredAny>,
    #[serde(rename = "entries")]
    _entries: Vec<IgnoredAny>,
}

/// The refusal of a bundle, which has all the files of a package, and of what was unpacked from one.
fn bundle<Source>(
    listing: &Listing<'_, Source>,
    contents: impl Fn(&str, &Source) -> Result<Vec<u8>, Error>,
) -> Option<Diagnostic> {
    let index = listing.files.get(INDEX).filter(|_| listing.files.contains_key(TOOLS))?;
    // A file that cannot be read is told as that, later.
    let index = contents(INDEX, index).ok()?;
    serde_json::from_slice::<IndexLike>(&index).ok()?;
    let package = listing.package;
    let message = format!("`{}` is a bundle, not a package", shown(package));
    Some(
        Diagnostic::error(Code::PackageBundle, package, message)
            .at(Place::file(package))
            .rule(PACKAGE_RULE)
            .hint(
                "build from the package that it was made from; `subakoc inspect` shows what a bundle holds",
            ),
    )
}

/// What must be at the root and is not.
fn absent<Source>(listing: &Listing<'_, Source>) -> Vec<Diagnostic> {
    let package = listing.package;
    let place = Place::file(package);
    let has = |name: &str| listing.files.contains_key(name) || listing.refused.contains(name);
    let (binary, text) = (has(MODULE_FILE), has(MODULE_TEXT_FILE));
    if let Some(folder) = &listing.folder {
        let message = format!("`{}` has all its content in the folder `{}`", shown(package), shown(folder));
        return vec![
            Diagnostic::error(Code::PackageNested, package, message)
                .rule(PACKAGE_RULE)
                .hint("give the folder itself, or zip what is in it: `cd FOLDER && zip -r ../PACKAGE.zip .`"),
        ];
    }
    let mut faults = Vec::new();
    let fault = |code, subject: &str, what: String| {
        let message = format!("`{}` {what}", shown(package));
        Diagnostic::error(code, subject, message).at(place.clone()).rule(PACKAGE_RULE)
    };
    if !has(MANIFEST_FILE) {
        faults.push(fault(Code::ManifestAbsent, MANIFEST_FILE, format!("has no `{MANIFEST_FILE}`")));
    }
    if !binary && !text {
        let what = format!("has neither `{MODULE_FILE}` nor `{MODULE_TEXT_FILE}`");
        faults.push(fault(Code::ModuleAbsent, MODULE_FILE, what).maybe_hint(of_module_absent(listing)));
    }
    if binary && text {
        let what = format!("has both `{MODULE_FILE}` and `{MODULE_TEXT_FILE}`");
        faults.push(fault(Code::ModuleTwice, MODULE_FILE, what));
    }
    faults
}

/// Where the module is that has still to be made or moved.
fn of_module_absent<Source>(listing: &Listing<'_, Source>) -> Option<String> {
    if listing.files.contains_key(BUILD_SCRIPT) {
        let script = shown(&file_of(listing.package, BUILD_SCRIPT));
        return Some(format!("it has a `{BUILD_SCRIPT}`: run `{script} OUT`, then build OUT"));
    }
    let other = listing.files.keys().find(|name| name.ends_with(".wasm"))?;
    Some(format!("if `{}` is the module, name it `{MODULE_FILE}`, beside `{MANIFEST_FILE}`", shown(other)))
}

fn cut(mut faults: Vec<Diagnostic>, package: &str) -> Vec<Diagnostic> {
    let more = faults.len().saturating_sub(MAX_FAULTS);
    if more > 0 {
        faults.truncate(MAX_FAULTS);
        let message =
            format!("`{}` has {} more faults, which are not shown", shown(package), grouped(more as u64));
        faults.push(Diagnostic::error(Code::FaultsOmitted, package, message));
    }
    faults
}

/// The digest over one line a file, as `sha256sum` prints them.
fn digest_of(digests: &BTreeMap<&str, Digest>) -> Digest {
    let mut lines = String::new();
    for (name, digest) in digests {
        // Writing to a string does not fail.
        let _ = writeln!(lines, "{}  {name}", digest.hex());
    }
    Digest::of(lines.as_bytes())
}
