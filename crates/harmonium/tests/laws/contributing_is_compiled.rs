//! The examples of CONTRIBUTING.md are files that are compiled and tested, and units for the laws alone are not offered to users.

use harmonium::units::Kind;

const TEXT: &str = include_str!("../../../../CONTRIBUTING.md");

/// The code blocks of CONTRIBUTING.md in Rust, in order.
fn blocks() -> Vec<&'static str> {
    TEXT.split("```rust\n").skip(1).filter_map(|rest| rest.split_once("```\n").map(|(code, _)| code)).collect()
}

#[test]
fn the_code_blocks_of_contributing_are_the_files_that_are_compiled() {
    let files = [include_str!("../../src/units/ternary.rs"), include_str!("../../src/measure/weight_size.rs")];
    assert_eq!(blocks(), files);
}

#[test]
fn the_laws_have_units_with_three_and_four_values_that_users_cannot_choose() {
    let numbers = |q| move |k: &Kind| k.unit::<f64>().width() == 1 && k.unit::<f64>().n_states() == Some(q);
    let examples = Kind::examples();
    assert!(examples.iter().any(numbers(3)) && examples.iter().any(numbers(4)));
    assert!(Kind::new("uneven", &Default::default()).is_ok());
    assert!(Kind::LIST.iter().all(|kind| kind.0 != "uneven"));
    let refused = Kind::new("unknown", &Default::default()).unwrap_err().to_string();
    assert!(!refused.contains("uneven") && refused.contains("bernoulli"), "{refused}");
}
