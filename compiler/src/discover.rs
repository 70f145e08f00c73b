//! Runs a package once to learn its tools, as an upload does (ABI 1, "When a package is
//! uploaded"): through the loader's own host, with ten seconds from the module's start, no
//! volume, no network, and `/package` only when the package has assets.

mod crash;
mod questions;

use subako_loader::call::{self, CallSetup, Conversation, Preopens};
use subako_loader::map;
use subako_loader::package_files;
use subako_loader::verify::{ArtifactError, VerifiedArtifact};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place, Refused};
use subako_manifest::limits;
use subako_manifest::tool::ToolSet;

use crate::precompile::Artifact;
use crate::read::Upload;
use crate::unfinished::RunDirectory;
use questions::Step;

/// What a package told of itself.
#[derive(Debug, Clone)]
pub struct Discovered {
    /// Its tools, all pages of them.
    pub tools: ToolSet,
    /// Where a strict MCP client would stumble although ABI 1 does not mind.
    pub warnings: Vec<Diagnostic>,
}

/// Why a package's tools are not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The module crashed, or what it answered breaks a rule.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The assets could not be put where the module can see them.
    #[error(transparent)]
    Assets(#[from] package_files::Error),
    /// There is no memory for the artifact.
    #[error(transparent)]
    Artifact(#[from] ArtifactError),
    /// The artifact cannot be run on this machine.
    #[error(transparent)]
    Map(#[from] map::Error),
    /// The host could not make the call.
    #[error(transparent)]
    Call(#[from] call::Error),
}

impl Explain for Error {
    fn diagnostics(&self) -> Vec<Diagnostic> {
        match self {
            Self::Refused(refused) => refused.diagnostics(),
            Self::Assets(error) => error.diagnostics(),
            Self::Artifact(error) => error.diagnostics(),
            Self::Map(error) => error.diagnostics(),
            Self::Call(error) => error.diagnostics().into_iter().map(for_build).collect(),
        }
    }
}

/// A call's fault, for somebody who builds: there is no option for the memory of a discovery.
fn for_build(mut told: Diagnostic) -> Diagnostic {
    if told.code == Code::MemoryMinimum {
        told.hint = Some(
            "build the module with a smaller initial memory (wasm-ld: `--initial-memory=BYTES`), and let it \
             grow when it needs more"
                .to_owned(),
        );
    }
    told
}

/// Learns the tools of `upload` by running its `artifact`, which must be one for this host.
///
/// # Errors
/// When the module crashes or answers wrongly, with the end of its stderr; when its tools break
/// a rule, with all that do; when the machine fails.
pub fn discover(artifact: &Artifact, upload: &Upload) -> Result<Discovered, Error> {
    let assets: Vec<(&str, &[u8])> =
        upload.assets.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice())).collect();
    let package = match assets.is_empty() {
        true => None,
        false => Some(unpacked(&assets)?),
    };
    let setup = CallSetup {
        time: limits::DISCOVERY_TIME,
        preopens: Preopens {
            package: package.as_ref().map(|directory| directory.path().to_owned()),
            ..Preopens::default()
        },
        ..CallSetup::new(&upload.manifest.name)
    };
    // SAFETY: an `Artifact` is what this program's own child process has compiled, by the
    // settings that the loader's engine has, from a module that was checked; or what it had compiled
    // before and kept where nobody else may write; or what a builder whose key the user trusts for
    // that has signed as compiled so, from this module by this engine.
    #[expect(unsafe_code, reason = "the one place where code runs that is in no bundle yet")]
    let artifact = unsafe { VerifiedArtifact::built_here(&artifact.bytes, artifact.target.clone()) }?;
    let module = map::map(artifact)?;
    let next = Box::new(|results: &[_]| match questions::next(results) {
        Step::Ask(request) => Some(request),
        Step::Listed(_) | Step::Refused(_) => None,
    });
    let conversation = call::converse(&module, &setup, next)?;
    Ok(judged(conversation, &upload.module_file)?)
}

/// The assets as a directory, for the time of the run.
fn unpacked(assets: &[(&str, &[u8])]) -> Result<RunDirectory, package_files::Error> {
    let directory = RunDirectory::new("subako-package-")
        .map_err(|source| package_files::Error::Write { path: std::env::temp_dir(), source })?;
    package_files::fill(directory.path(), assets)?;
    Ok(directory)
}

/// What a conversation tells, with all its faults: those of the answers, of the tools, and of
/// how the module ended.
fn judged(conversation: Conversation, file: &str) -> Result<Discovered, Refused> {
    let Conversation { results, crash, .. } = conversation;
    let mut faults = Vec::new();
    let mut warnings = questions::strict_warnings(&results);
    let mut found = None;
    let mut open = None;
    match questions::next(&results) {
        Step::Ask(request) => open = Some(request.method),
        Step::Refused(wrong) => faults.extend(wrong),
        Step::Listed(tools) => match ToolSet::check(tools) {
            Ok((tools, more)) => {
                warnings.extend(more);
                found = Some(tools);
            }
            Err(Refused(wrong)) => faults.extend(wrong),
        },
    }
    if let Some(crash) = crash {
        faults.push(crash::told(&crash, open, file));
    } else if let Some(method) = open {
        faults.push(crash::unanswered(method, file));
    }
    for diagnostic in faults.iter_mut().chain(&mut warnings) {
        diagnostic.place.get_or_insert_with(|| Place::file(file));
    }
    match found {
        Some(tools) if faults.is_empty() => Ok(Discovered { tools, warnings }),
        _ => Err(Refused(faults)),
    }
}

#[cfg(test)]
mod tests;
