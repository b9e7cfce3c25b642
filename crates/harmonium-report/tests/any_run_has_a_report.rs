//! Every run has a report: a well-formed page with the figures that apply, and the same bytes every time.

#![allow(clippy::unwrap_used)] // test helpers are not recognised as tests

use harmonium::data::{self, Preprocess};
use harmonium::events::{Event, Measures, Progress, Reason};
use harmonium::measure::{Idle, MEASURES};
use harmonium::units::Kind;
use harmonium::{Layer, Layout, Rbm};
use harmonium_report::{
    ChainTraces, Compared, Comparison, Picture, Rendered, ReportData, Words, compare, html, pictures, render,
};
use ndarray::{Array2, array};

/// A model and rows, which a test changes as it needs.
struct Case {
    rbm: Rbm<f32>,
    data: Array2<f32>,
    held_out: Array2<f32>,
    samples: Array2<f32>,
    trace: Array2<f64>,
    alphabet: &'static str,
    words: Vec<data::Words>,
    image: Option<(usize, usize)>,
    events: Vec<Event>,
    preprocess: Preprocess,
}

fn kind(name: &str) -> Kind {
    let options = if name == "potts" { [("states".to_string(), "4".to_string())].into() } else { Default::default() };
    Kind::new(name, &options).unwrap()
}

/// Numbers between −1 and 1 without a pattern.
fn noise(i: usize, j: usize) -> f32 {
    ((i * 31 + j * 17 + 1) as f32).sin()
}

fn case(visible: &str, n: usize, hidden: &str, m: usize, rows: usize) -> Case {
    let (v, h) = (Layer::new(kind(visible), n), Layer::new(kind(hidden), m));
    let weights = Array2::from_shape_fn((v.columns(), h.columns()), |(i, j)| 0.1 * noise(i, j));
    let value = |i: usize, j: usize| match visible {
        "gaussian" => noise(i, j),
        "spin" => noise(i, j).signum(),
        "potts" => ((i + j) % 4) as f32,
        _ => f32::from(noise(i, j) > 0.0),
    };
    Case {
        rbm: Rbm::from_parts(v, h, weights).unwrap(),
        data: Array2::from_shape_fn((rows, n), |(i, j)| value(i, j)),
        held_out: Array2::from_shape_fn((rows / 2, n), |(i, j)| value(i + 3, j)),
        samples: Array2::from_shape_fn((rows, n), |(i, j)| value(i + 7, j)),
        trace: Array2::from_shape_fn((50, 6), |(i, j)| f64::from(noise(i, j))),
        alphabet: "",
        words: Vec::new(),
        image: None,
        events: (1..40).map(progress).collect(),
        preprocess: Preprocess::default(),
    }
}

fn progress(k: u64) -> Event {
    let measures = |gap: f64| Measures {
        rows: 10,
        reconstruction_error: 1.0 / k as f64,
        free_energy: -(k as f64) + gap,
        log_likelihood: Some(-20.0 / k as f64 - gap),
        ..Measures::default()
    };
    let (train, valid) = (measures(0.0), Some(measures(0.5)));
    Event::Progress(Progress {
        update: 50 * k,
        epoch: 5.0 * k as f64,
        learning_rate: 0.1,
        gradient_norm: 2.0,
        train,
        valid,
        ..Progress::default()
    })
}

impl Case {
    fn with<A>(&self, f: impl FnOnce(&ReportData) -> A) -> A {
        f(&ReportData {
            title: "A <run> & \"more\"".into(),
            verdict: Some(&Words {
                headline: "Learned.".into(),
                sentences: vec!["It went <well>.\u{0}".into()],
                finding: None,
                advice: None,
            }),
            notes: &[],
            facts: vec![("rows".into(), "10".into())],
            events: &self.events,
            config_toml: "seed = 1 # <&>",
            rbm: &self.rbm,
            data: self.data.view(),
            held_out: self.held_out.view(),
            samples: self.samples.view(),
            alphabet: self.alphabet,
            idle: Some(Idle { off: 0, on: 1, constant: 2 }),
            mixing: Some(ChainTraces {
                trace: self.trace.view(),
                from_data: 3,
                counted_from: 25,
                r_hat: Some(1.001),
                ess: Some(100.0),
            }),
            reconstructions: self.data.view(),
            image: self.image,
            columns: &["first".into()],
            words: &self.words,
            preprocess: &self.preprocess,
        })
    }

