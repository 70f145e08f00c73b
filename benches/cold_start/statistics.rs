//! Medians and quartiles.

/// The middle of some figures and how they spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Spread {
    /// Half of the figures are below.
    pub(crate) median: f64,
    /// A quarter of the figures is below.
    pub(crate) lower: f64,
    /// A quarter of the figures is above.
    pub(crate) upper: f64,
}

/// The spread of some figures; of none, not a number.
pub(crate) fn spread(figures: impl IntoIterator<Item = f64>) -> Spread {
    let mut sorted: Vec<f64> = figures.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    Spread { median: at(&sorted, 0.5), lower: at(&sorted, 0.25), upper: at(&sorted, 0.75) }
}

/// The figure at a part of the way, between its two neighbours.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the place lies within a list of some hundreds"
)]
fn at(sorted: &[f64], part: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = part * last as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    sorted[below] + (sorted[above] - sorted[below]) * place.fract()
}
