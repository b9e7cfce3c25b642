//! Unknown cells: filled, summed over in likelihoods, learned around; nonsense is refused.

use super::common::{Folder, all_close, bits, close, fails, rbm, standardized};
use harmonium::conditional::{Conditional, ConditionalOptions, Method};
use harmonium::{Bits, Exact};
use ndarray::{Array2, array};

/// The same cells as the mask `mask.npy`, for the library.
fn mask(folder: &Folder) -> (Array2<f64>, Bits) {
    let mask = Array2::from_shape_fn((20, 6), |(r, c)| f64::from(u8::from((r * 7 + c * 3) % 5 != 0)));
    folder.table("mask.npy", mask.view());
    let mut known = Bits::new(6);
    mask.rows().into_iter().for_each(|row| known.push(row.iter().map(|x| *x == 1.0)));
    (mask, known)
}

fn ask() -> Conditional {
    let settings = ConditionalOptions { method: Method::Exact, ..ConditionalOptions::default() };
    Conditional::new(&rbm("bernoulli", 6, "bernoulli", 4, 1), settings).unwrap()
}

#[test]
fn impute_fills_cells_that_are_masked_named_or_no_numbers_alike() {
    let folder = Folder::furnished();
    let (mask, known) = mask(&folder);
    let rows = bits(20, 6);
    let want = ask().fill(rows.view(), &known, 1).unwrap().values;
    let json = folder.json("impute model.safetensors data.npy --mask mask.npy -o filled.npy");
    all_close(&folder.numbers("filled.npy"), &want);
    let cells = mask.iter().filter(|x| **x == 0.0).count();
    assert_eq!((&json["rows"], &json["cells"], &json["checked_cells"]), (&20.into(), &cells.into(), &cells.into()));
    let off = |guess: &Array2<f64>| {
        let hidden = guess.iter().zip(&rows).zip(&mask).filter(|c| *c.1 == 0.0);
        (hidden.map(|((a, b), _)| (a - b).powi(2)).sum::<f64>() / cells as f64).sqrt()
    };
    close(&json["rmse"], off(&want));
    let mean = |c: usize| {
        let seen: Vec<f64> = (0..20).filter(|r| mask[[*r, c]] == 1.0).map(|r| rows[[r, c]]).collect();
        seen.iter().sum::<f64>() / seen.len() as f64
    };
    assert_eq!(json["columns_by"], "known cells");
    close(&json["rmse_by_columns"], off(&Array2::from_shape_fn((20, 6), |(_, c)| mean(c))));
    // The same as NaN cells of a text file.
    let cell = |r: usize, c: usize| if mask[[r, c]] == 1.0 { rows[[r, c]].to_string() } else { "NA".into() };
    let line = |r: usize| (0..6).map(|c| cell(r, c)).collect::<Vec<_>>().join(",") + "\n";
    folder.file("holes.csv", (0..20).map(line).collect::<String>().as_bytes());
    assert!(folder.json("impute model.safetensors holes.csv -o again.npy").get("rmse").is_none());
    all_close(&folder.numbers("again.npy"), &want);
    // Columns by number.
    folder.json("impute model.safetensors data.npy --free 2,4-5 -o columns.npy");
    let mut columns = Bits::new(6);
    (0..20).for_each(|_| columns.push([true, false, true, false, false, true].into_iter()));
    all_close(&folder.numbers("columns.npy"), &ask().fill(rows.view(), &columns, 1).unwrap().values);
}

/// Of a column that is hidden as a whole no cell is known: its mean is that of the true values.
#[test]
fn whole_columns_are_compared_with_the_means_of_their_true_values() {
    let folder = Folder::furnished();
    let rows = bits(20, 6);
    let json = folder.json("impute model.safetensors data.npy --free 2 -o filled.npy");
    let mean = rows.column(1).mean().unwrap();
    close(&json["rmse_by_columns"], (mean * (1.0 - mean)).sqrt());
    assert_eq!(json["columns_by"], "true values");
    let run = folder.run("impute model.safetensors data.npy --free 2 -o again.npy");
    assert!(run.out.contains("root mean square (column means of the true values: "), "{}", run.out);
}