    /// Renders a report, checks what holds for every one, and returns the names of its pictures.
    fn check(&self) -> Vec<String> {
        let Rendered { html, pictures } = self.with(render);
        well_formed(&html);
        for address in ["src=\"http", "href=\"http", "url(", "<script", "@import"] {
            assert!(!html.contains(address), "the page needs the network or runs a script: {address}");
        }
        // The base64 of images may contain any letters.
        let drawn: String = html.split("href=\"data:").map(|part| &part[part.find('"').unwrap_or(0)..]).collect();
        let drawn = drawn.replace("information", "");
        for not_drawn in ["NaN", "inf"] {
            assert!(!drawn.contains(not_drawn), "{not_drawn} in the page");
        }
        for Picture { name, bytes } in &pictures {
            if name.ends_with(".svg") {
                well_formed(std::str::from_utf8(bytes).unwrap());
            } else {
                decodes(bytes);
            }
        }
        let mut names: Vec<String> = pictures.into_iter().map(|p| p.name).collect();
        names.sort_unstable();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all, "two pictures have the same name");
        names
    }

    fn has(&self, picture: &str) -> bool {
        self.check().iter().any(|name| name == picture)
    }
}

fn well_formed(text: &str) {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(text, options).unwrap();
}

fn decodes(png: &[u8]) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    reader.next_frame(&mut pixels).unwrap();
}

#[test]
fn every_pair_of_layers_has_a_report() {
    for visible in ["bernoulli", "spin", "gaussian", "potts"] {
        for hidden in ["bernoulli", "spin", "gaussian", "potts"] {
            let mut case = case(visible, 12, hidden, 5, 30);
            for image in [None, Some((3, 4)), Some((1, 12)), Some((12, 1)), Some((5, 5)), Some((0, 12))] {
                case.image = image;
                let is_image = image.is_some_and(|(h, w)| h * w == 12);
                assert_eq!(case.has("filters.png"), is_image);
                let names = case.check();
                let has = |name: &str| names.iter().any(|n| n == name);
                assert_eq!(
                    (has("correlations.svg"), has("covariances.svg")),
                    (visible == "gaussian", visible != "gaussian")
                );
                assert_eq!((has("logo-data.svg"), has("logo-units.svg")), (visible == "potts", visible == "potts"));
                for name in
                    ["log-likelihood", "activity", "free-energies", "chains", "principal-data", "principal-samples"]
                {
                    assert!(has(&format!("{name}.svg")), "{name} is not in {names:?}");
                }
            }
        }
    }
}

#[test]
fn the_same_run_has_the_same_bytes() {
    let mut case = case("gaussian", 2, "bernoulli", 6, 40);
    let first = case.with(render);
    assert_eq!(first, case.with(render));
    assert_eq!((first.html, first.pictures), (case.with(html), case.with(pictures)));
    case.image = Some((1, 2));
    assert_eq!(case.with(render), case.with(render));
}

#[test]
fn a_plane_shows_its_density_exact_or_not() {
    let small = case("gaussian", 2, "bernoulli", 6, 40);
    assert!(small.has("density.svg") && small.has("log-density.png") && small.has("hidden-means.png"));
    assert!(small.with(html).contains("normalised exactly"));
    let large = case("gaussian", 2, "bernoulli", 60, 40);
    assert!(large.with(html).contains("not normalised"));
    assert!(!case("bernoulli", 2, "bernoulli", 6, 40).has("density.svg"));
}

/// The largest density in the picture is that of the formula, per unit of the data.
#[test]
fn a_density_is_in_the_units_of_the_data() {
    let mut case = case("gaussian", 2, "bernoulli", 1, 40);
    case.rbm = Rbm::new(kind("gaussian"), 2, kind("bernoulli"), 1).unwrap();
    case.data = array![[-1.0, -1.0], [1.0, 1.0]];
    case.preprocess = Preprocess { shift: Some(array![5.0, 7.0]), scale: Some(array![0.1, 0.1]), binarize: None };
    // A normal density at its mean, 1/2π, per (1/10)².
    assert!(case.with(html).contains(">16</text>"));
}

