//! From a function package to a bundle of native code, a step a module, in the order of
//! [`pipeline`]: read, check, rewrite, precompile, discover, pack, sign.

pub mod check;
pub mod discover;
pub mod pack;
pub mod pipeline;
pub mod precompile;
pub mod read;
pub mod rebuild;
pub mod record;
pub mod rewrite;
pub mod sbom;
pub mod sign;

pub use subako_manifest::progress;
pub use subako_registry::unfinished;
