//! Mean and variance of numbers that are seen one after the other, by Welford's update.

/// Standard deviation over |mean| below which numbers are constant but for rounding.
const ROUNDING: f64 = 1e-12;

/// Numbers seen so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Moments {
    count: f64,
    mean: f64,
    /// Σ (x − mean)².
    square: f64,
}

impl Moments {
    /// Counts a number.
    pub fn push(&mut self, x: f64) {
        let before = x - self.mean;
        self.count += 1.0;
        self.mean += before / self.count;
        self.square += before * (x - self.mean);
    }

    /// The mean; 0 without numbers.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation; 1 for constant numbers, and for numbers so large that it overflows.
    pub fn deviation(&self) -> f64 {
        let deviation = (self.square / self.count).sqrt();
        if self.is_constant() || !deviation.is_finite() { 1.0 } else { deviation }
    }

    /// Whether all numbers are equal but for rounding.
    pub fn is_constant(&self) -> bool {
        let deviation = (self.square / self.count).sqrt();
        deviation.is_nan() || deviation <= ROUNDING * self.mean.abs()
    }

    /// Shift and scale in the precision of the model file, so that what it stores is what was done, to the bit.
    pub fn standard(&self) -> (f64, f64) {
        let scale = (self.deviation() as f32).clamp(f32::MIN_POSITIVE, f32::MAX);
        (f64::from(self.mean as f32), f64::from(scale))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: &[f64]) -> Moments {
        let mut moments = Moments::default();
        numbers.iter().for_each(|x| moments.push(*x));
        moments
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_numbers() {
        let moments = of(&[1.0, 2.0, 4.0, 9.0]);
        assert_eq!(moments.mean(), 4.0);
        assert!((moments.deviation() - (38.0f64 / 4.0).sqrt()).abs() < 1e-15);
        // Constant but for rounding, constant, nothing, overflowing.
        for (numbers, constant) in
            [(&[0.1 + 0.2, 0.3][..], true), (&[7.0, 7.0], true), (&[], true), (&[1e300, -1e300], false)]
        {
            assert_eq!((of(numbers).deviation(), of(numbers).is_constant()), (1.0, constant), "{numbers:?}");
        }
        assert_eq!(of(&[1e-60, -1e-60]).standard().1, f64::from(f32::MIN_POSITIVE));
    }
}
