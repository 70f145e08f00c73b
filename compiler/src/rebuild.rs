//! Rebuild: new artifacts for a bundle, from its own module. What an engine miscompiled, or what
//! another engine made, is replaced; everything else is kept byte for byte, the upload's digest
//! too.
//!
//! Discovery is not run again. The tools are what the module answered when the package was
//! uploaded: whoever signed the bundle signed those, callers were shown those, and the module that
//! answered them is the same byte for byte. The answer of another run – of a module that asks the
//! clock, say – would be another package under the same upload digest.
//!
//! Signatures are of the old index, which names the old artifacts: none is carried over.

use std::borrow::Cow;
use std::collections::BTreeMap;

use subako_loader::engine;
use subako_manifest::bundle::{self, MANIFEST, MODULE, OpenBundle, PACKAGE_DIR, SBOM, TOOLS};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place, Refused};
use subako_manifest::digest::Digest;
use subako_manifest::index::{Engine, Entry, Role};
use subako_manifest::key::KeyId;
use subako_manifest::package::{self, Manifest};
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use subako_manifest::tool::ToolSet;
use subako_manifest::trust::Moment;

use crate::check::check;
use crate::pack::{self, Bundle, Sources};
use crate::precompile::{self, Precompiled, precompile};
use crate::progress::Progress;
use crate::record::{self, Record, Step};
use crate::rewrite::{self, Passes, Strip, rewrite};
use crate::sbom::{Lineage, NotOurs};
use crate::sign::{self, Signing};

/// A bundle with new artifacts.
#[derive(Debug)]
pub struct Rebuilt {
    /// The new bundle.
    pub bundle: Bundle,
    /// Its artifacts, and how they came to be.
    pub precompiled: Precompiled,
    /// The package, as before.
    pub manifest: Manifest,
    /// Its tools, as before.
    pub tools: ToolSet,
    /// What was replaced.
    pub replaced: Replaced,
    /// The key that signed the new one.
    pub signed_by: Option<KeyId>,
}

/// A bundle that was rebuilt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// Its digest.
    pub digest: Digest,
    /// The engine of its artifacts.
    pub engine: Engine,
    /// The ids of the keys that had signed it, or so it said.
    pub signatures: Vec<String>,
}

