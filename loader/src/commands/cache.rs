//! `subako-loader cache`.

use serde_json::json;
use subako_manifest::diagnostic::{Explain as _, blame};
use subako_manifest::text::shown;

use subako_loader::cache::Cache as Installs;

use super::{ANSWERED, Stop, print, print_json, say};
use crate::args::{self, Cache, CacheCommand, Format};

pub(super) fn run(args: &Cache) -> Result<u8, Stop> {
    // A name that is mistyped has nothing wrong in it.
    if let Some(dir) = args.cache_dir.as_deref().filter(|dir| !dir.exists()) {
        say(&format!("note: `{}` was not there: nothing is installed", shown(&dir.display().to_string())));
    }
    let cache = Installs::open(&args::cache_dir(args.cache_dir.as_deref())?)?;
    match &args.command {
        CacheCommand::List => list(&cache, args.format),
        CacheCommand::Prune { all } => prune(&cache, *all, args.format),
        CacheCommand::Verify => verify(&cache, args.format),
    }
}

fn list(cache: &Installs, format: Format) -> Result<u8, Stop> {
    let names = cache.names()?;
    let mut rows = Vec::new();
    for installed in cache.list()? {
        let installed = match installed {
            Ok(installed) => installed,
            Err(error) => {
                error.diagnostics().iter().for_each(|diagnostic| say(&diagnostic.to_string()));
                continue;
            }
        };
        let record = installed.record();
        let named = names.iter().any(|(name, digest)| *name == record.package && *digest == record.digest);
        match format {
            Format::Json => rows.push(json!({
                "digest": record.digest,
                "package": record.package,
                "named": named,
                "target": record.target,
                "artifact_size": record.artifact_size,
                "signed_by": record.signed_by,
            })),
            Format::Text => {
                let name = if named { format!("name:{}", record.package) } else { record.package.clone() };
                print(&format!("{}\t{name}\t{}\n", record.digest, record.target))?;
            }
        }
    }
    if format == Format::Json {
        print_json(&json!({ "installed": rows }))?;
    }
    Ok(ANSWERED)
}

fn prune(cache: &Installs, all: bool, format: Format) -> Result<u8, Stop> {
    let gone = cache.prune(all)?;
    match format {
        Format::Json => print_json(&json!({ "removed": gone }))?,
        Format::Text => {
            for digest in gone {
                print(&format!("{digest}\tremoved\n"))?;
            }
        }
    }
    Ok(ANSWERED)
}

fn verify(cache: &Installs, format: Format) -> Result<u8, Stop> {
    let mut faults = Vec::new();
    let mut rows = Vec::new();
    for checked in cache.verify()? {
        let told = checked.fault.map(|fault| fault.diagnostics()).unwrap_or_default();
        match format {
            Format::Json => rows.push(json!({
                "digest": checked.digest,
                "ok": told.is_empty(),
                "diagnostics": told,
            })),
            Format::Text => {
                let word = if told.is_empty() { "ok" } else { "damaged" };
                print(&format!("{}\t{word}\n", checked.digest))?;
                told.iter().for_each(|diagnostic| say(&diagnostic.to_string()));
            }
        }
        faults.extend(told);
    }
    if format == Format::Json {
        print_json(&json!({ "checked": rows }))?;
    }
    Ok(if faults.is_empty() { ANSWERED } else { blame(&faults).exit_code() })
}
