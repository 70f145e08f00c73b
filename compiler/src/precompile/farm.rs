//! The compile cache that a farm of build servers shares: artifacts in a registry, each with a
//! statement of what it was made from, signed by a builder that compiled it, or believed another
//! that did and has it in its own cache since: trust is handed on.
//!
//! Whoever can push to a registry can put anything there, under any name. So nothing of an artifact
//! is looked at before its statement was verified: that a key which the user trusts has signed it,
//! and that it is, byte for byte, the one statement that can be about these bytes, this module, this
//! target and this engine. What is not is ignored with a warning, and compiled.
//!
//! A build does not need the registry: where it fails, it is told of once and not asked again.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use subako_manifest::diagnostic::{Code, Diagnostic, Explain};
use subako_manifest::digest::Digest;
use subako_manifest::envelope::{self, Envelope, pae};
use subako_manifest::key::{KeyId, PublicKey};
use subako_manifest::statement::Statement;
use subako_manifest::target::Target;
use subako_manifest::text::shown;
use subako_registry::compiled::{self, Compiled};
use subako_registry::{self as registry, Store};

use super::cache::Keys;
use super::{Artifact, Error as PrecompileError, judged};
use crate::sign::{self, Signer};

/// A place for artifacts that others read or write too.
pub struct Place {
    /// What the user calls it.
    pub name: String,
    /// What can be done there.
    pub store: Box<dyn Store + Send>,
}

/// What a place is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Artifacts come from it.
    From,
    /// Artifacts go to it.
    To,
}

impl Use {
    fn lost(self) -> &'static str {
        match self {
            Self::From => "gives no artifacts to this build",
            Self::To => "gets no artifacts of this build",
        }
    }
}

/// Where artifacts come from and go to.
pub struct Farm {
    from: Option<Side>,
    to: Option<Side>,
    /// The keys whose word is taken for what an artifact is.
    trusted: Vec<PublicKey>,
    /// Who gives their word for what is compiled here, or was believed before; there where `to` is.
    signer: Option<Arc<Signer>>,
}

/// A place, and whether it has failed.
struct Side {
    place: Place,
    failed: AtomicBool,
    warnings: Mutex<Vec<Diagnostic>>,
}

/// Why what is stored for a key is not taken.
#[derive(Debug, thiserror::Error)]
enum Unbelieved {
    #[error("{0}")]
    Store(registry::Error),
    #[error("its signature {0}")]
    Envelope(#[from] envelope::Error),
    #[error("it is signed by {0}, which is not trusted")]
    Stranger(KeyId),
    #[error("its signature is about another artifact: {0}")]
    Statement(Difference),
    #[error("{0}")]
    Artifact(PrecompileError),
}

/// The first thing that a statement says otherwise.
#[derive(Debug, thiserror::Error)]
#[error("`{field}` is {}, expected {expected}", shown(.found))]
struct Difference {
    field: &'static str,
    found: String,
    expected: String,
}

/// Where a statement says what, the telling parts first.
const FIELDS: [(&str, &str); 12] = [
    ("predicateType", "/predicateType"),
    ("target", "/predicate/inputs/target"),
    ("module", "/predicate/inputs/module"),
    ("subakoc", "/predicate/inputs/subakoc"),
    ("engine.name", "/predicate/inputs/engine/name"),
    ("engine.version", "/predicate/inputs/engine/version"),
    ("engine.artifact_format", "/predicate/inputs/engine/artifact_format"),
    ("engine.compatibility", "/predicate/inputs/engine/compatibility"),
    ("engine.compiler", "/predicate/inputs/engine/compiler"),
    ("subject.sha256", "/subject/0/digest/sha256"),
    ("bytes", "/predicate/bytes"),
    ("subject", "/subject"),
];

impl fmt::Debug for Farm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |side: &Option<Side>| side.as_ref().map(|side| side.place.name.clone());
        f.debug_struct("Farm")
            .field("from", &name(&self.from))
            .field("to", &name(&self.to))
            .field("trusted", &self.trusted)
            .finish_non_exhaustive()
    }
}

impl Farm {
    /// Takes from `from` what one of the keys `trusted` has signed, and gives to `to` what `signer`
    /// signs; its own key is trusted too.
    #[must_use]
    pub fn new(
        from: Option<Place>,
        to: Option<Place>,
        mut trusted: Vec<PublicKey>,
        signer: Option<Arc<Signer>>,
    ) -> Self {
        trusted.extend(signer.iter().map(|signer| signer.public_key().clone()));
        Self { from: from.map(Side::new), to: to.map(Side::new), trusted, signer }
    }

    /// The artifact that somebody trusted has compiled.
    pub(super) fn find(&self, target: &Target, keys: &Keys) -> Option<Artifact> {
        let side = self.from.as_ref().filter(|side| !side.failed())?;
        let found = self.believed(side, target, keys).and_then(|found| {
            let Some(found) = found else { return Ok(None) };
            let bytes = found.fetch(&*side.place.store).map_err(Unbelieved::Store)?;
            judged(bytes, target).map(Some).map_err(Unbelieved::Artifact)
        });
        match found {
            Ok(artifact) => artifact,
            Err(Unbelieved::Store(error)) if !error.is_about_content() => {
                side.fails(Use::From, &error);
                None
            }
            Err(unbelieved) => {
                side.warnings().push(ignored(&side.place.name, &tag(keys), target, &unbelieved));
                None
            }
        }
    }

    /// What is stored for the keys, by the word of somebody trusted.
    fn believed(&self, side: &Side, target: &Target, keys: &Keys) -> Result<Option<Compiled>, Unbelieved> {
        let found = compiled::find(&*side.place.store, &tag(keys)).map_err(Unbelieved::Store)?;
        let Some(found) = found else { return Ok(None) };
        self.vouched(found.envelope(), &statement(target, keys, found.digest(), found.bytes()))?;
        Ok(Some(found))
    }

