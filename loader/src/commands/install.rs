//! `subako-loader install`.

use serde_json::json;
use subako_loader::bundle_file::BundleFile;
use subako_loader::cache::Cache;
use subako_loader::verify::VerifiedBundle;

use super::program::{in_file, open_file, picked_for_host};
use super::{ANSWERED, Stop, print, print_json};
use crate::args::{self, Format, Install};

/// What a bundle in a registry begins with.
const REGISTRY: &str = "oci://";

pub(super) fn run(args: &Install) -> Result<u8, Stop> {
    let bundle = open(args)?;
    bundle.check_entries().map_err(|error| in_file(&error, &args.source.bundle))?;
    let pick = picked_for_host(&bundle, &args.source.bundle, args.target.as_ref(), args.shared.verbose)?;
    let cache = Cache::open(&args::cache_dir(args.source.cache_dir.as_deref())?)?;
    let installed = cache.install(&bundle, &pick)?;
    let record = installed.record();
    match args.shared.format {
        Format::Json => print_json(&json!({
            "digest": record.digest,
            "package": record.package,
            "target": record.target,
            "signed_by": record.signed_by,
        }))?,
        Format::Text => print(&format!("{}\tname:{}\t{}\n", record.digest, record.package, record.target))?,
    }
    Ok(ANSWERED)
}

/// Opens what the user named and finds out who vouches for it.
fn open(args: &Install) -> Result<VerifiedBundle<BundleFile>, Stop> {
    match args.source.bundle.to_str().filter(|text| text.starts_with(REGISTRY)) {
        Some(reference) => pulled(args, reference),
        None => open_file(&args.source, args.shared.verbose),
    }
}

#[cfg(feature = "registry")]
use super::registry::pulled;

/// What is said where registries were left out.
#[cfg(not(feature = "registry"))]
fn pulled(_args: &Install, reference: &str) -> Result<VerifiedBundle<BundleFile>, Stop> {
    use subako_manifest::diagnostic::{Code, Diagnostic};
    use subako_manifest::text::shown;

    let reference = shown(reference);
    let message = format!(
        "`{reference}` is in a registry, and this subako-loader was built without the feature `registry`"
    );
    let hint = format!(
        "`subakoc pull {reference} -o FILE.subako --target host`, and install that file; or build the loader with `--features registry`"
    );
    Err(Stop::one(Diagnostic::error(Code::RegistryLeftOut, reference, message).hint(hint)))
}
