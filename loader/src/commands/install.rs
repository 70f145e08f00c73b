//! `subako-loader install`.

use serde_json::json;
use subako_loader::cache::Cache;

use super::program::{in_file, open_file, picked_for_host};
use super::{ANSWERED, Stop, print, print_json};
use crate::args::{self, Format, Install};

pub(super) fn run(args: &Install) -> Result<u8, Stop> {
    let bundle = open_file(&args.source, args.shared.verbose)?;
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
