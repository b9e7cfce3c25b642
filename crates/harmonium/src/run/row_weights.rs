//! Weights of rows: a table of them, or one over the number of similar rows.

/// Weights of the rows.
#[derive(Clone, Debug, PartialEq)]
pub enum RowWeights {
    /// Every row counts once.
    None,
    /// A row with n rows, itself included, that share this fraction of its sites counts 1/n.
    Similarity(f64),
    /// A table has one number per row.
    Table(String),
}

/// Identity from which sequences count as related, unless asked otherwise.
pub(crate) const SIMILAR: f64 = 0.8;

impl RowWeights {
    /// From a file's name, `similarity`, `similarity:F` or `none`.
    pub(crate) fn parse(text: &str) -> std::result::Result<RowWeights, String> {
        let identity = match text.split_once(':') {
            None if text == "similarity" => SIMILAR,
            Some(("similarity", number)) => number.parse().unwrap_or(f64::NAN),
            _ if text == "none" => return Ok(RowWeights::None),
            _ => return Ok(RowWeights::Table(text.into())),
        };
        if identity > 0.0 && identity <= 1.0 {
            return Ok(RowWeights::Similarity(identity));
        }
        Err(format!("'{text}' must end with a fraction above 0 and at most 1, such as similarity:0.8"))
    }
}
