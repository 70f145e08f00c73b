//! The JSON of OCI images, as much of it as a bundle needs. It is written in one spelling, so that
//! the same bundle has the same manifest; it is read as any tool may have written it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use subako_manifest::digest::Digest;

/// The type of a manifest.
pub(crate) const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The type of a list of manifests.
pub(crate) const INDEX_TYPE: &str = "application/vnd.oci.image.index.v1+json";
/// The type of `{}`, which stands where there is nothing to say.
pub(crate) const EMPTY_TYPE: &str = "application/vnd.oci.empty.v1+json";
/// [`EMPTY_TYPE`]'s one value.
pub(crate) const EMPTY: &[u8] = b"{}";

/// What a published bundle is.
pub(crate) const BUNDLE_TYPE: &str = "application/vnd.subako.bundle.v1";
/// The config of a published bundle: its `bundle.json`.
pub(crate) const BUNDLE_INDEX_TYPE: &str = "application/vnd.subako.bundle.index.v1+json";
/// The layer that all targets share: the bundle without artifacts and signatures.
pub(crate) const THIN_TYPE: &str = "application/vnd.subako.bundle.thin.v1+zip";
/// The layer of one artifact.
pub(crate) const ARTIFACT_TYPE: &str = "application/vnd.subako.artifact.v1";
/// What a published signature is.
pub(crate) const SIGNATURE_TYPE: &str = "application/vnd.subako.signature.v1";
/// What an artifact of a shared compile cache is.
pub(crate) const COMPILED_TYPE: &str = "application/vnd.subako.compiled.v1";
/// The layer of a signature, and the config of a [`COMPILED_TYPE`]: its envelope.
pub(crate) const ENVELOPE_TYPE: &str = "application/vnd.dsse.envelope.v1+json";

/// The annotation by which ordinary tools name the file that they make of a layer.
pub(crate) const TITLE: &str = "org.opencontainers.image.title";
/// The annotation that has a manifest's tag in an image layout.
pub(crate) const REF_NAME: &str = "org.opencontainers.image.ref.name";

/// Bytes of a manifest: what registries take (OCI distribution, "Pushing manifests").
pub(crate) const MAX_MANIFEST_BYTES: u64 = 4 * subako_manifest::limits::MIB;

/// A blob or a manifest: what it is, its digest and size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Descriptor {
    pub(crate) media_type: String,
    pub(crate) digest: Digest,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
}

/// A manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub(crate) schema_version: u32,
    #[serde(default)]
    pub(crate) media_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) artifact_type: Option<String>,
    pub(crate) config: Descriptor,
    pub(crate) layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) subject: Option<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) annotations: BTreeMap<String, String>,
}

/// A list of manifests. Whatever else others have put there stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List {
    schema_version: u32,
    #[serde(default)]
    media_type: String,
    manifests: Vec<Value>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

impl Descriptor {
    /// Of these bytes.
    pub(crate) fn of(media_type: &str, bytes: &[u8]) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
            annotations: BTreeMap::new(),
            artifact_type: None,
        }
    }

    pub(crate) fn annotated(mut self, name: &str, value: &str) -> Self {
        self.annotations.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The same blob, by what it is alone.
    pub(crate) fn bare(&self) -> Self {
        let (annotations, artifact_type) = (BTreeMap::new(), None);
        Self { media_type: self.media_type.clone(), annotations, artifact_type, ..*self }
    }
}

impl Manifest {
    pub(crate) fn new(artifact_type: &str, config: Descriptor, layers: Vec<Descriptor>) -> Self {
        Self {
            schema_version: 2,
            media_type: MANIFEST_TYPE.to_owned(),
            artifact_type: Some(artifact_type.to_owned()),
            config,
            layers,
            subject: None,
            annotations: BTreeMap::new(),
        }
    }

    /// What the manifest is: its artifact type, or its config's, as older tools have it.
    pub(crate) fn kind(&self) -> &str {
        self.artifact_type.as_deref().unwrap_or(&self.config.media_type)
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a manifest holds text, numbers and lists only")
    }
}

impl List {
    pub(crate) fn empty() -> Self {
        Self {
            schema_version: 2,
            media_type: INDEX_TYPE.to_owned(),
            manifests: Vec::new(),
            rest: BTreeMap::new(),
        }
    }

    pub(crate) fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a list holds text, numbers and lists only")
    }

    /// The descriptors that can be read.
    pub(crate) fn known(&self) -> impl Iterator<Item = Descriptor> {
        self.manifests.iter().filter_map(|listed| Descriptor::deserialize(listed).ok())
    }

    /// Takes the descriptor in, unless one of its digest and annotations is there.
    pub(crate) fn add(&mut self, descriptor: &Descriptor) {
        let same =
            |it: Descriptor| it.digest == descriptor.digest && it.annotations == descriptor.annotations;
        if !self.known().any(same) {
            let json = serde_json::to_value(descriptor);
            self.manifests.push(json.expect("a descriptor holds text and numbers only"));
        }
    }

    /// Takes out those that have this annotation.
    pub(crate) fn remove(&mut self, annotation: &str, value: &str) {
        self.manifests.retain(|it| it["annotations"][annotation].as_str() != Some(value));
    }
}
