#!/usr/bin/env python3
"""Plants one bug at a time in the library and sees whether the tests notice.

Usage: python3 studies/planted-bugs/run.py [first [last]]

Each bug is a change of one line in a copy of the project; the unit tests and laws run on the copy. A bug is caught
when the tests fail, missed when they pass, and invalid when the changed library does not compile. The table is written
to studies/planted-bugs/README.md when all bugs were tried.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SRC = pathlib.Path("crates/harmonium/src")

# (file, text that occurs once, replacement, what it means)
BUGS = [
    ("units/bernoulli.rs", "softplus(eta[0] + input)", "softplus(eta[0] - input)", "Bernoulli: sign of the input in Γ (one site)"),
    ("units/bernoulli.rs", "sum_softplus(slice_of(eta.row(0), &mut Vec::new()), input, T::one())", "sum_softplus(slice_of(eta.row(0), &mut Vec::new()), input, T::of(1.001))", "Bernoulli: factor in Γ of a row"),
    ("units/bernoulli.rs", "if u[0] < logistic(eta[0] + input)", "if u[0] < logistic(eta[0] + input + T::of(1e-4))", "Bernoulli: draw biased by 1e-4 in the field"),
    ("units/bernoulli.rs", "if u[0] < logistic", "if u[1] < logistic", "Bernoulli: draw from the other uniform (equivalent in distribution)"),
    ("units/spin.rs", "logistic(T::of(2.0) * (eta[0] + input))", "logistic(eta[0] + input)", "spin: factor 2 forgotten in the draw"),
    ("units/spin.rs", "sum_softplus(field, input, T::of(2.0)) - sum", "sum_softplus(field, input, T::of(2.0)) + sum", "spin: sign in log 2cosh"),
    ("units/spin.rs", "[(eta[0] + input).tanh(), T::zero()]", "[(T::of(2.0) * (eta[0] + input)).tanh(), T::zero()]", "spin: factor in the mean of one site"),
    ("units/gaussian.rs", "([(par[0] + offset) * precision", "([par[0] * precision", "Gaussian: offset forgotten in the mean"),
    ("units/gaussian.rs", "T::of(-0.5) * precision], (T::of(0.5)", "T::of(-1.0) * precision], (T::of(0.5)", "Gaussian: x² without the ½"),
    ("units/gaussian.rs", "half * d_eta[1] - mean * d_eta[0]", "half * d_eta[1] + mean * d_eta[0]", "Gaussian: sign in ∂z"),
    ("units/gaussian.rs", "+ half * self.power::<T>() * d_ln_s", "+ half * d_ln_s", "Gaussian: Schlüter's eq. 32, wrong factor of the cross term in ∂z"),
    ("units/gaussian.rs", "let mean = par[0] + offset;\n        let d_z", "let mean = par[0];\n        let d_z", "Gaussian: offset forgotten in ∂z"),
    ("units/gaussian.rs", "par[0].f64() - d_offset", "par[0].f64() + d_offset", "Gaussian: sign when the offset moves"),
    ("units/gaussian.rs", "d_field * par[1].f64().exp()", "d_field", "Gaussian: σ² forgotten when the field is shifted"),
    ("units/gaussian.rs", "[mean, mean * mean + precision.recip()]", "[mean, mean * mean]", "Gaussian: variance forgotten in ⟨x²⟩"),
    ("units/gaussian.rs", "normal(u) * variance.sqrt()", "normal(u) * variance", "Gaussian: σ² for σ in the draw"),
    ("units/gaussian.rs", "(T::TAU() / precision).ln()", "(T::PI() / precision).ln()", "Gaussian: π for 2π in Γ"),
    ("units/potts.rs", "u >= cumulative", "u > cumulative + 1e-6", "Potts: threshold moved by 1e-6"),
    ("units/potts.rs", "*total = (eta[[0, c]] + input[c]).f64();", "*total = (eta[[0, columns.start]] + input[c]).f64();", "Potts: every state has the first state's field"),
    ("units/potts.rs", "code < self.states as f64 && code.fract() == 0.0", "code <= self.states as f64 && code.fract() == 0.0", "Potts: code q accepted"),
    ("units/scalar.rs", "put(&mut d_par, i, [old[0] + d[0], old[1] + d[1]]);", "put(&mut d_par, i, [old[0] + d[0], old[1] - d[1]]);", "scalar units: sign of the second field's gradient"),
    ("math.rs", "*out = T::of(w.f64() * a * s);", "*out = T::of(w.f64() * a);", "lowering: hidden scale forgotten in W̃"),
    ("model.rs", "*constant = own - o_v.dot(&d_v);", "*constant = own + o_v.dot(&d_v);", "lowering: sign of the offsets' product in the constant"),
    ("model.rs", "lower_layer(&wide_v, eta_v, &d_v, visible) + lower_layer(&wide_h, eta_h, &d_h, hidden);", "lower_layer(&wide_v, eta_v, &d_v, visible) + 0.0 * lower_layer(&wide_h, eta_h, &d_h, hidden);", "lowering: hidden part of the constant forgotten"),
    ("model.rs", "field -= taken;", "field += taken;", "lowering: sign of the offsets in the fields"),
    ("model.rs", "Origin::Reference => self.reference()", "Origin::Reference => self.offset.mapv(T::f64)", "Goodfellow's coupling measured from α"),
    ("lowered.rs", "self.constant - self.visible.log_weight(&v) - self.hidden.log_weight(&h) - coupled", "self.constant - self.visible.log_weight(&v) - self.hidden.log_weight(&h) + coupled", "energy: sign of the coupling"),
    ("lowered.rs", "self.constant - self.from.log_weight", "-self.from.log_weight", "free energy: constant forgotten"),
    ("lowered.rs", "sum_y.scaled_add(w, &t_y);", "sum_y.scaled_add(T::one(), &t_y);", "statistics: row weight forgotten for the hidden layer"),
    ("lowered.rs", "input.assign(&(&t_y.row(0) * w));", "input.assign(&t_y.row(0));", "statistics: row weight forgotten in ⟨vhᵀ⟩"),
    ("lowered.rs", "chain += 1;", "", "sampling: every row has the same chain number"),
    ("stats.rs", "self.weight += times * other.weight;", "self.weight += 1.0;", "statistics: weights not added"),
    ("stats.rs", "cross: self.cross.t().as_standard_layout().into_owned()", "cross: self.cross.clone().into_shape_with_order((self.cross.ncols(), self.cross.nrows())).unwrap_or_default()", "statistics: reshaped instead of transposed"),
    ("stats.rs", "let f = T::of(self.weight.recip());", "let f = T::one();", "statistics: not divided by the weight"),
    ("math.rs", "*x -= a * *y + b * *z;", "*x -= a * *y;", "gradient: visible offset forgotten"),
    ("math.rs", "*x -= a * *y + b * *z;", "*x -= b * *z;", "gradient: hidden offset forgotten"),
    ("centering.rs", "*virial = -shrink_row(", "*virial = shrink_row(", "gradient: sign of ∂ln s"),
    ("math.rs", "*v -= product;", "*v -= T::zero() * product;", "gradient: ∂ln s of the hidden layer forgotten"),
    ("centering.rs", "scaled_add(-T::one(), &moved)", "scaled_add(T::one(), &moved)", "Goodfellow: sign of the extra term of ∂a"),
    ("centering.rs", "[rbm.visible().origin() - &old_v,", "[&old_v - rbm.visible().origin(),", "moving offsets: sign of the hidden biases"),
    ("centering.rs", "shift(self.parts_mut().0, &field_v);", "let _ = &field_v;", "moving offsets: visible biases forgotten"),
    ("centering.rs", "T::of(w.f64() * ratio_v[i] * ratio_h[j])", "T::of(w.f64() / (ratio_v[i] * ratio_h[j]))", "changing the coupling: W scaled the wrong way"),
    ("rng.rs", "for _ in 0..10 {\n        for (((a", "for _ in 0..9 {\n        for (((a", "Philox: nine rounds"),
    ("rng.rs", "(u[1] - T::of(0.5)).abs() - T::of(0.25)", "(u[1] - T::of(0.5)).abs() - T::of(0.2)", "normal: the circle does not close"),
    ("rng.rs", "(T::of(-2.0) * u[0].ln_flat()).sqrt()", "(-u[0].ln_flat()).sqrt()", "normal: factor 2 forgotten"),
    ("real.rs", "((word >> 9) as f32 + 0.5) * (1.0 / (1u32 << 23) as f32)", "((word >> 8) as f32 + 0.5) * (1.0 / (1u32 << 24) as f32)", "f32 uniform that can round to 1"),
    ("math.rs", "if x >= T::zero() { p } else { e * p }", "if x >= T::zero() { p } else { T::one() - p }", "logistic: left tail loses relative precision (accuracy, not value)"),
    ("exact/enumerate.rs", "let high_weight = log_weight(self.pass, self.low.ncols(), &high)", "let high_weight = log_weight(self.pass, 0, &high)", "enumeration: fields of the wrong sites"),
    ("exact/enumerate.rs", "cumulative = end;", "", "exact sampling: cumulative mass of earlier shards forgotten"),
    ("exact/gaussian.rs", "- factor.log_det() + t.dot", "+ factor.log_det() + t.dot", "Gaussian–Gaussian: sign of log det"),
    ("units/spin.rs", "(means[0] * rows / (rows + 1.0)).atanh()", "(means[0] * rows / (rows + 1.0)).tanh()", "spin: fit by tanh"),
    ("backend/cpu/lookup_tables.rs", "(x[1] >> (GROUP * q))", "(x[0] >> (GROUP * q))", "tables: a row looked up with its neighbour's bits"),
    ("backend/cpu/lookup_tables.rs", "table.0[(1 << i) + x] = sum;", "table.0[(1 << i) + (x ^ 1) % (1 << i)] = sum;", "tables: sums in the wrong places"),
    ("backend/cpu/lookup_tables.rs", "&codes[i * RUN / BLOCK * rows..]", "codes", "tables of integers: every run looked up with the bits of the first"),
    ("backend/cpu/lookup_tables.rs", "sum.0[c] += out.0[c];", "sum.0[c] = out.0[c];", "tables of integers: only the first run counts"),
    ("backend/cpu/rounded.rs", "for w in [w, w.reversed_axes()]", "for w in [w]", "rounded weights: sums of the other direction overflow"),
    ("backend/cpu/panels.rs", "self.step = step;", "self.step = step + step;", "rounded weights: the wrong step"),
    ("sample/path.rs", "*s -= p);", "*s += p);", "annealing: the last step from rounded weights the wrong way"),
    ("sample/path.rs", "let mut sums = self.log_rounding(slot, &now);", "let mut sums = vec![0.0; chains];", "annealing: the step to rounded weights not counted"),
    ("backend/cpu/mod.rs", "        self.ready = None;\n        self.make(slot);", "        self.make(slot);", "a sweep begins with the inputs of rows that were replaced"),
    ("backend/cpu/lookup_tables.rs", "let (p, shift) = (block * BLOCK / WIDTH, block * BLOCK % WIDTH);", "let (p, shift) = (block * BLOCK / WIDTH, 0);", "code words not shifted to their block"),
    ("backend/cpu/index_lists.rs", "(p[c] + q[c]) + (s[c] + t[c])", "(p[c] + q[c]) + (s[c] + s[c])", "lists: one of four entries taken twice"),
    ("backend/cpu/bit_planes.rs", "let width = WIDTH.min(self.columns - p * WIDTH);", "let width = WIDTH.min(self.columns - p * WIDTH).min(31);", "bits: a column lost in the transpose"),
    ("backend/cpu/bit_planes.rs", "*w &= u32::MAX >> spare", "*w &= u32::MAX", "bits beyond the last column left set"),
    ("backend/cpu/transpose.rs", "_mm_movehl_ps(t, s)]", "_mm_movelh_ps(t, s)]", "panels: a column of the transposed block wrong (f32)"),
    ("backend/cpu/epilogue.rs", "T::from_word(*word) * whole.0[c] < part.0[c]", "T::from_word(*word) * whole.0[c] < T::of(1.001) * part.0[c]", "draws biased by 0.1 %"),
    ("backend/cpu/epilogue.rs", "(self.first + row) as u64", "row as u64", "draws: chains of a later chunk get the numbers of the first"),
    ("backend/cpu/epilogue.rs", "p.0[c] *= weights[first + k];", "p.0[c] *= weights[k];", "means: weights of other rows"),
    ("backend/cpu/packed.rs", "T::of(low.f64() * s)", "T::of(-low.f64() * s)", "spins as bits: sign of the low value's field"),
    ("logz/online.rs", "if a.log_z.value < b.log_z.value { (a.log_z, b) } else { (b.log_z, a) };", "if a.log_z.value > b.log_z.value { (a.log_z, b) } else { (b.log_z, a) };", "anchors: the base that found less counts"),
    ("backend/cpu/cross.rs", "factor * k * (d * *b + l * weight)", "factor * k * (d * *b)", "spins as bits: constant term of Σ v hᵀ forgotten"),
    ("backend/cpu/marginal.rs", "*x *= scale / up.gain", "*x *= scale", "free energy: inputs of spins not rescaled"),
    ("backend/cpu/sweep.rs", "chains.hidden_drawn = false;", "", "chains: hidden rows drawn once are used for ever"),
    ("backend/cpu/sweep.rs", "buffer.input.iter_mut().for_each(|x| *x *= beta);", "", "tempering: the coupling of other units not scaled"),
    ("rng.rs", "group.wrapping_mul(LANES as u32).wrapping_add(lane as u32)", "group.wrapping_mul(4).wrapping_add(lane as u32)", "random numbers: neighbouring groups share hashes"),
    ("measure/conditional.rs", "w * w / (-2.0 * e)", "w * w / (2.0 * e)", "pseudo-likelihood: sign of the hidden layer's part in a precision"),
    ("measure/conditional.rs", "const STEP: f64 = 0.8;", "const STEP: f64 = 2.0;", "pseudo-likelihood: nodes of the quadrature too far apart"),
    ("measure/conditional.rs", "if small && (direction < 0 || node(k) > high)", "if small", "pseudo-likelihood: quadrature stops between two modes"),
    ("measure/pseudo_likelihood.rs", "sum * n / taken as f64", "sum", "pseudo-likelihood: sampled sites not scaled up"),
    ("sample/diagnose.rs", "rank - 0.375", "rank - 0.5", "R̂ and ESS: another offset of the ranks"),
    ("sample/diagnose.rs", "least = least.min(pair);", "least = pair;", "ESS: pairs of correlations may grow again"),
    ("sample/diagnose.rs", "draws.slice(s![.., n - half..])", "draws.slice(s![.., half..2 * half])", "R̂: the last of an odd number of draws left out, not the middle one"),
    ("sample/ladder.rs", ".ln() < forward - backward", ".ln() < forward + backward", "swaps: a sign"),
    ("sample/ladder.rs", "(other[below], other[above]) = (own[above], own[below]);", "(other[below], other[above]) = (own[above], own[above]);", "swaps: the upper chain is not looked at from below"),
    ("sample/gibbs.rs", "self.sweeps += sweeps;", "", "sampling: the same random numbers again"),
    ("sample/start.rs", "if side.unit().n_states().is_some() { flat }", "if side.unit().n_states().is_none() { flat }", "hidden start: drawn by the biases"),
    ("sample/exact.rs", "self.key.of(Purpose::ExactState).step(block)", "self.key.of(Purpose::ExactState).step(0 * block)", "exact sampling: every block the same"),
    ("estimate/pt.rs", "Some(&self.ladders.last_rows())", "None", "tempered training: chains of all temperatures count"),
    ("measure/autocorrelation.rs", "value += 2.0 * r;", "value += r;", "autocorrelation time: factor 2 forgotten"),
    ("measure/gap.rs", "held_out.value - train.value", "train.value - held_out.value", "free energy gap: sign"),
    ("lowered.rs", "hidden.eta.row_mut(0).scaled_add(x[c], &self.weights.row(c));", "let _ = &mut hidden;", "clamped cells: their field forgotten"),
    ("lowered.rs", "constant -= self.visible.eta.column(c)", "constant += self.visible.eta.column(c)", "clamped cells: sign of their own energy"),
    ("backend/cpu/bit_planes.rs", "*word = (*word & !which) | (of & which);", "*word = (*word & which) | (of & !which);", "clamped cells: the others are"),
    ("backend/cpu/layer_states.rs", "if known.get(k / sites, k % sites) {", "if known.get(k / sites, 0) {", "clamped cells: the first site decides for numbers and codes"),
    ("conditional/exact.rs", "all.cross.row_mut(c).assign(&found.cross.row(k));", "", "unknown cells: ⟨vhᵀ⟩ of what was filled in"),
    ("conditional/complete.rs", ".draws(n, number(r))", ".draws(n, number(0))", "completed tables: the same random numbers in every row"),
    ("conditional/complete.rs", "!known.get(r, *i)", "known.get(r, *i)", "completed tables: known cells are drawn"),
    ("conditional/cheaper.rs", "answer.off <= PRECISION", "true", "filled cells: chains that do not mix are believed"),
    ("factor_analysis/missing.rs", "precision * self.noise[i]", "precision", "factor analysis with missing cells: noise forgotten in the prior"),
    ("factor_analysis/missing.rs", "|(all, missed)| all - missed", "|(all, _)| *all", "factor analysis with missing cells: rows that miss a column count for it"),
    ("factor_analysis/missing.rs", "factors += &covariance;", "", "factor analysis with missing cells: the factors' variance forgotten"),
    ("sample/path.rs", "let own: f64 = given.iter().map(pair).sum();", "let own = 0.0;", "annealing with clamped cells: their part of the base forgotten"),
    ("backend/cpu/small_batch.rs", "*word |= transposed << self.deferred;", "*word |= *transposed;", "small batch: bits of the next rows on top of those of the deferred ones"),
    ("backend/cpu/cross.rs", "&& self.small_batch.deferred() == 0", "", "small batch: a deferred one is added to what was there"),
    ("backend/cpu/cross.rs", "(next == 0 || deferred + next > MOST_ROWS)", "false", "small batch: a deferred one is never flushed if a large one follows"),
    ("scaled_weights.rs", "add_times(rate, step, self.weights)", "add_times(rate + rate, step, self.weights)", "weights step twice as far on the way to the backend"),
    ("scaled_weights.rs", ".zip(&rows[first..])", ".zip(rows)", "scales of the first rows for every block"),
    ("model.rs", "unit.origin() == Origin::Offset && !moved", "unit.origin() == Origin::Offset", "offsets forgotten when a model is lowered"),
    ("backend/cpu/packed.rs", "(top - bottom) * (high - low)", "top - bottom", "spins as bits: the given layer's span forgotten"),
    ("backend/cpu/normals.rs", "2 * draw.panel as u32", "draw.panel as u32", "Gaussian draws: random numbers of another panel"),
    ("backend/cpu/cross.rs", "self.finish.add || self.more", "self.finish.add", "numbers times means: later chunks put over the first"),
    ("backend/cpu/dense.rs", "*sum = if add { *sum + *part } else { *part };", "*sum = *part;", "numbers times numbers: only the last strips count"),
    ("backend/cpu/dense.rs", "let first = g * rows;", "let first = 0;", "numbers transposed: every group has the first columns"),
    ("backend/cpu/dense.rs", "let first = if i < done { whole } else { 0 };", "let first = whole;", "numbers packed: rows beyond the last four forgotten"),
    ("backend/cpu/index_lists.rs", "self.items.resize(2 * n + ROOM, 0);", "self.items = vec![0; 2 * n + ROOM];", "lists: entries forgotten when they need room"),
    ("scaled_weights.rs", "add_rows(self.y, w, self.backward);", "add_rows(&vec![T::one(); self.y.len()], w, self.backward);", "offsets of the visible units forgotten in the hidden fields"),
    ("scaled_weights.rs", "*out = own_dot(w, self.x);", "*out = own_dot(w, self.x) + T::of(1e-6);", "hidden offsets: an error of 1e-6 in the visible fields"),
    ("backend/cpu/packed.rs", "step.is_some() || !rbm.shares_weights(lowered)", "!rbm.shares_weights(lowered)", "panels stay as they were when W steps"),
    ("backend/cpu/transpose.rs", "_mm256_set_m128(rows[r + 4], rows[r])", "_mm256_set_m128(rows[r], rows[r])", "panels: rows 5 to 8 of a block are rows 1 to 4"),
    ("backend/cpu/small_batch.rs", "(first + r) / GROUP, (first + r) % GROUP", "r / GROUP, r % GROUP", "small batch: deferred rows are overwritten in their tables"),
    ("backend/cpu/packed.rs", "high * high - low * low", "high * high + low * low", "log odds: second statistic of two-valued units (equivalent: none has one)"),
    ("rng.rs", "first + (block * LANES + lane) as u64", "first + lane as u64", "order of rows: every block draws the same numbers"),
    ("math.rs", "(s[k] + s[k + 8]) + (s[k + 4] + s[k + 12])", "(s[k] + s[k + 8]) + (s[k + 4] + s[k + 8])", "sums of products: one of sixteen taken twice"),
    ("math.rs", "+ a[2] * *d) + a[3] * *e;", "+ a[3] * *d) + a[2] * *e;", "four rows at a time: two exchanged"),
    ("centering.rs", "field_h = ScaledWeights::new(self)", "let _ = ScaledWeights::new(self)", "Goodfellow: the hidden biases do not see where the visible origin went"),
    ("states.rs", "columns.iter().all(|x| *x == low || *x == high)", "columns.iter().all(|x| *x >= low && *x <= high)", "grey values packed as bits"),
    ("backend/cpu/dense.rs", "tile(level, k > 0, ", "tile(level, g + k > 0, ", "numbers times numbers: later groups add to the one before"),
    ("backend/cpu/cross.rs", "t.0[c] = *before + factor * (low + e * sums.0[c]);", "t.0[c] = *before;", "measured from the origins: these rows forgotten in ⟨h⟩"),
    ("backend/cpu/cross.rs", ".skip(panel * WIDTH);", ".skip(0);", "measured from the origins: every panel has the first one's"),
    ("backend/cpu/cross.rs", "put(self.level, rows.start, x,", "put(self.level, 0, x,", "measured from the origins: every group of numbers has the first rows'"),
    ("backend/cpu/cross.rs", "self.finish.from.filter(|_| self.is_last)", "self.finish.from", "measured from the origins: once for every chunk"),
    ("backend/cpu/statistics.rs", "let late = origins.filter(|_| next == len);", "let late = origins.filter(|_| false);", "measured from the origins: few rows forgotten"),
    ("math.rs", "0.166_665_2,", "0.166_67,", "e^x: a coefficient wrong by 5e-6"),
    ("backend/cpu/index_lists.rs", "pair.iter().rev().fold(", "pair.iter().fold(", "lists: two words in the wrong order (seen with AVX-512 VBMI2)"),
    ("backend/cpu/index_lists.rs", "room[n % BLOCK..].first_chunk_mut", "room[n % 128..].first_chunk_mut", "lists: long ones written over themselves, 64 columns at a time (likewise)"),
    ("backend/cpu/index_lists.rs", "let place = n % BLOCK;", "let place = n % 128;", "lists: long ones written over themselves, byte by byte"),
    ("backend/cpu/layer_states.rs", "T::of_short((word >> c & 1) as i16)", "T::of_short((word >> c & 3) as i16)", "sums of bits: the next column's counted too"),
    ("backend/cpu/layer_states.rs", "if states == unit.width() => Form::Codes", "if states < usize::MAX => Form::Codes", "finite units: values taken for one-hot codes"),
    ("units/finite.rs", "threshold < cumulative", "threshold < cumulative + T::of(1e-4)", "units from a list of values: draws biased by 1e-4"),
    ("units/finite.rs", "(means[0] * rows + spread) / (rows + 1.0)", "means[0]", "units from a list of values: means fitted without smoothing"),
]


def plant(copy, bug):
    path, old, new, _ = bug
    file = copy / SRC / path
    text = file.read_text()
    if text.count(old) != 1:
        return None
    file.write_text(text.replace(old, new))
    return file, text


def outcome(copy):
    """caught by which test, missed, or invalid."""
    tests = ["cargo", "test", "-p", "harmonium", "--lib", "--test", "laws"]
    build = subprocess.run([*tests, "--no-run", "-q"], cwd=copy, capture_output=True, text=True)
    if build.returncode != 0:
        return "invalid", "does not compile"
    # Training is built on the rest and slow: the laws of the model itself must see these bugs.
    run = subprocess.run([*tests, "--", "--skip", "training", "--skip", "learning"], cwd=copy, capture_output=True, text=True)
    if run.returncode == 0:
        return "missed", ""
    failed = re.findall(r"^test (\S+) (?:- should panic )?\.\.\. FAILED$", run.stdout, re.M)
    return "caught", failed[0].split("::")[-1] if failed else "(abort)"


def main():
    first = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    last = int(sys.argv[2]) if len(sys.argv) > 2 else len(BUGS)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git", ".venv"))
        for number, bug in list(enumerate(BUGS))[first:last]:
            planted = plant(copy, bug)
            if planted is None:
                verdict, by = "invalid", "text not found once"
            else:
                verdict, by = outcome(copy)
                planted[0].write_text(planted[1])
            rows.append((bug[0], bug[3], verdict, by))
            print(f"{number:2} {verdict:7} {bug[0]:22} {bug[3]}  [{by}]", flush=True)
    caught = sum(r[2] == "caught" for r in rows)
    print(f"{caught} of {len(rows)} caught")
    if (first, last) == (0, len(BUGS)):
        write_table(rows, caught)


def write_table(rows, caught):
    equivalent = [r for r in rows if "equivalent" in r[1] and r[2] != "caught"]
    lines = [
        "# Planted bugs",
        "",
        "`python3 studies/planted-bugs/run.py` breaks one line at a time and runs the library's tests.",
        "Bugs called *equivalent* leave every distribution as it is; a test need not see them.",
        "",
        f"Last run: {len(rows)} bugs, {caught} caught, {len(equivalent)} equivalent ones passed, "
        f"{len(rows) - caught - len(equivalent)} missed.",
        "",
        "| file | bug | outcome | first test that failed |",
        "|---|---|---|---|",
    ]
    lines += [f"| {f} | {what} | {verdict} | {by} |" for f, what, verdict, by in rows]
    (ROOT / "studies/planted-bugs/README.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
