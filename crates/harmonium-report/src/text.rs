//! Text of a page: escaping, and numbers as people write them.

/// Escapes text for use between tags and inside quotes; characters that XML forbids are dropped.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => {}
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// Cuts text to at most `max` characters; the last is an ellipsis if something was cut.
pub fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() > max {
        text.chars().take(max.saturating_sub(1)).chain(['…']).collect()
    } else {
        text.into()
    }
}

/// Text with a capital first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Four significant digits: −0.01234, 12.34, 12,340, 1.234×10⁻⁷.
pub fn number(x: f64) -> String {
    rounded(x, 4)
}

/// Two significant digits.
pub fn short(x: f64) -> String {
    rounded(x, 2)
}

fn rounded(x: f64, digits: i32) -> String {
    if x == 0.0 || !x.is_finite() {
        return if x == 0.0 { "0".into() } else { "not a number".into() };
    }
    let exponent = x.abs().log10().floor() as i32;
    match exponent {
        -4..6 => trimmed(&fixed(x, (digits - 1 - exponent).max(0) as usize)),
        _ => scientific(x, digits as usize - 1),
    }
}

/// A number with `decimals` digits after the point and commas between thousands.
pub fn fixed(x: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", x.abs());
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut text = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(c);
    }
    let negative = x < 0.0 && digits.bytes().any(|b| (b'1'..=b'9').contains(&b));
    format!("{}{text}{rest}", if negative { "−" } else { "" })
}

/// 1.5×10⁻⁷, with at most `decimals` digits after the point.
pub fn scientific(x: f64, decimals: usize) -> String {
    let text = format!("{x:.decimals$e}");
    let Some((mantissa, exponent)) = text.split_once('e') else { return text };
    let raised = exponent.chars().map(|c| match c {
        '-' => '⁻',
        c => c.to_digit(10).and_then(|d| "⁰¹²³⁴⁵⁶⁷⁸⁹".chars().nth(d as usize)).unwrap_or(c),
    });
    let raised: String = raised.collect();
    match trimmed(mantissa).replace('-', "−").as_str() {
        "1" => format!("10{raised}"),
        mantissa => format!("{mantissa}×10{raised}"),
    }
}

/// Drops zeros at the end of the decimals.
fn trimmed(text: &str) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').into() } else { text.into() }
}

/// A count with its noun: "1 unit", "12 units".
pub fn count(n: usize, one: &str) -> String {
    format!("{} {one}{}", fixed(n as f64, 0), if n == 1 { "" } else { "s" })
}

/// "8.00 better", "0.15 worse"; none if two decimals show no difference.
pub fn difference(gain: f64) -> Option<String> {
    let size = fixed(gain.abs(), 2);
    let word = if gain > 0.0 { "better" } else { "worse" };
    (size != "0.00").then(|| format!("{size} {word}"))
}

/// A number to as many digits as its error allows; exact ones have two decimals.
pub fn with_error(x: f64, error: f64) -> String {
    if !shows(error) {
        return if x.abs() < 0.1 { short(x) } else { fixed(x, 2) };
    }
    let decimals = decimals(error);
    format!("{} ± {}", fixed(x, decimals), fixed(error, decimals))
}

/// Whether an error is a number that four decimals show.
pub fn shows(error: f64) -> bool {
    error > 5e-5 && error.is_finite()
}

/// Decimals that show two digits of an error.
pub fn decimals(error: f64) -> usize {
    (1.0 - error.log10().floor()).clamp(0.0, 4.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        let cases = [
            (0.0, "0"),
            (-0.012345, "−0.01235"),
            (12.0, "12"),
            (12345.6, "12,346"),
            (999999.0, "999,999"),
            (1e6, "10⁶"),
            (-1.5e-7, "−1.5×10⁻⁷"),
            (f64::NAN, "not a number"),
        ];
        for (x, text) in cases {
            assert_eq!(number(x), text);
        }
        assert_eq!(fixed(-0.001, 1), "0.0");
        assert_eq!(count(1, "unit") + &count(1200, "unit"), "1 unit1,200 units");
    }

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(escape("<a href=\"x\">&'\u{0}\u{1b}"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
