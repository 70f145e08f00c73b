//! What a command runs: a bundle's file, or an installed bundle.

use std::path::{Path, PathBuf};

use subako_loader::bundle_file::BundleFile;
use subako_loader::cache::{Cache, Installed, Reference};
use subako_loader::map::{MappedModule, map};
use subako_loader::package_files;
use subako_loader::pick::{HostCpu, Pick, pick_present};
use subako_loader::scratch::Scratch;
use subako_loader::signals::Interrupt;
use subako_loader::timings;
use subako_loader::verify::{VerifiedArtifact, VerifiedBundle, verify};
use subako_manifest::bundle::{OpenBundle, TOOLS};
use subako_manifest::diagnostic::{Code, Diagnostic, Explain, Place};
use subako_manifest::digest::Digest;
use subako_manifest::target::Target;
use subako_manifest::text::shown;

use super::{Stop, say, trust, unreadable};
use crate::args::{self, Bounds, Source};

/// A bundle that somebody vouches for, wherever it is.
pub(super) enum Opened {
    /// In a file.
    File(Box<VerifiedBundle<BundleFile>>, PathBuf),
    /// In the cache.
    Installed(Box<Installed>),
}

/// What runs.
pub(super) struct Program {
    pub(super) package: String,
    pub(super) module: MappedModule,
    /// The directory behind `/package`: the cache's, or unpacked for this call.
    pub(super) assets: Option<PathBuf>,
    /// What was made for it.
    pub(super) scratch: Scratch,
    /// The signals that end its call.
    pub(super) interrupt: Interrupt,
}

/// Opens what the user named: `sha256:…` and `name:…` are installed bundles, anything else is a
/// file.
pub(super) fn open(source: &Source, verbose: bool) -> Result<Opened, Stop> {
    match reference(&source.bundle)? {
        Some(reference) => open_installed(source, &reference),
        None => Ok(Opened::File(Box::new(open_file(source, verbose)?), source.bundle.clone())),
    }
}

/// Opens a bundle's file and finds out who vouches for it.
pub(super) fn open_file(source: &Source, verbose: bool) -> Result<VerifiedBundle<BundleFile>, Stop> {
    let trust = trust::trust(source)?;
    let file = BundleFile::open(&source.bundle).map_err(unreadable(&source.bundle, Code::BundleAbsent))?;
    timings::mark("open");
    let bundle = OpenBundle::open(file).map_err(|error| in_file(&error, &source.bundle))?;
    timings::mark("index");
    let bundle = verify(bundle, &trust).map_err(|error| in_file(&error, &source.bundle))?;
    timings::mark("signature");
    trust::tell(bundle.voucher(), source, verbose);
    Ok(bundle)
}

fn open_installed(source: &Source, reference: &Reference) -> Result<Opened, Stop> {
    let installed = Cache::open_existing(&args::cache_dir(source.cache_dir.as_deref())?)?.find(reference)?;
    trust::ask_again(source, installed.record())?;
    timings::mark("record");
    Ok(Opened::Installed(Box::new(installed)))
}

/// An installed bundle's reference, where the user gave one.
fn reference(given: &Path) -> Result<Option<Reference>, Stop> {
    let Some(text) = given.to_str() else { return Ok(None) };
    let wrong = |why: String| {
        Stop::one(
            Diagnostic::error(Code::Usage, text, why)
                .hint("an installed bundle is `sha256:…` with 64 digits, or `name:PACKAGE`; for a file of that name, give `./…`"),
        )
    };
    if text.starts_with("sha256:") {
        let digest = text.parse::<Digest>().map_err(|error| wrong(error.to_string()))?;
        return Ok(Some(Reference::Digest(digest)));
    }
    match text.strip_prefix("name:") {
        None => Ok(None),
        Some(name) if Reference::is_name(name) => Ok(Some(Reference::Name(name.to_owned()))),
        Some(name) => Err(wrong(format!("`{}` is not a package's name", shown(name)))),
    }
}

impl Opened {
    /// The package's name.
    pub(super) fn package(&self) -> &str {
        match self {
            Self::File(bundle, _) => &bundle.index().package,
            Self::Installed(installed) => &installed.record().package,
        }
    }

    /// The names of the tools.
    pub(super) fn tool_names(&self) -> &[String] {
        match self {
            Self::File(bundle, _) => &bundle.index().tools,
            Self::Installed(installed) => &installed.record().tools,
        }
    }

