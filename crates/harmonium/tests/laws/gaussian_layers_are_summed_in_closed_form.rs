//! Enumeration against a Gaussian layer uses a quadratic form; it gives what a sum over all states gives, in many blocks too.

use crate::common::{Numbers, all_states, random_rbm};
use harmonium::units::{Kind, Options};
use harmonium::{Exact, Stats};
use ndarray::Array2;

#[test]
fn log_z_and_statistics_are_those_of_a_sum_over_all_states() {
    let gaussian = Kind::new("gaussian", &Options::new()).unwrap();
    let potts = Kind::new("potts", &[("states".to_string(), "3".to_string())].into()).unwrap();
    let kind = |name: &str| Kind::new(name, &Options::new()).unwrap();
    // More states than a block has, and fewer.
    for (finite, sites) in [(kind("bernoulli"), 13), (kind("spin"), 12), (potts.clone(), 8), (potts, 2)] {
        for gaussian_is_visible in [true, false] {
            let (v, n, h, m) = match gaussian_is_visible {
                true => (&gaussian, 4, &finite, sites),
                false => (&finite, sites, &gaussian, 4),
            };
            let rbm = random_rbm(v, n, h, m, true, 0.4, &mut Numbers::new(sites as u64));
            let exact = Exact::new(&rbm).unwrap();
            let (lowered, x) = (exact.lowered(), all_states(&finite, sites));
            let pass = if gaussian_is_visible { lowered.down() } else { lowered.up() };
            let log_p = pass.free_energy(x.view()).mapv(|f| -f - exact.log_z());
            let total: f64 = log_p.iter().map(|l| l.exp()).sum();
            assert!((total - 1.0).abs() < 1e-10, "{finite}: {total}");
            let direct = pass.stats(x.view(), log_p.mapv(f64::exp).view()).mean();
            let found = exact.stats();
            let Stats { visible, hidden, cross, .. } = if gaussian_is_visible { swapped(&found) } else { found };
            for (a, b) in [(visible, direct.visible), (hidden, direct.hidden), (cross, direct.cross)] {
                assert!((&a - &b).iter().all(|x: &f64| x.abs() < 1e-9), "{finite} x {sites}: {a} {b}");
            }
        }
    }
}

/// With the layers exchanged.
fn swapped(stats: &Stats<f64>) -> Stats<f64> {
    let transposed: Array2<f64> = stats.cross.t().to_owned();
    Stats { visible: stats.hidden.clone(), hidden: stats.visible.clone(), cross: transposed, weight: stats.weight }
}
