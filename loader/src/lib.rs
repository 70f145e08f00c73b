//! Runs a bundle of native code, a step a module: [`verify`], [`pick`], [`map`],
//! [`instantiate`], [`call`], [`render`].
//!
//! A later step cannot be called without the type that the earlier one gives, so native code
//! that nobody vouches for cannot reach the one place that maps it.

pub mod answer;
pub mod bundle_file;
pub mod cache;
pub mod call;
pub mod engine;
pub mod host;
pub mod http;
pub mod instantiate;
pub mod map;
pub mod message;
pub mod outcome;
pub mod ownership;
pub mod package_files;
pub mod pick;
pub mod relay;
pub mod render;
pub mod scratch;
pub mod signals;
pub mod timings;
pub mod verify;
pub mod volume;
