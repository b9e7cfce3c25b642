//! What a word looks like: a date, a number written for people, or something that no name may hold.

use super::MOST_WORD;

/// Why a word cannot be a name or a category.
pub(super) fn unusable(word: &str) -> Option<&'static str> {
    if word.len() > MOST_WORD {
        Some("is longer than 64 KiB")
    } else if word.chars().any(char::is_control) {
        Some("holds a control character")
    } else {
        None
    }
}

/// A number as a category, so that 1, 1.0 and 1e0 are the same.
pub(super) fn number_name(x: f64) -> String {
    // −0 and 0 are the same.
    (x + 0.0).to_string()
}

/// The number that a category is the name of.
pub(super) fn named_number(word: &str) -> Option<f64> {
    word.parse().ok().filter(|x: &f64| x.is_finite() && number_name(*x) == word)
}

/// Whether a word is a date, a time, or both: digits in groups of one to four between `-`, `/`, `.` or `:`.
pub(super) fn is_date(word: &str) -> bool {
    let (date, time) = word.split_once(['T', ' ']).unwrap_or((word, ""));
    match (is_day(date), is_time(date)) {
        (true, _) => time.is_empty() || is_time(time),
        (_, is_time) => is_time && time.is_empty(),
    }
}

fn is_day(text: &str) -> bool {
    ['-', '/', '.'].into_iter().any(|mark| {
        let parts: Vec<&str> = text.splitn(4, mark).collect();
        let fits = |lengths: [std::ops::RangeInclusive<usize>; 3]| {
            parts.len() == 3 && parts.iter().zip(lengths).all(|(p, n)| is_digits(p) && n.contains(&p.len()))
        };
        fits([4..=4, 1..=2, 1..=2]) || fits([1..=2, 1..=2, 4..=4]) || (mark != '.' && fits([1..=2, 1..=2, 2..=2]))
    })
}

/// 12:30, 12:30:59, 12:30:59.25, with Z or an offset such as +02:00.
fn is_time(text: &str) -> bool {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let text = text.split(['+', '-']).next().unwrap_or_default();
    let parts: Vec<&str> = text.splitn(4, ':').collect();
    let is_part = |p: &&str| (1..=2).contains(&p.len()) && is_digits(p);
    match parts[..] {
        [h, m] => is_part(&h) && is_part(&m),
        [h, m, s] => is_part(&h) && is_part(&m) && s.split('.').all(is_digits),
        _ => false,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a word is a number written for people: `1,234`, `1,5`, `12%`, `$3.50`, `1 000`.
pub(super) fn looks_like_number(word: &str) -> bool {
    let plain: String = word.chars().filter(|c| !" ,_'%$€£\u{a0}\u{202f}".contains(*c)).collect();
    plain.len() < word.len()
        && plain.parse::<f64>().is_ok_and(f64::is_finite)
        && plain.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_are_known_by_their_digits() {
        for word in [
            "2024-02-29",
            "2024-2-9",
            "29.02.2024",
            "2/29/2024",
            "02/29/24",
            "12:30",
            "12:30:59",
            "2024-02-29T12:30:59Z",
            "2024-02-29 12:30:59.123456",
            "2024-02-29T12:30:59+02:00",
        ] {
            assert!(is_date(word), "{word}");
        }
        for word in
            ["", "1.2.3", "192.168.0.1", "a-b-c", "2024", "12-30", "2024-02-29x", "red", "1.2.24", "2024-02-29 noon"]
        {
            assert!(!is_date(word), "{word}");
        }
    }

    #[test]
    fn numbers_for_people_are_not_words_to_learn() {
        for word in ["1,234", "1,5", "12%", "$3.50", "1 000", "€1.000,5"] {
            assert_eq!(looks_like_number(word), word != "€1.000,5" || "1.0005".parse::<f64>().is_ok(), "{word}");
        }
        for word in ["", "%", "a,b", "A12", "12", "one"] {
            assert!(!looks_like_number(word), "{word}");
        }
    }

    #[test]
    fn categories_that_are_numbers_have_one_name_each() {
        for (x, name) in [(1.0, "1"), (-0.0, "0"), (0.5, "0.5"), (-3.0, "-3")] {
            assert_eq!((number_name(x).as_str(), named_number(name)), (name, Some(x + 0.0)));
        }
        for word in ["01", "1.0", "1e0", "inf", "red", ""] {
            assert_eq!(named_number(word), None, "{word}");
        }
    }
}
