//! `subakoc verify`: what the loader does before it runs a bundle, by the loader's own code.

use std::env;
use std::fs;
use std::path::PathBuf;

use subako_compiler::sign;
use subako_loader::verify::{TRUST_VARIABLE, Trust, clock, verify};
use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _};
use subako_manifest::trust;

use super::inspect::{in_file, read};
use super::sign::envelope;
use super::{Console, Stop};
use crate::args::Verify;
use crate::report::verify::VerifyReport;

pub(super) fn run(args: &Verify, console: &Console) -> Result<u8, Stop> {
    let keys = trusted(args)?;
    let here = |diagnostics| in_file(&args.bundle, diagnostics);
    let bytes = read(&args.bundle)?;
    let size = bytes.len();
    let bundle = OpenBundle::open(bytes).map_err(|error| here(error.diagnostics()))?;
    let detached =
        args.signatures.iter().map(|path| envelope(path, &bundle)).collect::<Result<Vec<_>, _>>()?;
    let trust = Trust::Keys { keys, detached, now: clock()? };
    let bundle = verify(bundle, &trust).map_err(|error| here(error.diagnostics()))?;
    bundle.check_entries().map_err(|error| here(error.diagnostics()))?;
    console.summarise(&VerifyReport::new(&args.bundle, size, &bundle))?;
    Ok(0)
}

fn trusted(args: &Verify) -> Result<trust::Trust, Stop> {
    let mut paths = args.trust.clone();
    if paths.is_empty() {
        paths.extend(env::var_os(TRUST_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from));
    }
    if paths.is_empty() {
        let message = "`--trust` is not given: there is no key to verify by";
        let hint = format!(
            "name the key that you trust with `--trust KEY.pub`, or a trust file in {TRUST_VARIABLE}"
        );
        return Err(Stop::Refused(vec![Diagnostic::error(Code::Usage, "--trust", message).hint(hint)]));
    }
    let mut files = Vec::new();
    for path in paths {
        let bytes = fs::read(&path).map_err(|source| sign::Error::Read { path: path.clone(), source })?;
        files.push((path.to_string_lossy().into_owned(), bytes));
    }
    Ok(trust::Trust::from_files(&files)?)
}
