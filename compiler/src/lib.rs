//! From a function package to a bundle of native code, a step a module, in the order of
//! [`pipeline`]: read, check, rewrite, precompile, discover, pack, sign.

pub mod check;
pub mod discover;
pub mod pack;
pub mod pipeline;
pub mod precompile;
pub mod read;
pub mod rebuild;
pub mod rewrite;
pub mod sign;

pub use subako_manifest::progress;