    /// Whether the envelope is by a trusted key, and about that.
    fn vouched(&self, envelope: &[u8], expected: &Statement) -> Result<(), Unbelieved> {
        let envelope = Envelope::from_json(envelope)?;
        let by = |key: &&PublicKey| key.id() == envelope.key_id();
        let key = self.trusted.iter().find(by).ok_or(Unbelieved::Stranger(envelope.key_id()))?;
        let payload = envelope.verify(key)?;
        let expected = expected.to_payload();
        if payload == expected {
            return Ok(());
        }
        Err(Unbelieved::Statement(difference(payload, &expected)))
    }

    /// Shares an artifact, unless it is there by the word of somebody trusted.
    pub(super) fn keep(&self, target: &Target, keys: &Keys, artifact: &[u8]) {
        let (Some(side), Some(signer)) = (&self.to, &self.signer) else { return };
        if side.failed() {
            return;
        }
        let expected = (Digest::of(artifact), artifact.len() as u64);
        let statement = statement(target, keys, expected.0, expected.1);
        match self.is_shared(side, keys, expected, &statement) {
            Ok(true) => return,
            // Something else, or something that is not whole: it is replaced.
            Ok(false) => {}
            Err(error) if error.is_about_content() => {}
            Err(error) => return side.fails(Use::To, &error),
        }
        let envelope = match sealed(&statement, signer) {
            Ok(envelope) => envelope,
            Err(error) => return side.fails(Use::To, &error),
        };
        let name = target.entry_path();
        if let Err(error) = compiled::keep(&*side.place.store, &tag(keys), &name, &envelope, artifact) {
            side.fails(Use::To, &error);
        }
    }

    /// Whether the very artifact is stored for the keys, by the word of somebody trusted.
    fn is_shared(
        &self,
        side: &Side,
        keys: &Keys,
        expected: (Digest, u64),
        statement: &Statement,
    ) -> Result<bool, registry::Error> {
        let store = &*side.place.store;
        let Some(there) = compiled::find(store, &tag(keys))? else { return Ok(false) };
        let same = (there.digest(), there.bytes()) == expected;
        Ok(same && self.vouched(there.envelope(), statement).is_ok() && there.is_whole(store)?)
    }

    /// What went wrong since the last time.
    pub(super) fn warnings(&self) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for side in self.from.iter().chain(&self.to) {
            warnings.append(&mut side.warnings());
        }
        // They came from several threads.
        warnings.sort_by(|a, b| (a.code, &a.message).cmp(&(b.code, &b.message)));
        warnings
    }
}

impl Side {
    fn new(place: Place) -> Self {
        Self { place, failed: AtomicBool::new(false), warnings: Mutex::default() }
    }

    fn failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    /// Only the first failure is told: others that were under way then say the same.
    fn fails(&self, purpose: Use, error: &impl Explain) {
        if !self.failed.swap(true, Ordering::Relaxed) {
            self.warnings().push(unusable(&self.place.name, purpose, error));
        }
    }

    fn warnings(&self) -> MutexGuard<'_, Vec<Diagnostic>> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The warning of a place that cannot be used, for which a build does not fail.
#[must_use]
pub fn unusable(name: &str, purpose: Use, error: &impl Explain) -> Diagnostic {
    let all = error.diagnostics();
    let why: Vec<&str> = all.iter().map(|told| told.message.as_str()).collect();
    let message = format!("`{}` {}: {}", shown(name), purpose.lost(), why.join("; "));
    Diagnostic::warning(Code::SharedCacheFails, name, message)
        .rule("a build does without its shared cache where that fails (docs/publish.md, \"A shared compile cache\")")
        .maybe_hint(login(&all))
}

/// What to do where a registry asks who that is.
fn login(all: &[Diagnostic]) -> Option<String> {
    let asks = |told: &&Diagnostic| told.code == Code::RegistryDenied && told.hint.is_some();
    Some(format!("`docker login {}`", shown(&all.iter().find(asks)?.subject)))
}

fn ignored(name: &str, tag: &str, target: &Target, why: &Unbelieved) -> Diagnostic {
    let subject = format!("{name}:{tag}");
    let message = format!("`{}` is ignored, and `{target}` compiled: {why}", shown(&subject));
    Diagnostic::warning(Code::SharedCacheEntry, subject, message)
        .rule("what a shared cache has is believed by the signature of a trusted builder (docs/publish.md, \"A shared compile cache\")")
}

/// The name that is looked up: all that an artifact is made from, as one digest.
fn tag(keys: &Keys) -> String {
    format!("compiled-{}", keys.artifact.hex())
}

/// The one statement that is about these bytes and these keys.
fn statement(target: &Target, keys: &Keys, artifact: Digest, bytes: u64) -> Statement {
    Statement::of_artifact(&target.entry_path(), artifact, bytes, &keys.inputs)
}

fn sealed(statement: &Statement, signer: &Signer) -> Result<Vec<u8>, sign::Error> {
    let payload = statement.to_payload();
    let signature = signer.sign(&pae(&payload))?;
    Ok(Envelope::new(payload, signer.public_key().id(), signature).to_json())
}

/// How a payload differs from what it should be; a trusted key has signed it.
fn difference(payload: &[u8], expected: &[u8]) -> Difference {
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap_or_default();
    let (found, expected) = (json(payload), json(expected));
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => "absent".to_owned(),
    };
    let differs = FIELDS.into_iter().find(|(_, at)| found.pointer(at) != expected.pointer(at));
    let (field, at) = differs.unwrap_or(("_type", ""));
    Difference { field, found: text(found.pointer(at)), expected: text(expected.pointer(at)) }
}
