//! The compile cache that builders share, from the command line: for `build` and `rebuild`.

use subako_compiler::precompile::{Farm, Place as Store, Use, unusable};
use subako_compiler::sign::Signing;
use subako_manifest::diagnostic::{Code, Diagnostic};
use subako_manifest::key::PublicKey;
use subako_registry::Error;
use subako_registry::layout::Layout;
use subako_registry::reference::Place;
use subako_registry::registry::{Intent, Options, Patience, Registry, read_ca};

use super::publish::not_reference;
use super::registry::kept;
use super::{Stop, signing};
use crate::args::{Connection, Sharing};

/// Where artifacts are shared, if anywhere. What is wrong with the command line is told; a place that
/// cannot be used is a warning.
pub(super) fn farm(
    typed: &Sharing,
    signing: Option<&Signing>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Farm>, Stop> {
    let (from, to) = (place(typed.cache_from.as_deref())?, place(typed.cache_to.as_deref())?);
    if from.is_none() && to.is_none() {
        let Connection { plain_http, ca_file } = &typed.connection;
        let idle = [(*plain_http, "--plain-http"), (ca_file.is_some(), "--ca-file")];
        return match idle.into_iter().find(|(given, _)| *given) {
            Some((_, flag)) => Err(of_no_registry(flag)),
            None => Ok(None),
        };
    }
    if to.is_some() && signing.is_none() {
        let message = "`--cache-to` has no key to sign with what is shared";
        return Err(no_key(
            "--cache-to",
            message,
            "give the builder's key with `--sign KEY.pem` or `--signer`",
        ));
    }
    if from.is_some() && signing.is_none() && typed.cache_trust.is_empty() {
        let message = "`--cache-from` has no key to believe what is there by";
        let hint = "name the builders' keys with `--cache-trust KEY.pub`, or sign with a key of your own (`--sign KEY.pem`), which is trusted";
        return Err(no_key("--cache-from", message, hint));
    }
    let trusted: Vec<PublicKey> =
        typed.cache_trust.iter().map(|path| signing::public_key(path)).collect::<Result<_, _>>()?;
    // A layout that both name is made before it is looked for.
    let to = open(to, Use::To, typed, warnings)?;
    let from = open(from, Use::From, typed, warnings)?;
    let signer = signing.map(|signing| signing.signer.clone());
    Ok(Some(Farm::new(from, to, trusted, signer)))
}

fn place(typed: Option<&str>) -> Result<Option<Place>, Stop> {
    let Some(text) = typed else { return Ok(None) };
    let hint = "a shared cache is `oci://HOST/REPOSITORY` or `dir:PATH`";
    text.parse().map(Some).map_err(|error| not_reference(text, error, hint))
}

fn open(
    place: Option<Place>,
    purpose: Use,
    typed: &Sharing,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Option<Store>, Stop> {
    let Some(place) = place else { return Ok(None) };
    let name = place.to_string();
    match store(&place, purpose, typed) {
        Ok(store) => Ok(Some(Store { name, store })),
        // A file that the user named.
        Err(error @ Error::Certificate { .. }) => Err(error.into()),
        Err(error) => {
            warnings.push(unusable(&name, purpose, &error));
            Ok(None)
        }
    }
}

fn store(
    place: &Place,
    purpose: Use,
    typed: &Sharing,
) -> Result<Box<dyn subako_registry::Store + Send>, Error> {
    let repository = match (place, purpose) {
        (Place::Directory(path), Use::From) => return Ok(Box::new(Layout::open(path)?)),
        (Place::Directory(path), Use::To) => return Ok(Box::new(Layout::create(path)?)),
        (Place::Registry(repository), _) => repository,
    };
    let intent = match purpose {
        Use::From => Intent::Pull,
        Use::To => Intent::Push,
    };
    let options = Options {
        plain_http: typed.connection.plain_http,
        ca: typed.connection.ca_file.as_deref().map(read_ca).transpose()?,
        credentials: kept(repository)?,
        patience: Patience::Short,
    };
    Ok(Box::new(Registry::new(repository, intent, options)?))
}

fn no_key(flag: &str, message: &str, hint: &str) -> Stop {
    Stop::Refused(vec![Diagnostic::error(Code::SharedCacheKey, flag, message).hint(hint)])
}

fn of_no_registry(flag: &str) -> Stop {
    let message = format!("`{flag}` is for a registry, and there is neither `--cache-from` nor `--cache-to`");
    Stop::Refused(vec![Diagnostic::error(Code::Usage, flag, message)])
}