#[test]
fn impute_fills_with_states_and_draws_and_tells_intervals() {
    let folder = Folder::furnished();
    mask(&folder);
    let line = "impute model.safetensors data.npy --mask mask.npy";
    for fill in ["best", "draw"] {
        folder.json(&format!("{line} --fill {fill} -o x.npy"));
        assert!(folder.numbers("x.npy").iter().all(|x| *x == 0.0 || *x == 1.0), "{fill}");
    }
    folder.table("rows.npy", array![[1.0, f64::NAN, 3.0], [f64::NAN, 2.5, f64::NAN]].view());
    let json =
        folder.json("impute gaussian.safetensors rows.npy -o x.npy --low low.npy --high high.npy --spread s.npy");
    let [x, low, high, spread] = ["x.npy", "low.npy", "high.npy", "s.npy"].map(|name| folder.numbers(name));
    assert_eq!((x[0], x[2], x[4]), (1.0, 3.0, 2.5), "known cells stay as they are, to the bit");
    for k in [1, 3, 5] {
        assert!(low[k] < x[k] && x[k] < high[k] && spread[k] > 0.0, "{low:?} {x:?} {high:?} {spread:?}");
    }
    assert_eq!((low[0], high[4], spread[0], json["cells"].as_u64()), (1.0, 2.5, 0.0, Some(3)));
    // In the units of the data: what the model says of standardised cells, times scale plus shift.
    let file = standardized();
    let mut known = Bits::new(3);
    known.push([true, false, true].into_iter());
    let mut ask = Conditional::new(&file.rbm, ConditionalOptions::default()).unwrap();
    let want = ask.fill(array![[0.0, 0.0, 0.0]].view(), &known, 1).unwrap().values[[0, 1]];
    close(&x[1].into(), 2.0 + 2.0 * want);
}

/// Tables for multiple imputation: known cells stay, drawn ones are states and differ, a seed gives the same bytes.
#[test]
fn impute_draws_tables() {
    let folder = Folder::furnished();
    let (mask, _) = mask(&folder);
    let rows = bits(20, 6);
    let line = "impute model.safetensors data.npy --mask mask.npy --draws 3 --seed 4";
    let json = folder.json(&format!("{line} -o x.csv"));
    let names: Vec<&str> = json["outputs"].as_array().unwrap().iter().filter_map(|name| name.as_str()).collect();
    assert_eq!(names, ["x.1.csv", "x.2.csv", "x.3.csv"]);
    let cells = mask.iter().filter(|x| **x == 0.0).count();
    assert_eq!((&json["rows"], &json["cells"]), (&20.into(), &cells.into()));
    let tables: Vec<Vec<u8>> = names.iter().map(|name| std::fs::read(folder.path(name)).unwrap()).collect();
    assert!(tables[0] != tables[1] && tables[1] != tables[2]);
    for table in &tables {
        let text = String::from_utf8(table.clone()).unwrap();
        let values: Vec<f64> = text.lines().flat_map(|l| l.split(',')).filter_map(|x| x.parse().ok()).collect();
        assert_eq!(values.len(), 120);
        for ((x, known), truth) in values.iter().zip(&mask).zip(&rows) {
            assert!((*known == 0.0 && (*x == 0.0 || *x == 1.0)) || x == truth);
        }
    }
    folder.json(&format!("{line} -o y.csv --threads 1"));
    assert!(std::fs::read(folder.path("y.2.csv")).unwrap() == tables[1]);
    assert!(!folder.path("x.csv").exists(), "only the numbered tables are written");
    // In the units of the data, and a name without an extension.
    folder.table("rows.npy", array![[1.0, f64::NAN, 3.0]].view());
    folder.json("impute gaussian.safetensors rows.npy -o z --draws 2");
    let [a, b] = ["z.1.npy", "z.2.npy"].map(|name| folder.numbers(name));
    assert!(a[0] == 1.0 && a[2] == 3.0 && b[0] == 1.0 && a[1] != b[1], "{a:?} {b:?}");
}

