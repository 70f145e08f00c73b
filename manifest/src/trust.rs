//! Who is trusted, and whether enough of them vouch for a bundle. The loader and `subakoc verify`
//! both ask here; `docs/trust.md` has the threat model.
//!
//! 1. A revoked bundle is refused.
//! 2. Every signature that a trusted key is said to have made must be right: its envelope, the
//!    signature itself, and the statement, which must be about this very bundle. One that is not
//!    refuses the bundle, whoever else has signed it.
//! 3. A key whose time is over, or that may not sign this package, does not count.
//! 4. `threshold` different keys must be left.
//!
//! Signatures of other keys are not read at all: they can say nothing, for or against.

mod error;
mod moment;
mod policy;

use std::collections::BTreeSet;

use crate::bundle::OpenBundle;
use crate::digest::Digest;
use crate::envelope::Envelope;
use crate::key::{KeyId, PublicKey};
use crate::statement::Statement;

pub use error::{Error, PassedOver, SignatureError};
pub use moment::{Moment, NotMoment};
pub use policy::{Fault, TrustFileError};

/// The keys that are trusted, and how far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trust {
    keys: Vec<TrustedKey>,
    /// From 1 to the number of keys.
    threshold: usize,
    /// Digests of bundles, and of uploads with all that is built from them.
    revoked: BTreeSet<Digest>,
}

/// A key that is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TrustedKey {
    /// For messages.
    name: String,
    key: PublicKey,
    /// From then on it does not count.
    expires: Option<Moment>,
    /// The packages that it may sign; all without it.
    packages: Option<Vec<String>>,
}

/// A trusted key's word for a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vouch {
    /// The key.
    pub key_id: KeyId,
    /// What the trust file, or the command line, calls it.
    pub name: String,
    /// What it signed.
    pub statement: Statement,
}

impl Trust {
    /// Whether enough trusted keys vouch for the bundle; those that do. `detached` are envelopes
    /// from outside the bundle, `now` is the time by which keys expire.
    ///
    /// What is verified is the index. The entries are as good as their digests in it:
    /// [`OpenBundle::contents`] compares them.
    ///
    /// # Errors
    ///
    /// Why they do not.
    pub fn verify<B: AsRef<[u8]>>(
        &self,
        bundle: &OpenBundle<B>,
        detached: &[Envelope],
        now: Moment,
    ) -> Result<Vec<Vouch>, Error> {
        let (digest, index) = (bundle.digest(), bundle.index());
        self.revoked(digest, index.upload)?;
        let mut signed = Vec::new();
        for trusted in &self.keys {
            let key_id = trusted.key.id();
            let wrong =
                |error| Error::Signature { key_id, name: trusted.name.clone(), error: Box::new(error) };
            let inside = bundle.signature(&key_id.to_string()).map_err(|error| wrong(error.into()))?;
            let inside = inside.map(|bytes| Envelope::from_json(&bytes)).transpose();
            let inside = inside.map_err(|error| wrong(error.into()))?;
            let outside = detached.iter().filter(|envelope| envelope.key_id() == key_id);
            let mut said = None;
            for envelope in inside.iter().chain(outside) {
                let payload = envelope.verify(&trusted.key).map_err(|error| wrong(error.into()))?;
                let statement = Statement::about(digest, index.upload, payload);
                said = Some(statement.map_err(|error| wrong(error.into()))?);
            }
            signed.extend(said.map(|statement| (trusted, statement)));
        }
        let ids = bundle.signatures().map(str::to_owned);
        let ids = ids.chain(detached.iter().map(|envelope| envelope.key_id().to_string())).collect();
        let vouching = self.enough(digest, &index.package, signed, ids, now)?;
        let vouch = |(trusted, statement): (&TrustedKey, _)| Vouch {
            key_id: trusted.key.id(),
            name: trusted.name.clone(),
            statement,
        };
        Ok(vouching.into_iter().map(vouch).collect())
    }

    /// Whether enough trusted keys vouch for a bundle whose signatures by the keys with these ids
    /// were verified before, and which nobody could change since.
    ///
    /// # Errors
    ///
    /// Why they do not, by now.
    pub fn ask_again(
        &self,
        digest: Digest,
        upload: Digest,
        package: &str,
        signed_by: &[String],
        now: Moment,
    ) -> Result<(), Error> {
        self.revoked(digest, upload)?;
        let signed = self.keys.iter().filter(|trusted| signed_by.contains(&trusted.key.id().to_string()));
        let signed = signed.map(|trusted| (trusted, ())).collect();
        self.enough(digest, package, signed, signed_by.iter().cloned().collect(), now)?;
        Ok(())
    }

    fn revoked(&self, digest: Digest, upload: Digest) -> Result<(), Error> {
        match [digest, upload].into_iter().find(|found| self.revoked.contains(found)) {
            Some(digest) => Err(Error::Revoked { digest }),
            None => Ok(()),
        }
    }

    /// Those of the keys with right signatures that count, if they are enough. `ids` are all keys
    /// that are said to have signed.
    fn enough<'a, T>(
        &self,
        digest: Digest,
        package: &str,
        signed: Vec<(&'a TrustedKey, T)>,
        ids: BTreeSet<String>,
        now: Moment,
    ) -> Result<Vec<(&'a TrustedKey, T)>, Error> {
        if ids.is_empty() {
            return Err(Error::Unsigned { digest });
        }
        let (mut vouching, mut passed_over) = (Vec::new(), Vec::new());
        for (trusted, said) in signed {
            match trusted.objection(package, now) {
                Some(objection) => passed_over.push(objection),
                None => vouching.push((trusted, said)),
            }
        }
        if vouching.len() >= self.threshold {
            return Ok(vouching);
        }
        let stranger = |id: &String| self.keys.iter().all(|trusted| trusted.key.id().to_string() != *id);
        passed_over.extend(ids.into_iter().filter(stranger).map(|key_id| PassedOver::Unknown { key_id }));
        Err(Error::NotEnough { digest, found: vouching.len(), threshold: self.threshold, passed_over })
    }
}

impl TrustedKey {
    /// Why a right signature of this key does not count.
    fn objection(&self, package: &str, now: Moment) -> Option<PassedOver> {
        let (key_id, name) = (self.key.id(), self.name.clone());
        if let Some(expired) = self.expires.filter(|expires| *expires <= now) {
            return Some(PassedOver::Expired { key_id, name, expired });
        }
        let allowed = self.packages.as_ref()?;
        let package = package.to_owned();
        (!allowed.contains(&package)).then_some(PassedOver::Package { key_id, name, package })
    }
}

#[cfg(test)]
mod tests;
