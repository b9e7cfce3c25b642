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
fn users_cannot_see_the_units_of_the_laws() {
    let offered: Vec<&str> = Kind::LIST.iter().map(|kind| kind.0).collect();
    for kind in ["ternary", "uneven"] {
        assert!(Kind::new(kind, &Default::default()).is_ok());
        assert!(!offered.contains(&kind));
    }
    let refused = Kind::new("trinary", &Default::default()).unwrap_err().to_string();
    assert!(!refused.contains("ternary") && refused.contains("bernoulli"), "{refused}");
}