#[test]
fn odd_inputs_have_a_report() {
    let mut odd = case("bernoulli", 4, "bernoulli", 1, 1);
    odd.check();
    odd.events = Vec::new();
    odd.check();
    odd.samples = Array2::zeros((0, 4));
    odd.check();
    odd.data = Array2::zeros((0, 4));
    odd.check();
    odd.data = Array2::zeros((3, 9));
    odd.check();
    let constant =
        Case { data: Array2::ones((5, 4)), samples: Array2::ones((5, 4)), ..case("gaussian", 4, "spin", 2, 5) };
    constant.check();
    let plane = Case { data: Array2::ones((5, 2)), samples: Array2::ones((5, 2)), ..case("gaussian", 2, "spin", 2, 5) };
    assert!(plane.has("density.svg"));
    let mut missing = case("gaussian", 2, "spin", 2, 5);
    missing.data[[0, 0]] = f32::NAN;
    missing.samples[[1, 1]] = f32::INFINITY;
    missing.check();
    missing.image = Some((2, 1));
    missing.check();
}

#[test]
fn missing_values_leave_gaps() {
    let mut case = case("bernoulli", 4, "bernoulli", 3, 5);
    for (i, event) in case.events.iter_mut().enumerate() {
        let Event::Progress(p) = event else { continue };
        p.valid = None;
        p.train.free_energy = [f64::NAN, f64::INFINITY, 1.0, f64::MAX, -1e300][i % 5];
        p.train.reconstruction_error = f64::NAN;
        p.train.log_likelihood = None;
        p.gradient_norm = [0.0, 1e-300, 1e300][i % 3];
    }
    assert!(case.has("free-energy.svg") && !case.has("reconstruction-error.svg") && !case.has("log-likelihood.svg"));
    case.events.truncate(1);
    case.check();
}

/// Every registered measure has a curve; those that are not means over rows are in a folded section.
#[test]
fn every_measure_has_a_curve() {
    let mut case = case("bernoulli", 4, "bernoulli", 3, 5);
    for (k, event) in case.events.iter_mut().enumerate() {
        let Event::Progress(p) = event else { continue };
        for quantity in MEASURES.iter().flat_map(|m| m.quantities) {
            p.train.set(quantity.name, 1.0 + k as f64);
            p.more.insert(quantity.name.into(), 2.0 + k as f64);
        }
        p.more.insert("free_energy_gap_std_err".into(), 0.25);
    }
    let names = case.check();
    for measure in MEASURES {
        for family in measure.families() {
            let name = family[0].family.replace(' ', "-");
            assert!(names.contains(&format!("{name}.svg")), "{name} is not in {names:?}");
        }
    }
    let page = case.with(html);
    assert_eq!(page.matches("<details").count(), 2, "measures and configuration are folded");
    assert!(!page.contains("Idle hidden units: none."));
    assert!(page.contains("largest 40") && page.contains("5th 40") && page.contains("40.00 ± 0.25"));
}

#[test]
fn idle_units_that_do_not_exist_have_a_sentence_and_no_plot() {
    let mut case = case("bernoulli", 4, "bernoulli", 3, 5);
    for event in &mut case.events {
        let Event::Progress(p) = event else { continue };
        for name in ["dead_units", "saturated_units", "still_units"] {
            p.train.set(name, 0.0);
        }
    }
    assert!(!case.has("idle-hidden-units.svg"));
    assert!(case.with(html).contains("Idle hidden units: none."));
}

/// Probabilities of binary columns and of Potts states are drawn on an axis from 0 to 1; means of real columns are not.
#[test]
fn columns_of_two_values_show_probabilities() {
    for (kind, words) in [("bernoulli", "P(1)"), ("spin", "P(1)"), ("potts", "robability of the state")] {
        let page = case(kind, 4, "bernoulli", 3, 30).with(html);
        assert!(page.contains(words) && page.contains("95 % binomial intervals"), "{kind}");
        assert!(!page.contains("standard deviation"), "{kind}");
    }
    assert!(case("gaussian", 4, "bernoulli", 3, 30).with(html).contains("mean and standard deviation"));
}

