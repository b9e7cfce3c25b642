//! The study of hard models is right about the truth: small models of every family are enumerated.

#[path = "../../examples/hard_models/models/mod.rs"]
#[allow(dead_code)]
mod models;

use harmonium::logz::{LogZOptions, Verdict, log_z};

/// One model of each of some families with modes that annealing alone misses: what is certain is right, and most are certain.
#[test]
fn what_is_certain_is_right_on_hard_models() {
    let some =
        ["two-modes", "unequal-modes", "golf-holes", "memorised-rows", "spin-patterns-strong", "entropic-barrier"];
    let mut certain = 0;
    for family in models::FAMILIES.iter().filter(|family| some.contains(&family.name)) {
        let (rbm, truth) = family.model(1, false).unwrap();
        let options = LogZOptions { collapse: false, budget: 2e12, ..LogZOptions::default() };
        let z = log_z(&rbm, "modes", options, &|_, _| ()).unwrap();
        let off = (z.value - truth).abs();
        let wrong = off > 4.0 * z.std_err && off > 0.1;
        assert!(!(wrong && z.verdict == Verdict::Certain), "{}: {z}, truth {truth}", family.name);
        certain += usize::from(z.verdict == Verdict::Certain);
    }
    assert!(certain >= 4, "{certain} of {}", some.len());
}

#[test]
fn closed_forms_agree_with_enumeration() {
    let ordinary = models::FAMILIES.iter().filter(|family| !family.name.starts_with(models::TRAP));
    assert!(ordinary.map(|family| family.models).sum::<usize>() >= 150);
    for family in models::FAMILIES {
        let difference = family.largest_difference().unwrap();
        assert!(difference < 1e-10, "{}: {difference:e}", family.name);
    }
}
