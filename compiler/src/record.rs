//! What the steps of one run have done so far. It is kept also where a later step refuses: who
//! watches builds wants to know then how far they came.

use std::time::{Duration, Instant};

use subako_manifest::diagnostic::Diagnostic;
use subako_manifest::digest::Digest;
use subako_manifest::index::Index;
use subako_manifest::key::KeyId;
use subako_manifest::package::Manifest;
use subako_manifest::target::Target;
use subako_manifest::tool::ToolSet;

use crate::pack::Bundle;
use crate::precompile::{Artifact, Origin, Sections};
use crate::progress::Progress;
use crate::read::Upload;
use crate::rewrite::RewriteReport;

/// What is known of a run. What a step that did not end well would have said is absent.
#[derive(Debug, Default)]
pub struct Record {
    /// The step that began last.
    pub step: Option<Step>,
    /// Warnings about the package.
    pub warnings: Vec<Diagnostic>,
    /// Warnings about this machine: its compile cache.
    pub of_machine: Vec<Diagnostic>,
    /// What was read.
    pub package: Option<Package>,
    /// The module that was checked.
    pub module: Option<Module>,
    /// What each pass of the rewrite did.
    pub rewritten: Option<RewriteReport>,
    /// The artifacts that the bundle has, or would have had, in the order of their targets.
    pub compiled: Option<Vec<Compiled>>,
    /// How each artifact came to be, with the one that was made for discovery alone.
    pub origins: Vec<Origin>,
    /// What the package offers.
    pub discovered: Option<ToolSet>,
    /// The bundle.
    pub packed: Option<Packed>,
    /// The keys that signed it.
    pub signed: Vec<KeyId>,
    /// How long each step took.
    pub timings: Timings,
}

/// A step of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each variant is the step of its name")]
pub enum Step {
    Read,
    Check,
    Rewrite,
    Precompile,
    Discover,
    Pack,
    Sign,
}

/// How long each step took, of those that ended, well or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "each field is the step of its name")]
pub struct Timings {
    pub read: Option<Duration>,
    pub check: Option<Duration>,
    pub rewrite: Option<Duration>,
    pub precompile: Option<Duration>,
    pub discover: Option<Duration>,
    pub pack: Option<Duration>,
    pub sign: Option<Duration>,
}

/// A package that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Its manifest.
    pub manifest: Manifest,
    /// The digest of the upload.
    pub upload: Digest,
}

/// A module that was checked, before it is rewritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Its bytes, in binary.
    pub size: u64,
    /// Their digest.
    pub digest: Digest,
    /// The host's functions that it imports, as `module.field`, sorted.
    pub imports: Vec<String>,
}

/// An artifact that was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Compiled {
    /// What it runs on.
    pub target: Target,
    /// Its bytes.
    pub size: u64,
    /// Their digest.
    pub digest: Digest,
    /// The CPU features that it needs, sorted.
    pub cpu_features: Vec<String>,
    /// What it is made of.
    pub sections: Sections,
}

/// A bundle that was packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// The bundle's digest.
    pub digest: Digest,
    /// Bytes of the file, without signatures.
    pub size: u64,
    /// What is in it.
    pub index: Index,
}

impl Step {
    /// The step's word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Check => "check",
            Self::Rewrite => "rewrite",
            Self::Precompile => "precompile",
            Self::Discover => "discover",
            Self::Pack => "pack",
            Self::Sign => "sign",
        }
    }
}

impl Record {
    /// Does the work of a step, tells of it, and notes how long it took.
    pub(crate) fn timed<T>(
        &mut self,
        progress: &dyn Progress,
        step: Step,
        what: &str,
        work: impl FnOnce() -> T,
    ) -> T {
        progress.began(step.name(), what);
        let done = self.clocked(step, work);
        progress.ended(step.name(), what);
        done
    }

    /// The same, for a step that tells of itself.
    pub(crate) fn clocked<T>(&mut self, step: Step, work: impl FnOnce() -> T) -> T {
        self.step = Some(step);
        let begun = Instant::now();
        let done = work();
        let took = match step {
            Step::Read => &mut self.timings.read,
            Step::Check => &mut self.timings.check,
            Step::Rewrite => &mut self.timings.rewrite,
            Step::Precompile => &mut self.timings.precompile,
            Step::Discover => &mut self.timings.discover,
            Step::Pack => &mut self.timings.pack,
            Step::Sign => &mut self.timings.sign,
        };
        *took = Some(begun.elapsed());
        done
    }
}

impl Package {
    pub(crate) fn of(upload: &Upload) -> Self {
        Self { manifest: upload.manifest.clone(), upload: upload.digest }
    }
}

impl Module {
    pub(crate) fn of(bytes: &[u8], imports: &[String]) -> Self {
        Self { size: bytes.len() as u64, digest: Digest::of(bytes), imports: imports.to_vec() }
    }
}

impl Compiled {
    pub(crate) fn of(artifact: &Artifact) -> Self {
        Self {
            target: artifact.target.clone(),
            size: artifact.bytes.len() as u64,
            digest: Digest::of(&artifact.bytes),
            cpu_features: artifact.cpu_features.clone(),
            sections: artifact.sections.clone(),
        }
    }
}

impl Packed {
    pub(crate) fn of(bundle: &Bundle) -> Self {
        let size = bundle.bytes.len() as u64;
        Self { digest: bundle.digest, size, index: bundle.index.clone() }
    }
}
