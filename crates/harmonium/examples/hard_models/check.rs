//! The closed forms are right: small models of every family are enumerated.

use super::families::{FAMILIES, Family};
use harmonium::{Exact, Result};

/// The largest difference between the closed form and enumeration over all numbers of a family, in nats.
pub fn largest_difference(family: &Family) -> Result<f64> {
    let mut largest: f64 = 0.0;
    for number in 0..family.models {
        let (rbm, truth) = family.model(number, true)?;
        largest = largest.max((Exact::new(&rbm)?.log_z() - truth).abs());
    }
    Ok(largest)
}

/// Prints it for every family.
pub fn print() -> Result<()> {
    for family in FAMILIES {
        println!("{:24} {} models, largest difference {:.1e}", family.name, family.models, largest_difference(family)?);
    }
    Ok(())
}