/// A row for each filled cell, with what the other files say of it.
#[test]
fn impute_writes_what_is_known_of_every_filled_cell() {
    let folder = Folder::furnished();
    folder.table("rows.npy", array![[1.0, f64::NAN, 3.0], [f64::NAN, 2.5, f64::NAN]].view());
    folder.json(
        "impute gaussian.safetensors rows.npy -o x.npy --intervals c.csv --low low.npy --high high.npy --spread s.npy",
    );
    let [x, low, high, spread] = ["x.npy", "low.npy", "high.npy", "s.npy"].map(|name| folder.numbers(name));
    let text = String::from_utf8(std::fs::read(folder.path("c.csv")).unwrap()).unwrap();
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some("row,column,value,std_err,spread,low,high,probability"));
    for (line, k) in lines.by_ref().take(3).zip([1, 3, 5]) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[..3], [(k / 3 + 1) as f64, (k % 3 + 1) as f64, x[k]]);
        assert_eq!((cells[4], cells[5], cells[6]), (spread[k], low[k], high[k]));
        assert!(cells[3] >= 0.0 && cells[7].is_nan(), "a number has no probability: {line}");
    }
    assert_eq!(lines.next(), None);
    let (_, known) = mask(&folder);
    folder.json("impute model.safetensors data.npy --mask mask.npy --fill best -o x.npy --intervals c.csv");
    let want = ask().fill(bits(20, 6).view(), &known, 1).unwrap().values;
    let text = String::from_utf8(std::fs::read(folder.path("c.csv")).unwrap()).unwrap();
    for line in text.lines().skip(1) {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        let p = want[[cells[0] as usize - 1, cells[1] as usize - 1]];
        assert!((cells[7] - p.max(1.0 - p)).abs() < 1e-9 && cells[2] == p.round(), "{line}: {p}");
    }
}

/// A table of measurements with missing cells: Gaussian hidden units, chosen and reported; cells are filled as by a regression.
#[test]
fn tables_of_measurements_with_missing_cells_get_gaussian_hidden_units() {
    let folder = Folder::new();
    // y = 2x + 1 and z = 3 − x, up to a little noise.
    let number = |r: usize| (r * 37 % 101) as f64 / 10.0;
    let noise = |r: usize, c: usize| ((r * 53 + c * 29) % 17) as f64 / 400.0;
    let row = |r: usize| {
        let cells = [number(r), 2.0 * number(r) + 1.0 + noise(r, 1), 3.0 - number(r) + noise(r, 2)];
        let text = |c: usize| if (r + 2 * c).is_multiple_of(7) { String::new() } else { cells[c].to_string() };
        (0..3).map(text).collect::<Vec<_>>().join(",") + "\n"
    };
    folder.file("holes.csv", ("x,y,z\n".to_string() + &(0..200).map(row).collect::<String>()).as_bytes());
    let run = folder.run("train holes.csv --missing --visible gaussian -o run");
    assert!(run.err.contains("the hidden units are Gaussian") && run.err.contains("--hidden bernoulli"), "{}", run.err);
    folder.json("impute run/model.safetensors holes.csv -o filled.csv");
    let filled = String::from_utf8(std::fs::read(folder.path("filled.csv")).unwrap()).unwrap();
    for (r, line) in filled.lines().skip(1).enumerate() {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!(
            (cells[1] - 2.0 * cells[0] - 1.0).abs() < 0.2 && (cells[2] - 3.0 + cells[0]).abs() < 0.2,
            "{r}: {line}"
        );
    }
    let config = String::from_utf8(std::fs::read(folder.path("run/config.toml")).unwrap()).unwrap();
    assert!(config.contains("hidden = \"gaussian\""), "{config}");
    folder.run("train holes.csv --missing --visible gaussian --hidden bernoulli -o other --updates 50");
    let config = String::from_utf8(std::fs::read(folder.path("other/config.toml")).unwrap()).unwrap();
    assert!(config.contains("hidden = \"bernoulli\""), "{config}");
}

