//! A registry in memory, of OCI distribution 1.1: other than Debian's it lists referrers itself.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use subako_manifest::digest::Digest;

use super::server::{Request, Response, Server};

/// What is stored.
#[derive(Debug, Default)]
pub struct Stored {
    /// By digest.
    pub blobs: BTreeMap<String, Vec<u8>>,
    /// Type and bytes, by digest and by tag.
    pub manifests: BTreeMap<String, (String, Vec<u8>)>,
}

/// The registry.
#[derive(Debug, Clone, Default)]
pub struct Memory {
    stored: Arc<Mutex<Stored>>,
}

impl Memory {
    /// A server for it. `instead` can answer a request in its place.
    pub fn serve(&self, instead: impl Fn(&Request) -> Option<Response> + Send + Sync + 'static) -> Server {
        let memory = self.clone();
        Server::start(move |request| Some(instead(request).unwrap_or_else(|| memory.answer(request))))
    }

    /// What is stored, to look at and to change.
    pub fn stored(&self) -> MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an honest registry answers.
    ///
    /// # Panics
    ///
    /// When the request is none of the protocol.
    #[must_use]
    pub fn answer(&self, request: &Request) -> Response {
        let mut stored = self.stored();
        let last = request.place().rsplit('/').next().unwrap_or_default().to_owned();
        let method = request.method.as_str();
        if request.place().contains("/blobs/uploads/") {
            if method == "POST" {
                // A path alone, with a query that has to stay.
                return Response::new(202, "").with("Location", format!("{}1?state=a%20b", request.place()));
            }
            assert_eq!(request.query("state"), Some("a%20b"));
            let told = request.query("digest").expect("the digest is told").replace("%3A", ":");
            if Digest::of(&request.body).to_string() != told {
                return Response::new(
                    400,
                    r#"{"errors":[{"code":"DIGEST_INVALID","message":"it is another"}]}"#,
                );
            }
            stored.blobs.insert(told.clone(), request.body.clone());
            return Response::new(201, "").with("Docker-Content-Digest", told);
        }
        if request.place().contains("/blobs/") {
            let Some(blob) = stored.blobs.get(&last) else { return Response::new(404, "") };
            let length = blob.len().to_string();
            let from = request
                .header("range")
                .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok());
            return match from {
                Some(from) => Response::new(206, &blob[from..])
                    .with("Content-Range", format!("bytes {from}-{}/{length}", blob.len() - 1)),
                None => Response::new(200, blob.as_slice()).with("Content-Length", length),
            };
        }
        if request.place().contains("/referrers/") {
            return Response::new(200, stored.referrers(&last).to_string())
                .with("Content-Type", "application/vnd.oci.image.index.v1+json");
        }
        assert!(request.place().contains("/manifests/"), "{} {}", request.method, request.path);
        if method != "PUT" {
            let Some((media_type, bytes)) = stored.manifests.get(&last) else {
                return Response::new(404, "");
            };
            return Response::new(200, bytes.as_slice()).with("Content-Type", media_type);
        }
        let digest = Digest::of(&request.body).to_string();
        let media_type = request.header("content-type").expect("a manifest has a type").to_owned();
        let json: Value = serde_json::from_slice(&request.body).expect("a manifest is JSON");
        // What a manifest names is there before it.
        let layers = json["layers"].as_array().expect("a manifest has layers");
        for named in layers.iter().chain([&json["config"]]) {
            let named = named["digest"].as_str().expect("a descriptor has a digest");
            if !stored.blobs.contains_key(named) {
                return Response::new(404, r#"{"errors":[{"code":"MANIFEST_BLOB_UNKNOWN"}]}"#);
            }
        }
        for name in [last, digest.clone()] {
            stored.manifests.insert(name, (media_type.clone(), request.body.clone()));
        }
        let answer = Response::new(201, "").with("Docker-Content-Digest", digest);
        match json["subject"]["digest"].as_str() {
            Some(subject) => answer.with("OCI-Subject", subject),
            None => answer,
        }
    }
}

impl Stored {
    fn referrers(&self, subject: &str) -> Value {
        let mut listed = Vec::new();
        for (name, (media_type, bytes)) in &self.manifests {
            let json: Value = serde_json::from_slice(bytes).expect("it was read before");
            if name.starts_with("sha256:") && json["subject"]["digest"] == subject {
                listed.push(json!({
                    "mediaType": media_type,
                    "digest": name,
                    "size": bytes.len(),
                    "artifactType": json["artifactType"],
                }));
            }
        }
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": listed})
    }
}
