//! `subakoc publish`.

use subako_manifest::bundle::OpenBundle;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain as _};
use subako_manifest::text::shown;
use subako_registry::layout::Layout;
use subako_registry::reference::{NotReference, Place, Reference, Version};
use subako_registry::registry::{Intent, Registry};
use subako_registry::{Store, push};

use super::inspect::{in_file, read};
use super::registry::options;
use super::{Console, Stop};
use crate::args::Publish;
use crate::output::directory;
use crate::report::publish::PublishReport;

pub(super) fn run(args: &Publish, console: &Console) -> Result<u8, Stop> {
    let reference = reference(&args.reference)?;
    let Version::Tag(tag) = &reference.version else {
        let message = format!("`{}` has a digest: a bundle is published under a tag", shown(&args.reference));
        return Err(Stop::Refused(vec![Diagnostic::error(Code::ReferenceInvalid, &args.reference, message)]));
    };
    let here = |diagnostics| in_file(&args.bundle, diagnostics);
    let bundle = OpenBundle::open(read(&args.bundle)?).map_err(|error| here(error.diagnostics()))?;
    let store: Box<dyn Store> = match &reference.place {
        Place::Directory(path) => {
            directory(path)?;
            Box::new(Layout::create(path)?)
        }
        Place::Registry(repository) => {
            Box::new(Registry::new(repository, Intent::Push, options(&args.registry, repository)?)?)
        }
    };
    let published = push(&bundle, &*store, tag, &*console.progress())?;
    console.summarise(&PublishReport::new(&reference, &bundle, &published))?;
    Ok(0)
}

/// What the user named.
pub(super) fn reference(text: &str) -> Result<Reference, Stop> {
    let hint = "a reference is `oci://HOST/REPOSITORY:TAG` or `dir:PATH:TAG`";
    text.parse().map_err(|error| not_reference(text, error, hint))
}

pub(super) fn not_reference(text: &str, error: NotReference, hint: &str) -> Stop {
    let message = format!("`{}` {error}", shown(text));
    Stop::Refused(vec![Diagnostic::error(Code::ReferenceInvalid, text, message).hint(hint)])
}
