//! The harness of the end-to-end tests: it knows the two built programs and `subako-manifest`'s
//! types, and nothing else of the workspace.
//!
//! A test makes a [`package::Package`], runs [`programs::subakoc`] or [`programs::loader`] on it
//! and looks at the [`run::Run`]. What is right stands in the test, or in the head of a fixture
//! ([`fixture::Fixture`]), written by hand from the spec.

pub mod bundle;
pub mod fixture;
pub mod https_server;
pub mod keys;
pub mod name_server;
pub mod oci_registry;
pub mod package;
pub mod programs;
pub mod remake;
pub mod run;
pub mod tamper;
pub mod wasi_calls;
pub mod zip_file;

use std::path::{Path, PathBuf};

/// The root of the workspace.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate is a folder of the workspace")
}

/// A file of `tests/fixtures`.
#[must_use]
pub fn fixture_path(path: &str) -> PathBuf {
    workspace().join("tests/fixtures").join(path)
}

/// Whether this runs in CI, where nothing may be skipped.
#[must_use]
pub fn in_ci() -> bool {
    std::env::var_os("CI").is_some_and(|value| !value.is_empty())
}
