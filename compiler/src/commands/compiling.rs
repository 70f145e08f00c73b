//! What was typed about compiling, and what it means: for `build` and `rebuild`.

use std::collections::BTreeSet;
use std::env;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use subako_compiler::precompile::{self, Cache};
use subako_compiler::sign::Signing;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _, Severity};
use subako_manifest::target::{self, Target};

use super::{Stop, sharing};
use crate::args::{Compiling, Sharing};

/// The targets meant by the names, each once, sorted; nothing where there is no name. Every name
/// that is none is told.
pub(super) fn targets(names: &[String]) -> Result<Option<Vec<Target>>, Stop> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut targets = BTreeSet::new();
    let mut faults = Vec::new();
    for name in names {
        match precompile::target(name) {
            Ok(target) => {
                targets.insert(target);
            }
            Err(error) => {
                let meant = target::meant_by(name).map(|meant| format!("did you mean `{meant}`?"));
                faults.extend(error.diagnostics().into_iter().map(|mut told| {
                    told.hint = told.hint.or_else(|| meant.clone());
                    told
                }));
            }
        }
    }
    if faults.is_empty() { Ok(Some(targets.into_iter().collect())) } else { Err(Stop::Refused(faults)) }
}

/// How to compile. `warnings` says so where the cache that nobody named cannot be used.
pub(super) fn settings(
    typed: &Compiling,
    sharing: &Sharing,
    signing: Option<&Signing>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<precompile::Settings, Stop> {
    let program = env::current_exe().map_err(|error| {
        let message = format!("`subakoc` cannot find its own file to compile with: {error}");
        Stop::Refused(vec![Diagnostic::error(Code::Io, "subakoc", message)])
    })?;
    let jobs = typed.jobs.or_else(|| thread::available_parallelism().ok());
    Ok(precompile::Settings {
        program,
        jobs: jobs.map_or(1, NonZeroUsize::get),
        time: typed.compile_timeout.0,
        memory_bytes: typed.compile_memory.bytes(),
        cache: cache(typed, warnings)?,
        farm: sharing::farm(sharing, signing, warnings)?.map(Arc::new),
    })
}

/// Where artifacts are kept. A directory that the user named has to be usable; without the one
/// that nobody named, the work takes longer.
fn cache(typed: &Compiling, warnings: &mut Vec<Diagnostic>) -> Result<Option<Cache>, Stop> {
    if typed.no_cache {
        return Ok(None);
    }
    let variable = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let named = typed.cache_dir.clone().or_else(|| variable("SUBAKO_COMPILE_CACHE"));
    let size = typed.cache_size.bytes();
    if let Some(named) = named {
        return Ok(Some(Cache::open(&named, size)?));
    }
    // Nowhere to be is no fault of the user's.
    let Some(folder) = user_cache(variable("XDG_CACHE_HOME"), variable("HOME")) else { return Ok(None) };
    match Cache::open(&folder, size) {
        Ok(cache) => Ok(Some(cache)),
        Err(error) => {
            warnings.extend(error.diagnostics().into_iter().map(|mut told| {
                told.severity = Severity::Warning;
                told
            }));
            Ok(None)
        }
    }
}

/// `subakoc` in the user's cache directory (XDG Base Directory Specification: a relative path in
/// the variable is ignored).
fn user_cache(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    xdg.filter(|folder| folder.is_absolute())
        .or_else(|| home.map(|home| home.join(".cache")))
        .map(|folder| folder.join("subakoc"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meant(names: &[&str]) -> Result<Vec<String>, Vec<Diagnostic>> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        match targets(&names) {
            Ok(targets) => Ok(targets.unwrap_or_default().iter().map(Target::to_string).collect()),
            Err(Stop::Refused(diagnostics)) => Err(diagnostics),
            Err(Stop::Stdout(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn a_target_is_made_once_however_it_is_spelt() {
        let names = ["x86_64-linux", "pulley64", "x86_64-unknown-linux-gnu/baseline", "portable"];
        assert_eq!(meant(&names), Ok(vec!["pulley64".to_owned(), "x86_64-unknown-linux-gnu".to_owned()]));
    }

    #[test]
    fn no_name_is_no_target() {
        assert!(matches!(targets(&[]), Ok(None)));
    }

    #[test]
    fn the_cache_is_where_the_user_s_are() {
        let path = |text: &str| Some(PathBuf::from(text));
        for (xdg, home, expected) in [
            (path("/var/cache/ada"), path("/home/ada"), path("/var/cache/ada/subakoc")),
            (path("cache"), path("/home/ada"), path("/home/ada/.cache/subakoc")),
            (None, path("/home/ada"), path("/home/ada/.cache/subakoc")),
            (None, None, None),
        ] {
            assert_eq!(user_cache(xdg, home), expected);
        }
    }

    #[test]
    fn every_unknown_target_is_told() {
        let faults = meant(&["x86_64-linus", "pulley64", "sparc"]).expect_err("two are unknown");
        let told: Vec<_> = faults.iter().map(|fault| (fault.code, fault.subject.as_str())).collect();
        assert_eq!(told, [(Code::TargetUnknown, "x86_64-linus"), (Code::TargetUnknown, "sparc")]);
        assert!(faults[0].hint.as_deref().is_some_and(|hint| hint.contains("x86_64-linux")), "{faults:?}");
        for (name, hint) in [
            ("PULLEY64", "did you mean `pulley64`?"),
            ("amd64", "did you mean `x86_64-linux`?"),
            ("linux", "did you mean `x86_64-linux`?"),
            ("x86_64-linux/", "did you mean `x86_64-linux`?"),
        ] {
            let faults = meant(&[name]).expect_err("it is unknown");
            assert_eq!(faults[0].hint.as_deref(), Some(hint), "{name}");
        }
    }
}
