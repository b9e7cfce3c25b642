//! Placeholder.
pub const TRAINED: &str = "trained-";