/// Why there is no new bundle.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The bundle cannot be opened, or an entry is not what its index says.
    #[error(transparent)]
    Bundle(#[from] bundle::Error),
    /// Its manifest, its tools or its module break a rule.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The index says another thing than the entry that it is about.
    #[error("`bundle.json` has other {what} than `{path}`")]
    Disagrees {
        /// What the index has from the entry.
        what: &'static str,
        /// The entry.
        path: &'static str,
    },
    /// Its SBOM does not tell where the module comes from.
    #[error(transparent)]
    Sbom(#[from] NotOurs),
    /// A fault of this program.
    #[error(transparent)]
    Rewrite(#[from] rewrite::Error),
    /// An artifact could not be made.
    #[error(transparent)]
    Precompile(#[from] precompile::Error),
    /// The new bundle could not be written.
    #[error(transparent)]
    Pack(#[from] pack::Error),
    /// The new bundle could not be signed.
    #[error(transparent)]
    Sign(#[from] sign::Error),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Bundle(error) => error.diagnostics(),
            Self::Refused(refused) => refused.diagnostics(),
            Self::Disagrees { path, .. } => vec![
                Diagnostic::error(Code::RebuildDisagrees, *path, self.to_string())
                    .at(Place::file(bundle::INDEX))
                    .hint("`subakoc build` did not write it so: build the package again"),
            ],
            Self::Sbom(error) => vec![error.diagnostic()],
            Self::Rewrite(error) => error.diagnostics(),
            Self::Precompile(error) => error.diagnostics(),
            Self::Pack(error) => error.diagnostics(),
            Self::Sign(error) => error.diagnostics(),
        }
    }
}

/// The targets of a bundle's artifacts, in its order.
#[must_use]
pub fn targets<B: AsRef<[u8]>>(bundle: &OpenBundle<B>) -> Vec<Target> {
    bundle.index().artifacts().map(|(_, target)| target.clone()).collect()
}

/// Makes new artifacts for `targets`, in this order; no target comes twice. The old ones are not
/// read, whatever engine made them. `record` gets what each step did, also when a later one fails,
/// and its warnings say what is lost.
///
/// A bundle that has an SBOM gets a new one, made at `built`, where somebody wants that told.
///
/// Nobody vouches for the bundle here: its contents are compared with its index, and its module is
/// checked as an upload's is, but whose it is, the caller has to know.
///
/// # Errors
///
/// The first fault that is found.
pub fn rebuild<B: AsRef<[u8]>>(
    bundle: &OpenBundle<B>,
    targets: &[Target],
    settings: &precompile::Settings,
    signing: Option<&Signing>,
    built: Option<Moment>,
    progress: &dyn Progress,
    record: &mut Record,
) -> Result<Rebuilt, Error> {
    let index = bundle.index();
    record.step = Some(Step::Read);
    let entry = |path: &str| -> Result<Cow<'_, [u8]>, Error> {
        let absent = || bundle::Error::EntryAbsent { path: path.to_owned() };
        Ok(bundle.contents(bundle.entry(path).ok_or_else(absent)?)?)
    };
    let manifest_bytes = entry(MANIFEST)?;
    let tools_bytes = entry(TOOLS)?;
    let assets = assets(bundle)?;
    let sbom = match bundle.entry(SBOM) {
        Some(_) => Some(pack::Sbom { lineage: Lineage::from_sbom(&entry(SBOM)?)?, built }),
        None => None,
    };

    let (manifest, mut told) = package::parse(&manifest_bytes, MANIFEST)?;
    record.warnings.append(&mut told);
    record.package = Some(record::Package { manifest: manifest.clone(), upload: index.upload });
    let tools = ToolSet::from_json(&tools_bytes)?;
    // As `--no-rewrite` does: the module has been rewritten.
    let as_it_is = Passes { exports: false, unreachable: false, strip: Strip::None };
    let module = entry(MODULE)?.into_owned();
    let module = record.clocked(Step::Check, || check(module, MODULE))?;
    record.module = Some(record::Module::of(module.bytes(), module.imports()));
    let (module, _) = rewrite(module, &as_it_is)?;

    let names: Vec<&str> = tools.tools().iter().map(|tool| tool.name.as_str()).collect();
    for (same, what, path) in [
        (index.package == manifest.name, "names", MANIFEST),
        (index.tools == names, "tools", TOOLS),
        (index.imports == module.imports(), "imports", MODULE),
    ] {
        if !same {
            return Err(Error::Disagrees { what, path });
        }
    }

    let mut precompiled =
        record.clocked(Step::Precompile, || precompile(&module, targets, settings, progress))?;
    record.of_machine.append(&mut precompiled.warnings);
    record.origins.clone_from(&precompiled.origins);
    record.compiled = Some(precompiled.artifacts.iter().map(record::Compiled::of).collect());
    record.discovered = Some(tools.clone());
    let sources = Sources {
        package: &manifest.name,
        description: &manifest.description,
        manifest: &manifest_bytes,
        assets: &assets,
        upload: index.upload,
        module: module.bytes(),
        imports: module.imports(),
        artifacts: &precompiled.artifacts,
        tools: &tools_bytes,
        tool_names: names,
        compatibility: engine::compatibility(),
        sbom: sbom.as_ref(),
    };
    let mut rebuilt = record.clocked(Step::Pack, || sources.pack())?;
    record.packed = Some(record::Packed::of(&rebuilt));
    let mut signed_by = None;
    if let Some(signing) = signing {
        let key_id = record.clocked(Step::Sign, || sign::sign_packed(&mut rebuilt, signing))?;
        record.signed.push(key_id);
        signed_by = Some(key_id);
    }

    let signatures: Vec<String> = bundle.signatures().map(str::to_owned).collect();
    if let Some(first) = signatures.first() {
        let count = signatures.len();
        let message = format!(
            "`{}`{} does not sign the new bundle: its digest is another",
            shown(first),
            if count == 1 { String::new() } else { format!(" and {} more", count - 1) },
        );
        let hint = signing.is_none().then_some("sign the new one: `subakoc sign NEW --key KEY.pem`");
        let told = Diagnostic::warning(Code::RebuildUnsigned, first, message)
            .rule("a signature is of a bundle's index, which names each artifact by its digest (docs/bundle.md, \"Digests\")")
            .maybe_hint(hint.map(str::to_owned));
        record.warnings.push(told);
    }
    let replaced = Replaced { digest: bundle.digest(), engine: index.engine.clone(), signatures };
    Ok(Rebuilt { bundle: rebuilt, precompiled, manifest, tools, replaced, signed_by })
}

/// The assets by their paths in the package.
fn assets<B: AsRef<[u8]>>(bundle: &OpenBundle<B>) -> Result<BTreeMap<String, Vec<u8>>, bundle::Error> {
    let is_asset = |entry: &&Entry| entry.role == Role::Asset;
    let of = |entry: &Entry| {
        let path = entry.path.strip_prefix(PACKAGE_DIR).unwrap_or(&entry.path);
        Ok((path.to_owned(), bundle.contents(entry)?.into_owned()))
    };
    bundle.index().entries.iter().filter(is_asset).map(of).collect()
}