#[test]
fn evaluate_sums_over_unknown_cells() {
    let folder = Folder::furnished();
    let (mask, known) = mask(&folder);
    let rows = bits(20, 6);
    let holes = Array2::from_shape_fn((20, 6), |(r, c)| if mask[[r, c]] == 1.0 { rows[[r, c]] } else { f64::NAN });
    folder.table("holes.npy", holes.view());
    let json = folder.json("evaluate model.safetensors holes.npy --missing --per-row each.npy");
    let log_z = Exact::new(&rbm("bernoulli", 6, "bernoulli", 4, 1)).unwrap().log_z();
    let want: Vec<f64> = ask().scores(rows.view(), &known, 1).unwrap().rows.iter().map(|s| s.value - log_z).collect();
    all_close(&folder.numbers("each.npy"), &want);
    close(&json["mean_log_likelihood"], want.iter().sum::<f64>() / 20.0);
    assert!(
        json["unknown_cells"] == known_cells(&known)
            && json["kl_divergence"].is_null()
            && json["missing_std_err"] == 0.0
    );
    // Densities of standardised columns: −Σ log scale of the known ones.
    folder.table("rows.npy", array![[1.0, f64::NAN, 3.0]].view());
    let json = folder.json("evaluate gaussian.safetensors rows.npy --missing");
    let file = standardized();
    let mut one = Bits::new(3);
    one.push([true, false, true].into_iter());
    let mut ask = Conditional::new(&file.rbm, ConditionalOptions::default()).unwrap();
    let score = ask.scores(array![[0.0, 0.0, 0.0]].view(), &one, 1).unwrap().rows[0].value;
    let want = score - Exact::new(&file.rbm).unwrap().log_z() - 0.5f64.ln() - 4f64.ln();
    close(&json["mean_log_likelihood"], want);
}

fn known_cells(known: &Bits) -> usize {
    (0..known.rows()).map(|r| known.sites() - known.ones(r)).sum()
}

#[test]
fn train_learns_around_unknown_cells_and_says_so() {
    let folder = Folder::new();
    let rows: String = (0..200).map(|r| ["1,1,0\n", "0,0,1\n", "1,,0\n", "NA,0,1\n"][r % 4]).collect();
    folder.file("holes.csv", rows.as_bytes());
    let json = folder.json("train holes.csv --missing -o run --updates 2000 --n-hidden 4");
    // Two patterns: log ½ = −0.69, with or without the unknown cells.
    assert!(json["log_likelihood"].as_f64().unwrap() > -0.75, "{json}");
    let run = folder.run("train holes.csv --missing -o again --updates 200 --n-hidden 4");
    assert!(run.out.contains("missing cells") && run.out.contains("harmonium impute"), "{}", run.out);
    let json = folder.json("impute run/model.safetensors holes.csv -o filled.npy");
    assert_eq!(json["cells"], 100);
    let filled = folder.numbers("filled.npy");
    assert!(filled.chunks(3).all(|row| (row[0] - row[1]).abs() < 0.1), "{filled:?}");
    let page = |name: &str| std::fs::read(folder.path(name)).unwrap();
    let before = page("run/report.html");
    folder.json("report run");
    assert!(page("run/report.html") == before, "the page of a run with unknown cells is drawn again to the byte");
}