/// In a mixed table the columns of two values and those of numbers have plots of their own, and states their words.
#[test]
fn mixed_columns_have_axes_that_fit_and_words() {
    let layout = Layout::parse("bernoulli*1,potts(states=3)*1,gaussian*2").unwrap();
    let mut case = case("bernoulli", 4, "bernoulli", 3, 30);
    case.rbm = Rbm::with_layouts(layout, Layout::parse("bernoulli*3").unwrap()).unwrap();
    case.preprocess.scale = Some(ndarray::arr1(&[1.0, 1.0, 1e-3, 1e4]));
    let words =
        |words: &[&str]| data::Words { words: words.iter().map(ToString::to_string).collect(), ..Default::default() };
    case.words = vec![words(&["no", "yes"]), words(&["red", "green", "blue"])];
    let page = case.with(html);
    for text in ["first = yes", "column 2 = blue", "column 4", "standard deviations from the mean of the data"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(case.has("columns.svg") && case.has("columns-of-numbers.svg"));
}

#[test]
fn states_have_the_letters_of_the_alphabet() {
    let mut case = case("potts", 40, "bernoulli", 3, 20);
    assert!(case.with(html).contains(">3</text>"));
    // Characters that would break the page are escaped; invisible ones are replaced by numbers.
    case.alphabet = "A<\u{202e}";
    case.check();
    let page = case.with(html);
    assert!(page.contains(">A</text>") && page.contains(">&lt;</text>") && page.contains(">2</text>"));
    assert!(!page.contains('\u{202e}'));
}

#[test]
fn without_the_data_there_is_still_a_page() {
    let mut case = case("bernoulli", 16, "bernoulli", 3, 20);
    for rows in [&mut case.data, &mut case.held_out, &mut case.samples] {
        *rows = Array2::zeros((0, 16));
    }
    case.trace = Array2::zeros((0, 0));
    let names = case.check();
    assert!(names.contains(&"weights.png".into()) && names.contains(&"log-likelihood.svg".into()), "{names:?}");
    assert!(!names.contains(&"chains.svg".into()) && !names.contains(&"free-energies.svg".into()), "{names:?}");
}

#[test]
fn one_column_and_ten_thousand_have_reports() {
    for kind in ["bernoulli", "gaussian", "potts"] {
        case(kind, 1, "bernoulli", 1, 3).check();
    }
    let wide = case("bernoulli", 10_000, "bernoulli", 2, 60);
    wide.check();
    assert!(wide.with(html).len() < 2_000_000);
    assert!(case("potts", 500, "bernoulli", 4, 20).with(html).len() < 2_000_000);
}

#[test]
fn runs_are_compared_on_one_page() {
    let (one, two) = (case("bernoulli", 4, "bernoulli", 3, 5), case("bernoulli", 4, "bernoulli", 3, 5));
    let png = one.with(pictures).into_iter().find(|p| p.name == "weights.png").unwrap().bytes;
    let run = |name: &str, case: &'static Case, png: &[u8]| Compared {
        name: name.into(),
        events: &case.events,
        pictures: vec![("weights".into(), png.to_vec())],
    };
    let [one, two] = [one, two].map(|c| -> &'static Case { Box::leak(Box::new(c)) });
    let table = [vec!["<one>".to_string(), "−1.5".into()], vec!["two".into(), "–".into()]];
    // The second picture is not a PNG and is left out.
    let runs = vec![run("<one>", one, &png), run("two", two, b"nonsense")];
    let title = "2 runs".into();
    let page =
        compare(&Comparison { title, notes: vec!["A note.".into()], header: &["run", "fit"], table: &table, runs });
    well_formed(&page.html);
    assert!(page.html.contains("<td>&lt;one&gt;</td><td>−1.5</td>") && page.html.contains("A note."));
    assert!(page.html.contains("two −0.5128"), "the legend shows the last value of a curve");
    assert_eq!(page.html.matches("<image").count(), 1);
    let runs = (0..14).map(|k| run(&format!("run {k}"), one, &png)).collect();
    well_formed(&compare(&Comparison { title: "many".into(), notes: Vec::new(), header: &[], table: &[], runs }).html);
}

#[test]
fn recoveries_and_early_stopping_are_marked_and_described() {
    let mut case = case("bernoulli", 4, "bernoulli", 3, 5);
    let reason = "the gradient was <not> finite".to_string();
    case.events.push(Event::Recovered { update: 320, back_to: 300, reason, rate_factor: 0.5 });
    case.events.push(Event::Finished { update: 1950, reason: Reason::EarlyStop, kept: 900, kept_by: None });
    case.check();
    let page = case.with(html);
    assert!(page.contains("Update 320: the gradient was &lt;not&gt; finite; training went back to update 300"));
    assert!(page.contains(">recovery</text>") && page.contains("kept model"));
    assert!(
        page.contains("<h1>A &lt;run&gt; &amp; &quot;more&quot;</h1>") && page.contains("seed = 1 # &lt;&amp;&gt;")
    );
}

#[test]
fn large_models_have_small_reports() {
    let mut case = case("bernoulli", 784, "bernoulli", 10_000, 20);
    for image in [Some((28, 28)), Some((1, 784)), None] {
        case.image = image;
        case.check();
        assert!(case.with(html).len() < 2_000_000);
    }
    assert!(self::case("gaussian", 2, "bernoulli", 10_000, 20).has("hidden-means.png"));
}
