//! Coordinates are not the model: offsets and couplings change, p(v) does not, and log Z changes by the constant.

use crate::common::{Numbers, close, kinds, only, pairs, random_rows, small_rbm};
use harmonium::units::Kind;
use harmonium::{Exact, Layout, Rbm};
use ndarray::{Array1, Array2};

fn random_offset(n: usize, r: &mut Numbers) -> Array1<f64> {
    (0..n).map(|_| 2.0 * r.uniform() - 1.0).collect()
}

fn log_p(rbm: &Rbm<f64>, rows: &Array2<f64>) -> Array1<f64> {
    Exact::new(rbm).unwrap().log_likelihood(rows.view()).unwrap()
}

#[test]
fn a_thousand_moves_leave_log_p_within_1e10() {
    for (seed, v, h) in pairs("a_thousand_moves_leave_log_p_within_1e10") {
        let start = small_rbm(&v, &h, true, seed);
        let mut r = Numbers::new(900 + seed);
        let rows = random_rows(start.visible(), 4, &mut r);
        let mut rbm = start.clone();
        for _ in 0..1000 {
            let (a, b) =
                (random_offset(rbm.visible().columns(), &mut r), random_offset(rbm.hidden().columns(), &mut r));
            rbm.recenter(a.view(), b.view()).unwrap();
            assert_eq!((rbm.visible().offset(), rbm.hidden().offset()), (a.view(), b.view()));
        }
        assert_eq!(rbm.weights(), start.weights(), "{v} with {h}: moving offsets leaves W alone");
        for (a, b) in log_p(&rbm, &rows).iter().zip(&log_p(&start, &rows)) {
            assert!((a - b).abs() <= 1e-10, "{v} with {h}: {a} against {b}");
        }
    }
}

/// E and log Z in the new coordinates differ from the old by the same constant, and folding takes the offsets to zero.
#[test]
fn folding_gives_the_plain_model_and_energies_shift_by_a_constant() {
    for (seed, v, h) in pairs("folding_gives_the_plain_model_and_energies_shift_by_a_constant") {
        let rbm = small_rbm(&v, &h, true, 50 + seed);
        let plain = rbm.folded();
        assert!(plain.visible().offset().iter().chain(plain.hidden().offset()).all(|x| *x == 0.0));
        let (a, b) = (rbm.lower(), plain.lower());
        let shift = b.constant() - a.constant();
        let mut r = Numbers::new(seed);
        for _ in 0..5 {
            let x = a.visible().encode(random_rows(rbm.visible(), 1, &mut r).view(), 1).unwrap();
            let y = a.hidden().encode(random_rows(rbm.hidden(), 1, &mut r).view(), 1).unwrap();
            let moved = b.energy(x.row(0), y.row(0)) - a.energy(x.row(0), y.row(0));
            close(moved, shift, 1e-12, &format!("{v} with {h}"));
        }
        let (old, new) = (Exact::new(&rbm).unwrap().log_z(), Exact::new(&plain).unwrap().log_z());
        close(new, old - shift, 1e-12, &format!("{v} with {h} log Z"));
    }
}

/// Every chart of a family is reached from every other and back, with the distribution and W̃ unchanged.
#[test]
fn couplings_convert_into_each_other_exactly() {
    let mut seen = 0;
    for (seed, v, h) in pairs("couplings_convert_into_each_other_exactly") {
        let Some(kind) = v.kind() else { continue };
        for to in kinds().into_iter().filter(|to| to.name() == kind.name() && to != kind) {
            if to.unit::<f64>().width() != kind.unit::<f64>().width() {
                continue;
            }
            seen += 1;
            let start = small_rbm(&v, &h, true, 20 + seed);
            let mut r = Numbers::new(seed);
            let rows = random_rows(start.visible(), 4, &mut r);
            let (a, b) = (start.visible().offset().to_owned(), start.hidden().offset().to_owned());
            let mut rbm = start.clone();
            rbm.rechart(Layout::new(to.clone(), 3), h.layout(2), a.view(), b.view()).unwrap();
            assert_eq!(rbm.visible().kind(), Some(&to));
            for (p, q) in log_p(&rbm, &rows).iter().zip(&log_p(&start, &rows)) {
                assert!((p - q).abs() <= 1e-12, "{v} to {to}: {p} against {q}");
            }
            rbm.rechart(v.layout(3), h.layout(2), a.view(), b.view()).unwrap();
            for (p, q) in rbm.weights().iter().zip(start.weights()) {
                close(*p, *q, 1e-14, "W comes back");
            }
            for (p, q) in rbm.hidden().par().iter().zip(start.hidden().par()) {
                close(*p, *q, 1e-13, "b comes back");
            }
        }
    }
    assert!(seen > 0 || only().is_some());
}

/// A change of coordinates that is not one is refused by name, and the model is untouched.
#[test]
fn nonsense_coordinates_are_refused() {
    let kind = |name: &str, options: &[(&str, &str)]| {
        Kind::new(name, &options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect())
    };
    let (bernoulli, cho) = (kind("bernoulli", &[]).unwrap(), kind("gaussian", &[]).unwrap());
    let goodfellow = kind("gaussian", &[("coupling", "goodfellow")]).unwrap();
    let layer = |kind: &Kind, sites| Layout::new(kind.clone(), sites);
    let mut rbm = small_rbm(&cho, &cho, true, 1);
    let before = rbm.clone();
    let (a, b) = (Array1::zeros(3), Array1::zeros(2));
    let refused = |r: harmonium::Result<()>, word: &str| {
        let text = r.unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    };
    refused(rbm.rechart(layer(&bernoulli, 3), layer(&cho, 2), a.view(), b.view()), "cannot become bernoulli");
    refused(rbm.rechart(layer(&cho, 3), layer(&goodfellow, 2), a.view(), b.view()), "visible layers only");
    refused(rbm.recenter(b.view(), b.view()), "visible offset");
    refused(rbm.recenter(Array1::from_elem(3, f64::NAN).view(), b.view()), "NaN");
    assert_eq!(rbm, before);
    assert!(
        Rbm::<f64>::new(bernoulli.clone(), 2, goodfellow, 2).unwrap_err().to_string().contains("visible layers only")
    );
    assert!(Rbm::<f64>::new(bernoulli.clone(), 0, bernoulli, 2).unwrap_err().to_string().contains("0 sites"));
    assert!(kind("potts", &[]).unwrap_err().to_string().contains("missing"));
    assert!(kind("potts", &[("states", "1")]).unwrap_err().to_string().contains("'1'"));
    assert!(kind("gaussian", &[("coupling", "magic")]).unwrap_err().to_string().contains("magic"));
    assert!(kind("spin", &[("coupling", "cho")]).unwrap_err().to_string().contains("no option"));
    assert!(kind("boson", &[]).unwrap_err().to_string().contains("bernoulli, spin"));
}

/// Large offsets against σ are warned about, small ones are not.
#[test]
fn large_offsets_are_warned_about() {
    let cho = Kind::new("gaussian", &Default::default()).unwrap();
    let bernoulli = Kind::new("bernoulli", &Default::default()).unwrap();
    let mut rbm = small_rbm(&cho, &bernoulli, false, 3);
    assert_eq!(rbm.offset_warning(), None);
    rbm.recenter(ndarray::aview1(&[0.0, 1e5, 0.0]), Array1::zeros(2).view()).unwrap();
    assert!(rbm.offset_warning().unwrap().contains("visible offset 1"));
}