#[test]
fn nonsense_is_refused_by_name() {
    let folder = Folder::furnished();
    mask(&folder);
    folder.table("narrow.npy", Array2::ones((1, 5)).view());
    folder.table("short.npy", Array2::ones((7, 6)).view());
    folder.table("long.npy", Array2::ones((21, 6)).view());
    folder.table("grey.npy", Array2::from_elem((1, 6), 0.5).view());
    folder.table("holes.npy", Array2::from_elem((2, 6), f64::NAN).view());
    let line = "impute model.safetensors data.npy -o x.npy";
    for (options, text) in [
        ("", "no missing cells"),
        ("--free 7", "column 7 is not among the columns 1 to 6"),
        ("--free 0", "column 0 is not among the columns 1 to 6"),
        ("--free 1,tall", "no header, so there is no column 'tall'"),
        ("--mask narrow.npy", "has 5 columns"),
        ("--mask short.npy", "fewer rows"),
        ("--mask long.npy", "more rows"),
        ("--mask grey.npy", "0.5"),
        ("--free 1 --chains 1", "at least 2"),
        ("--free 1 --steps 0", "at least 1"),
        ("--free 1 --interval 1.5 --low l.npy", "between 0 and 1"),
    ] {
        let message = fails(&folder, &format!("{line} {options}"));
        assert!(message.contains(text), "{options}: {message}");
    }
    for command in ["evaluate model.safetensors holes.npy", "train holes.npy -o run"] {
        let message = fails(&folder, &format!("{command} --no-missing"));
        assert!(message.contains("leave out --no-missing"), "{message}");
    }
}

/// Samples with cells held fast: these stay, and the others have the conditional means, within 5 errors of 4,000 independent
/// draws (a bias of 0.04 is seen) and within 0.1 for chains.
#[test]
fn samples_can_be_drawn_given_some_cells() {
    let folder = Folder::furnished();
    let rows = bits(20, 6);
    let mut known = Bits::new(6);
    known.push([false, true, false, true, true, false].into_iter());
    let x = rows.row(2).to_owned().insert_axis(ndarray::Axis(0));
    let want = ask().fill(x.view(), &known, 1).unwrap().values;
    let line = "sample model.safetensors -n 4000 -o x.npy --clamp data.npy --clamp-row 3 --free 1,3,6";
    for (sampler, tolerance) in [("auto", 0.04), ("exact", 0.04), ("gibbs", 0.1), ("tempering", 0.1)] {
        let json = folder.json(&format!("{line} --sampler {sampler}"));
        assert_eq!((&json["rows"], &json["columns"]), (&4000.into(), &6.into()), "{json}");
        let drawn = folder.numbers("x.npy");
        for site in 0..6 {
            let mean = drawn.iter().skip(site).step_by(6).sum::<f64>() / 4000.0;
            let close = if known.get(0, site) { 0.0 } else { tolerance };
            assert!((mean - want[[0, site]]).abs() <= close, "{sampler}, {site}: {mean} {want}");
        }
    }
    // NaN cells name themselves, and a row in other units comes back as it was.
    folder.table("row.npy", array![[1.1, f64::NAN, 3.3]].view());
    folder.json("sample gaussian.safetensors -n 50 -o x.npy --clamp row.npy --start hidden --sampler gibbs");
    let drawn = folder.numbers("x.npy");
    assert!(drawn.chunks(3).all(|row| row[0] == 1.1 && row[2] == 3.3 && row[1].is_finite()));
    for (line, text) in [
        ("--clamp data.npy --free 1", "20 rows; choose one with --clamp-row"),
        ("--clamp data.npy --clamp-row 21 --free 1", "--clamp-row is 21, but data.npy has only 20 rows"),
        ("--clamp data.npy --clamp-row 2", "no missing cells"),
        ("--free 1", "--clamp"),
    ] {
        let message = fails(&folder, &format!("sample model.safetensors -n 5 -o y.npy {line}"));
        assert!(message.contains(text), "{line}: {message}");
    }
}
