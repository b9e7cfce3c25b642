//! The laws of the library, one file each, named as sentences. One binary, so that they are compiled and linked once.
#![allow(clippy::unwrap_used)] // in helpers too: a failed helper is a failed test

mod agrees_with_the_oracle;
mod backends_compute_what_the_model_says;
mod common;
mod completed_tables_are_independent_draws;
mod conditionals_are_those_of_the_model;
mod contributing_is_compiled;
mod couplings_are_those_of_the_pairs;
mod devices;
mod diagnostics_agree_with_arviz;
mod draws_follow_the_conditionals;
mod errata;
mod estimates_of_log_z_are_honest;
mod exact_methods_are_exact;
mod factor_analysis_is_a_model;
mod gaussian_layers_are_summed_in_closed_form;
mod gibbs_sampling_leaves_the_model_invariant;
mod gradients_are_derivatives;
mod hard_models_have_the_stated_log_z;
mod instructions_are_those_asked_for;
mod learners_follow_their_gradient;
mod learning_reaches_the_maximum_likelihood;
mod measures_are_what_they_say;
mod model_files_cannot_lie;
mod moving_the_offsets_never_moves_the_distribution;
mod samplers_leave_the_model_invariant;
mod temperatures_scale_the_energy;
mod tiny_example;
mod training_is_reproducible;
mod units_are_exponential_families;
mod unknown_cells_are_summed_over;
