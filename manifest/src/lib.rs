//! What the compiler and the loader must agree on: the package that comes in, the rules for
//! its tools, the bundle that goes out, and how all three are named, digested and refused.
//!
//! Pure data: no engine, no network, no clock, no output.

#![forbid(unsafe_code)]

pub mod abi;
pub mod archive;
pub mod bundle;
pub mod diagnostic;
pub mod digest;
pub mod envelope;
pub mod index;
pub mod key;
pub mod limits;
pub mod package;
pub mod progress;
pub mod quantity;
pub mod statement;
pub mod target;
pub mod text;
pub mod tool;
pub mod trust;