    /// The bytes of `tools.json`.
    pub(super) fn tools(&self) -> Result<Vec<u8>, Stop> {
        match self {
            Self::Installed(installed) => Ok(installed.tools()?),
            Self::File(bundle, path) => {
                let entry = bundle.index().entries.iter().find(|entry| entry.path == TOOLS);
                // The bundle's reader refuses an index without it.
                let Some(entry) = entry else { return Ok(Vec::new()) };
                let bytes = bundle.contents(entry).map_err(|error| in_file(&error, path))?;
                Ok(bytes.into_owned())
            }
        }
    }

    /// Loads what runs on this host.
    pub(super) fn load(&self, bounds: &Bounds, verbose: bool) -> Result<Program, Stop> {
        let target = bounds.target.as_ref();
        let artifact = match self {
            Self::File(bundle, path) => picked(bundle, path, target, verbose)?,
            Self::Installed(installed) => installed_artifact(installed, target, verbose)?,
        };
        let module = map(artifact)?;
        timings::mark("code");
        // Before anything is made. A call that makes no file may be ended anywhere.
        let interrupt = match module.reaches_files() || !bounds.skills.is_empty() {
            true => Interrupt::caught()?,
            false => Interrupt::default(),
        };
        let scratch = Scratch::default();
        let assets = match self {
            _ if !module.reaches_files() => None,
            Self::File(bundle, path) => unpacked(bundle, path, &scratch)?,
            Self::Installed(installed) => installed.package(),
        };
        timings::mark("assets");
        Ok(Program { package: self.package().to_owned(), module, assets, scratch, interrupt })
    }
}

fn unpacked(
    bundle: &VerifiedBundle<BundleFile>,
    path: &Path,
    scratch: &Scratch,
) -> Result<Option<PathBuf>, Stop> {
    let assets = package_files::assets(bundle).map_err(|error| in_file(&error, path))?;
    match assets.is_empty() {
        true => Ok(None),
        false => Ok(Some(package_files::write(&assets, scratch)?)),
    }
}

/// Picks the artifact of a file for this host.
pub(super) fn picked_for_host(
    bundle: &VerifiedBundle<BundleFile>,
    path: &Path,
    target: Option<&Target>,
    verbose: bool,
) -> Result<Pick, Stop> {
    let host = HostCpu::detect();
    let pick = pick_present(bundle.index(), |entry| bundle.has(entry), &host, target)
        .map_err(|error| in_file(&error, path))?;
    if verbose {
        say(&format!("this host is {host}"));
        for (target, reason) in pick.passed_over() {
            say(&format!("passed over: {target}: {reason}"));
        }
    }
    Ok(pick)
}

fn picked(
    bundle: &VerifiedBundle<BundleFile>,
    path: &Path,
    target: Option<&Target>,
    verbose: bool,
) -> Result<VerifiedArtifact, Stop> {
    let pick = picked_for_host(bundle, path, target, verbose)?;
    timings::mark("pick");
    let artifact = bundle.artifact(&pick).map_err(|error| in_file(&error, path))?;
    timings::mark("map and digest");
    if verbose {
        say(&format!("runs: {} of bundle {}", pick.target(), bundle.digest()));
    }
    Ok(artifact)
}

fn installed_artifact(
    installed: &Installed,
    target: Option<&Target>,
    verbose: bool,
) -> Result<VerifiedArtifact, Stop> {
    let record = installed.record();
    if let Some(asked) = target.filter(|asked| **asked != record.target) {
        let message = format!("`{asked}` is not what is installed, which is `{}`", record.target);
        return Err(Stop::one(
            Diagnostic::error(Code::NoArtifact, asked.to_string(), message)
                .hint(format!("`subako-loader install --target {asked} BUNDLE` installs it")),
        ));
    }
    if verbose {
        say(&format!("runs: {} of installed bundle {}", record.target, record.digest));
    }
    let artifact = installed.artifact()?;
    timings::mark("pick");
    Ok(artifact)
}

/// The diagnostics of an error, with the file that they are about.
pub(super) fn in_file(error: &impl Explain, file: &Path) -> Stop {
    let mut diagnostics = error.diagnostics();
    for diagnostic in &mut diagnostics {
        let place = diagnostic.place.get_or_insert_with(Place::default);
        place.file = Some(match place.file.take() {
            Some(entry) => format!("{}: {entry}", file.display()),
            None => file.display().to_string(),
        });
    }
    Stop::Refused(diagnostics)
}
