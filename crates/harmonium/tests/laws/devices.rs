//! Every backend there is, and learners for the laws.

use harmonium::backend::cpu::Level;
use harmonium::backend::{CpuDevice, Device, Learner, Part, Phase, Reference, Side, Start};
use harmonium::optimize::OptimizerConfig;
use harmonium::{LayerMeans, Rbm, Real, Stats};

/// Every backend there is: the processor with each of its sets of instructions, and the reference.
pub fn devices() -> Vec<(String, Box<dyn Device>)> {
    let cpu = |level: Level| (level.name().to_string(), Box::new(CpuDevice { level: Some(level) }) as Box<dyn Device>);
    Level::available()
        .into_iter()
        .map(cpu)
        .chain([("reference".into(), Box::new(Reference::default()) as Box<dyn Device>)])
        .collect()
}

/// Those of the processor.
pub fn levels() -> Vec<(String, Box<dyn Device>)> {
    devices().into_iter().filter(|(_, device)| device.name() == "cpu").collect()
}

/// Plain gradient ascent.
pub fn ascent() -> OptimizerConfig {
    OptimizerConfig { name: "sgd".into(), momentum: 0.0, nesterov: false }
}

pub fn learner<T: Real>(device: &dyn Device, rbm: &Rbm<T>) -> Box<dyn Learner<T>> {
    device.learner(Start::new(rbm, ascent())).unwrap()
}

/// The origins of a model, as numbers.
pub fn points(rbm: &Rbm<f64>) -> Option<[Vec<f64>; 2]> {
    Start::new(rbm, ascent()).chart.origins().map(|origins| origins.each_ref().map(|o| o.to_vec()))
}

/// Adds a phase, and returns what the difference of the layers' means is then.
pub fn add<T: Real>(learner: &mut dyn Learner<T>, phase: &Phase<T>) -> LayerMeans<T> {
    let mut means = LayerMeans::zeros(learner.backend().layers());
    learner.accumulate(phase, &mut means);
    means
}

/// Data less model.
pub fn difference<T: Real>(learner: &mut dyn Learner<T>, data: &Phase<T>, model: &Phase<T>) -> Stats<T> {
    add(learner, data);
    let LayerMeans { visible, hidden, weight } = add(learner, model);
    Stats { visible, hidden, cross: learner.read(Part::Difference), weight }
}

pub fn phase<T>(side: Side, slot: usize, weights: Option<&[T]>, shard: usize) -> Phase<'_, T> {
    Phase { side, slot, weights, times: 1.0, shard, draw: None }
}
