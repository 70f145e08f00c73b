//! x

pub mod answer;
pub mod render;
