//! `subako_http`, the one host module beside WASI (ABI 1, "HTTP: `subako_http`"): requests that
//! the loader makes for a module, under the policy of an operator. docs/http.md says what a
//! policy is and what each error means.
//!
//! A request goes this way, at each hop: `request` → `connect` (allowed? `resolve`, every
//! address checked by [`destination`], connected to just that one) → `exchange` → `redirect`
//! or `download` → `answer`. What a [`credential`] added on the way out is struck out on the way
//! back by `mask`.

pub mod allow;
mod answer;
mod client;
mod connect;
pub mod credential;
mod decode;
pub mod destination;
mod download;
mod exchange;
pub mod failure;
pub mod fields;
mod imports;
mod mask;
pub mod origin;
mod payload;
mod policy;
mod redirect;
mod request;
mod resolve;

use std::path::PathBuf;
use std::sync::Arc;

pub use imports::function;
pub use policy::Policy;

use crate::host::preopens::Preopens;
use client::Client;

/// What `subako_http` keeps for one call.
#[derive(Default)]
pub struct Http {
    /// None: no requests are made at all, as in discovery.
    policy: Option<Arc<Policy>>,
    volume_tmp: Option<PathBuf>,
    volume_data: Option<PathBuf>,
    client: Option<Client>,
    /// The answer that waits for `read_response`.
    held: Option<Vec<u8>>,
}

impl Http {
    /// Requests under `policy`, with the volume behind `preopens`.
    #[must_use]
    pub fn new(policy: Option<Arc<Policy>>, preopens: &Preopens) -> Self {
        Self {
            policy,
            volume_tmp: preopens.volume_tmp.clone(),
            volume_data: preopens.volume_data.clone(),
            ..Self::default()
        }
    }
}
