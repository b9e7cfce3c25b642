//! Where learning begins: independent units fitted to the data, weights small and random.

use crate::backend::DeviceRef;
use crate::dataset::{Dataset, Moments};
use crate::error::{Error, Result};
use crate::layer::Layer;
use crate::layout::Layout;
use crate::lowered::LoweredLayer;
use crate::model::Rbm;
use crate::real::Real;
use crate::rng::{Key, Purpose, normal};
use ndarray::{Array1, Array2, s};

/// Size of the first weights, in units of the coupling's own scale.
pub(super) const FIRST_WEIGHTS: f64 = 0.01;
/// Part of a column's variance that a Gaussian unit begins with. With all of it there is nothing left for hidden units to
/// explain: W = 0 is a saddle, and a mixture of four was not found in 10,000 updates from any of three seeds.
pub(super) const FIRST_VARIANCE: f64 = 0.5;
/// A conditional variance is at most the column's own (law of total variance); room for a factor 10 above, 10⁴ below.
const LOG_VARIANCE_RANGE: (f64, f64) = (-9.21, 2.303);

/// A model that knows the columns' means and variances and nothing else, centred at the data if `centred`.
pub fn initial_model<T: Real>(
    visible: &Layout,
    hidden: &Layout,
    data: &Dataset<T>,
    centred: bool,
    seed: u64,
) -> Result<Rbm<T>> {
    let plain: Rbm<T> = Rbm::with_layouts(visible.clone(), hidden.clone())?;
    let lowered = plain.lower();
    let Moments { means, rows, known } = data.moments(lowered.visible());
    if let Some(site) = known.iter().position(|k| *k == 0.0) {
        let problem = format!("has no known cell in column {}; leave that column out", site + 1);
        return Err(Error::Config { key: "data.source", problem });
    }
    let alpha: Array1<T> = means.row(0).mapv(|m| if centred { T::of(m) } else { T::zero() });
    let mut par = plain.visible().par().to_owned();
    visible.fit(means.view(), rows, alpha.view(), par.view_mut());
    let mut is_gaussian = vec![false; visible.columns()];
    for block in visible.blocks().iter().filter(|b| b.unit::<T>().quadratic()) {
        par.slice_mut(s![1, block.columns()]).mapv_inplace(|z| z + T::of(FIRST_VARIANCE.ln()));
        is_gaussian[block.columns()].fill(true);
    }
    let visible = Layer::from_layout(visible.clone(), par, alpha)?;

    let (eta, scale) = visible.natural();
    // W̃·(standard deviation) is the same for every unit: σ of a Gaussian, 1 for a unit with a finite range.
    let size = |i: usize| if is_gaussian[i] { scale[i].f64() * (-2.0 * eta[[1, i]].f64()).sqrt() } else { 1.0 };
    let key = Key::root(seed).of(Purpose::Init);
    let weight =
        |(i, j): (usize, usize)| T::of(FIRST_WEIGHTS * size(i) * normal::<f64>(key.uniforms(i as u64, j as u32)));
    let weights = Array2::from_shape_fn((visible.columns(), plain.hidden().columns()), weight);
    let rbm = Rbm::from_parts(visible, plain.hidden().clone(), weights)?;
    if !centred {
        return Ok(rbm);
    }
    // The hidden units' offsets are their means before learning. W is so small that moving β moves nothing else.
    let mut rbm = rbm;
    let lowered = rbm.lower();
    let zero = vec![T::zero(); lowered.hidden().columns()];
    let mut beta = zero.clone();
    lowered.hidden().means(lowered.hidden().eta(), &zero, &mut beta);
    let alpha = rbm.visible().offset().to_owned();
    rbm.recenter(alpha.view(), Array1::from(beta).view())?;
    Ok(rbm)
}

/// A model that goes on with other data: offsets at their means, or none.
pub fn adopted_model<T: Real>(device: DeviceRef, rbm: &Rbm<T>, data: &Dataset<T>, centred: bool) -> Result<Rbm<T>> {
    if !centred {
        return Ok(rbm.folded());
    }
    let mut rbm = rbm.clone();
    let lowered = rbm.lower();
    let mut backend = device.backend(lowered)?;
    backend.put(0, data.states(), None);
    let means = backend.layer_means(0, Some(data.weights()));
    rbm.recenter(means.visible.row(0), means.hidden.row(0))?;
    Ok(rbm)
}

/// The range that visible log-variances are kept in, if there are any.
pub(crate) fn log_variance_limits<T: Real>(visible: &Layer<T>, data: &Dataset<T>) -> Option<(Array1<T>, Array1<T>)> {
    visible.field("log_variance")?;
    let Moments { means, rows, .. } = data.moments(&visible.lowered());
    let mut par = visible.par().to_owned();
    visible.layout().fit(means.view(), rows, visible.offset(), par.view_mut());
    // What is no Gaussian unit has no variance, which is 0 and stays so.
    let mut limits = [LOG_VARIANCE_RANGE.0, LOG_VARIANCE_RANGE.1].map(|add| (add, Array1::zeros(par.ncols())));
    for (add, limit) in &mut limits {
        for block in visible.layout().blocks().iter().filter(|b| b.unit::<T>().quadratic()) {
            let own = par.slice(s![1, block.columns()]).mapv(|z| T::of((z.f64() + *add).clamp(-79.0, 79.0)));
            limit.slice_mut(s![block.columns()]).assign(&own);
        }
    }
    let [(_, low), (_, high)] = limits;
    Some((low, high))
}

/// Mean log likelihood of the known cells of the rows under independent units fitted to them, nats per row.
pub fn independent_log_likelihood<T: Real>(visible: &LoweredLayer<T>, data: &Dataset<T>) -> f64 {
    let moments = data.moments(visible);
    moments.log_likelihood(visible, &moments.fitted(visible))
}
