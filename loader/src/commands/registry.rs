//! A bundle from a registry, for `install`: the index, what all targets share, and one artifact. It is
//! verified as a bundle from a file is.

use std::env;
use std::io;
use std::path::Path;

use subako_loader::bundle_file::BundleFile;
use subako_loader::pick::{HostCpu, pick};
use subako_loader::verify::{Trust, VerifiedBundle, verify};
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _, Refused};
use subako_manifest::index::Index;
use subako_manifest::progress::Silent;
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use subako_registry::credentials::{Credentials, config_path, read_password, stored};
use subako_registry::reference::{NotReference, Place, Reference, Repository, Version};
use subako_registry::registry::{Intent, Options, Registry, read_ca};
use subako_registry::{Error, Wanted, pull};

use super::program::in_file;
use super::{Stop, say, trust};
use crate::args::{self, Install};

/// Where Docker keeps credentials, if not in `~/.docker`.
const DOCKER_CONFIG: &str = "DOCKER_CONFIG";

/// Pulls a bundle and finds out who vouches for it.
pub(super) fn pulled(args: &Install, text: &str) -> Result<VerifiedBundle<BundleFile>, Stop> {
    let reference: Reference = text.parse().map_err(|error| not_reference(text, error))?;
    let Place::Registry(repository) = &reference.place else {
        return Err(not_reference(text, NotReference::Scheme));
    };
    let trust = trust::trust(&args.source)?;
    if !matches!(trust, Trust::Keys { .. }) && !matches!(reference.version, Version::Digest(_)) {
        return Err(unpinned(text));
    }
    let registry = Registry::new(repository, Intent::Pull, options(&args.registry, repository)?)?;
    let wanted = match &args.target {
        Some(target) => Wanted::Targets(vec![target.clone()]),
        None => Wanted::Picked(here),
    };
    let pulled = pull(&registry, &reference.version, &wanted, None, &Silent)?;
    for warning in &pulled.warnings {
        say(&warning.to_string());
    }
    let file = &args.source.bundle;
    let bundle = OpenBundle::open(BundleFile::Copied(pulled.bytes)).map_err(|error| in_file(&error, file))?;
    let bundle = verify(bundle, &trust).map_err(|error| in_file(&error, file))?;
    trust::tell(bundle.voucher(), &args.source, args.shared.verbose);
    if args.shared.verbose {
        say(&format!("pulled: {}", reference.at(pulled.manifest)));
    }
    Ok(bundle)
}

/// What runs on this host.
fn here(index: &Index) -> Result<Target, Refused> {
    match pick(index, &HostCpu::detect(), None) {
        Ok(pick) => Ok(pick.target().clone()),
        Err(error) => Err(Refused(error.diagnostics())),
    }
}

/// What the options mean for this repository.
fn options(typed: &args::Registry, repository: &Repository) -> Result<Options, Error> {
    let folder = env::var_os(DOCKER_CONFIG);
    let config = config_path(folder.as_deref().map(Path::new), env::home_dir().as_deref());
    let credentials = match (&typed.username, config) {
        (Some(username), _) => {
            let password = read_password("stdin", io::stdin())?;
            Some(Credentials::Basic { username: username.clone(), password })
        }
        (None, Some(config)) => stored(&config, &repository.host)?,
        (None, None) => None,
    };
    let ca = typed.ca_file.as_deref().map(read_ca).transpose()?;
    Ok(Options { plain_http: typed.plain_http, ca, credentials, ..Options::default() })
}

fn not_reference(text: &str, error: NotReference) -> Stop {
    let told = Diagnostic::error(Code::ReferenceInvalid, text, format!("`{}` {error}", shown(text)));
    Stop::one(told.hint("a bundle in a registry is `oci://HOST/REPOSITORY@sha256:…`"))
}

fn unpinned(text: &str) -> Stop {
    let text = shown(text);
    let message = format!("`{text}` has no digest, and no key is trusted: it could be any bundle");
    Stop::one(
        Diagnostic::error(Code::RegistryUnpinned, text, message)
            .rule("what runs is what somebody vouches for (docs/trust.md)")
            .hint("name the key that you trust with `--trust KEY.pub`; or accept, by `--allow-unsigned`, the one bundle of the `@sha256:…` that `subakoc publish` prints"),
    )
}
