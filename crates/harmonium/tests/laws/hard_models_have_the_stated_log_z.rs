//! The study of hard models is right about the truth: small models of every family are enumerated.

#[path = "../../examples/hard_models/models/mod.rs"]
#[allow(dead_code)]
mod models;

#[test]
fn closed_forms_agree_with_enumeration() {
    let ordinary = models::FAMILIES.iter().filter(|family| !family.name.starts_with(models::TRAP));
    assert!(ordinary.map(|family| family.models).sum::<usize>() >= 150);
    for family in models::FAMILIES {
        let difference = family.largest_difference().unwrap();
        assert!(difference < 1e-10, "{}: {difference:e}", family.name);
    }
}
