//! `subakoc sign`.

use std::fs;
use std::path::Path;

use subako_compiler::sign;
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::Explain as _;
use subako_manifest::envelope::Envelope;
use subako_manifest::key::KeyId;

use super::inspect::{in_file, read};
use super::{Console, Stop, signing};
use crate::args::Sign;
use crate::output::Files;
use crate::report::sign::SignReport;

pub(super) fn run(args: &Sign, console: &Console) -> Result<u8, Stop> {
    let output = args.detached.as_ref().or(args.output.as_ref()).unwrap_or(&args.bundle);
    let destination = Files::from(args).destination(output)?;
    if args.key.is_none() {
        signing::no_passphrase(&args.signing.passphrase)?;
    }
    let bundle = open(&args.bundle)?;
    let (key_id, bytes) = match (args.remove, &args.attach) {
        (Some(key_id), _) => (key_id, sign::remove(&bundle, key_id)?),
        (None, Some(path)) => {
            let envelope = envelope(path, &bundle)?;
            (envelope.key_id(), sign::attach(&bundle, &envelope)?)
        }
        (None, None) => signed(args, &bundle)?,
    };
    destination.write(&bytes)?;
    console.summarise(&SignReport::new(args, output, bytes.len(), bundle.digest(), key_id))?;
    Ok(0)
}

fn signed(args: &Sign, bundle: &OpenBundle<Vec<u8>>) -> Result<(KeyId, Vec<u8>), Stop> {
    let signing = signing::signing(args.key.as_deref(), &args.signing, None)?;
    let envelope = sign::sign(bundle, &signing)?;
    let bytes = match args.detached {
        Some(_) => envelope.to_json(),
        None => sign::attach(bundle, &envelope)?,
    };
    Ok((envelope.key_id(), bytes))
}

/// Opens a bundle whose every entry is what its index says: nobody should sign another.
fn open(path: &Path) -> Result<OpenBundle<Vec<u8>>, Stop> {
    let here = |diagnostics| in_file(path, diagnostics);
    let bundle = OpenBundle::open(read(path)?).map_err(|error| here(error.diagnostics()))?;
    let contents = bundle.present().map(|entry| bundle.contents(entry));
    let faults: Vec<_> = contents.filter_map(Result::err).flat_map(|error| error.diagnostics()).collect();
    if faults.is_empty() { Ok(bundle) } else { Err(here(faults)) }
}

/// A signature that was made elsewhere for this bundle.
pub(super) fn envelope<B: AsRef<[u8]>>(path: &Path, bundle: &OpenBundle<B>) -> Result<Envelope, Stop> {
    let bytes = fs::read(path).map_err(|source| sign::Error::Read { path: path.to_owned(), source })?;
    Ok(sign::read_envelope(&path.to_string_lossy(), &bytes, bundle)?)
}
