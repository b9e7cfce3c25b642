//! A walk through a header in Thrift's compact notation, before the parquet crate parses it.
//!
//! The crate trusts three things that a header claims: the length of a list that it skips, the type of a field that it
//! knows, and how deeply columns are nested. The walk takes time in proportion to the header, and accepts what the crate
//! reads in the same time: no list is longer than the bytes that are left, and each known field has its type, so that the
//! crate finds every later field where the walk found it.

/// The type of what stands in a field.
pub(super) enum Shape {
    Bool,
    Byte,
    /// A number of 16, 32 or 64 bits; all are written in the same way.
    Int,
    /// The number of entries of the schema below this one.
    Children,
    Double,
    Binary,
    Struct(Fields),
    List(&'static Shape),
}
use Shape::{Binary, Bool, Byte, Children, Double, Int, List, Struct};

/// The known fields of a structure, by their numbers.
pub(super) type Fields = &'static [(i16, Shape)];

const STATISTICS: Fields =
    &[(1, Binary), (2, Binary), (3, Int), (4, Int), (5, Binary), (6, Binary), (7, Bool), (8, Bool), (9, Int)];
const EMPTY: Shape = Struct(&[]);
const UNIT: Fields = &[(1, EMPTY), (2, EMPTY), (3, EMPTY)];
const TIME: Shape = Struct(&[(1, Bool), (2, Struct(UNIT))]);
const LOGICAL_TYPE: Fields = &[
    (1, EMPTY),
    (2, EMPTY),
    (3, EMPTY),
    (4, EMPTY),
    (5, Struct(&[(1, Int), (2, Int)])),
    (6, EMPTY),
    (7, TIME),
    (8, TIME),
    (10, Struct(&[(1, Byte), (2, Bool)])),
    (11, EMPTY),
    (12, EMPTY),
    (13, EMPTY),
    (14, EMPTY),
    (15, EMPTY),
    (16, Struct(&[(1, Byte)])),
    (17, Struct(&[(1, Binary)])),
    (18, Struct(&[(1, Binary), (2, Int)])),
    (19, EMPTY),
];
const SCHEMA_ELEMENT: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Binary),
    (5, Children),
    (6, Int),
    (7, Int),
    (8, Int),
    (9, Int),
    (10, Struct(LOGICAL_TYPE)),
];
const BOX: Fields =
    &[(1, Double), (2, Double), (3, Double), (4, Double), (5, Double), (6, Double), (7, Double), (8, Double)];
const PLACES: Fields = &[(1, Struct(BOX)), (2, List(&Int))];
const KEY_VALUE: Shape = Struct(&[(1, Binary), (2, Binary)]);
const COLUMN_META: Fields = &[
    (1, Int),
    (2, List(&Int)),
    (3, List(&Binary)),
    (4, Int),
    (5, Int),
    (6, Int),
    (7, Int),
    (8, List(&KEY_VALUE)),
    (9, Int),
    (10, Int),
    (11, Int),
    (12, Struct(STATISTICS)),
    (13, List(&Struct(&[(1, Int), (2, Int), (3, Int)]))),
    (14, Int),
    (15, Int),
    (16, Struct(&[(1, Int), (2, List(&Int)), (3, List(&Int))])),
    (17, Struct(PLACES)),
];
const COLUMN_CHUNK: Fields = &[(1, Binary), (2, Int), (3, Struct(COLUMN_META)), (4, Int), (5, Int), (6, Int), (7, Int)];
const SORTING: Shape = Struct(&[(1, Int), (2, Bool), (3, Bool)]);
const ROW_GROUP: Fields =
    &[(1, List(&Struct(COLUMN_CHUNK))), (2, Int), (3, Int), (4, List(&SORTING)), (5, Int), (6, Int), (7, Int)];
/// The footer of a file.
pub(super) const FOOTER: Fields = &[
    (1, Int),
    (2, List(&Struct(SCHEMA_ELEMENT))),
    (3, Int),
    (4, List(&Struct(ROW_GROUP))),
    (5, List(&KEY_VALUE)),
    (6, Binary),
    (7, List(&Struct(UNIT))),
];
/// The header of a page.
pub(super) const PAGE: Fields = &[
    (1, Int),
    (2, Int),
    (3, Int),
    (4, Int),
    (5, Struct(&[(1, Int), (2, Int), (3, Int), (4, Int), (5, Struct(STATISTICS))])),
    (6, EMPTY),
    (7, Struct(&[(1, Int), (2, Int), (3, Bool)])),
    (8, Struct(&[(1, Int), (2, Int), (3, Int), (4, Int), (5, Int), (6, Int), (7, Bool), (8, Struct(STATISTICS))])),
];

/// Structures and lists within one another: the crate follows 64, and a footer needs about ten.
const DEEPEST: usize = 60;
/// Groups of columns within one another, which the crate follows by calling itself.
const MOST_NESTED: usize = 200;

type Walked<T> = Result<T, &'static str>;

/// Refuses a header that would take long to parse.
pub(super) fn walk(bytes: &[u8], known: Fields) -> Walked<()> {
    Walk { rest: bytes, nested: Vec::new() }.structure(known, 0)
}

struct Walk<'a> {
    rest: &'a [u8],
    /// Columns that are still to come in each open group of the schema.
    nested: Vec<u64>,
}

impl Walk<'_> {
    fn byte(&mut self) -> Walked<u8> {
        let (first, rest) = self.rest.split_first().ok_or("it ends within a field")?;
        self.rest = rest;
        Ok(*first)
    }

    fn skip(&mut self, n: u64) -> Walked<()> {
        let rest = usize::try_from(n).ok().and_then(|n| self.rest.get(n..));
        self.rest = rest.ok_or("it ends within a field")?;
        Ok(())
    }

    /// An unsigned number of at most 64 bits.
    fn number(&mut self) -> Walked<u64> {
        let mut bits = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            bits |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(bits);
            }
        }
        Err("a number has more than 64 bits")
    }

    /// A number with a sign.
    fn signed(&mut self) -> Walked<i64> {
        let bits = self.number()?;
        Ok((bits >> 1) as i64 ^ -((bits & 1) as i64))
    }

    fn structure(&mut self, known: Fields, depth: usize) -> Walked<()> {
        let (mut last, mut children) = (0, None);
        while let Some((id, kind)) = self.field(last)? {
            let shape = known.iter().find(|(known, _)| *known == id).map(|(_, shape)| shape);
            match shape {
                Some(Children) if Int.has(kind) => children = Some(self.signed()? as i32),
                _ => self.value(kind, shape, depth)?,
            }
            last = id;
        }
        let entry = known.iter().any(|(_, shape)| matches!(shape, Children));
        if entry { self.nest(children.and_then(|n| u64::try_from(n).ok()).unwrap_or(0)) } else { Ok(()) }
    }

    /// The number and the type of the next field; none at the end of the structure.
    fn field(&mut self, last: i16) -> Walked<Option<(i16, u8)>> {
        let byte = self.byte()?;
        let (step, kind) = (i16::from(byte >> 4), byte & 0xf);
        Ok(match (kind, step) {
            (0, _) => None,
            (_, 0) => Some((self.signed()? as i16, kind)),
            _ => Some((last.checked_add(step).ok_or("a field has no number")?, kind)),
        })
    }

    fn value(&mut self, kind: u8, shape: Option<&Shape>, depth: usize) -> Walked<()> {
        if depth > DEEPEST {
            return Err("its structures are nested too deeply");
        }
        if shape.is_some_and(|shape| !shape.has(kind)) {
            return Err("a field has the wrong type");
        }
        match (kind, shape) {
            (1 | 2, _) => Ok(()),
            (3, _) => self.skip(1),
            (4..=6, _) => self.number().map(|_| ()),
            (7, _) => self.skip(8),
            (8, _) => self.number().and_then(|n| self.skip(n)),
            (9 | 10, Some(List(entry))) => self.list(Some(entry), depth),
            (9 | 10, _) => self.list(None, depth),
            (11, _) => self.map(depth),
            (12, Some(Struct(known))) => self.structure(known, depth + 1),
            (12, _) => self.structure(&[], depth + 1),
            (13, _) => self.skip(16),
            _ => Err("a field has an unknown type"),
        }
    }

    fn list(&mut self, entry: Option<&Shape>, depth: usize) -> Walked<()> {
        let byte = self.byte()?;
        let n = if byte >> 4 == 15 { self.number()? } else { u64::from(byte >> 4) };
        self.claim(n, &[byte & 0xf])?;
        (0..n).try_for_each(|_| self.value(byte & 0xf, entry, depth + 1))
    }

    fn map(&mut self, depth: usize) -> Walked<()> {
        let n = self.number()?;
        if n == 0 {
            return Ok(());
        }
        let byte = self.byte()?;
        self.claim(n, &[byte >> 4, byte & 0xf])?;
        (0..n).try_for_each(|_| {
            self.value(byte >> 4, None, depth + 1)?;
            self.value(byte & 0xf, None, depth + 1)
        })
    }

    /// Refuses a list that is longer than the rest, where an entry takes a byte at least. The crate takes none for a truth value that it
    /// skips; no list of the format is of these.
    fn claim(&self, n: u64, kinds: &[u8]) -> Walked<()> {
        if n > self.rest.len() as u64 {
            return Err("a list is longer than the rest of it");
        }
        let truth = n > 0 && kinds.iter().any(|kind| matches!(kind, 1 | 2));
        if truth { Err("it has a list of truth values") } else { Ok(()) }
    }

    /// Counts an entry of the schema, which has so many entries below it.
    fn nest(&mut self, children: u64) -> Walked<()> {
        while self.nested.last() == Some(&0) {
            self.nested.pop();
        }
        if let Some(open) = self.nested.last_mut() {
            *open -= 1;
        }
        self.nested.extend((children > 0).then_some(children));
        if self.nested.len() > MOST_NESTED { Err("its columns are nested too deeply") } else { Ok(()) }
    }
}

impl Shape {
    /// Whether a field of this shape has this type.
    fn has(&self, kind: u8) -> bool {
        match self {
            Bool => matches!(kind, 1 | 2),
            Byte => kind == 3,
            Int | Children => matches!(kind, 4..=6),
            Double => kind == 7,
            Binary => kind == 8,
            List(_) => matches!(kind, 9 | 10),
            Struct(_) => kind == 12,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A footer with these bytes in an unknown field of this type.
    fn unknown(kind: u8, bytes: &[u8]) -> Walked<()> {
        walk(&[&[0xf0 | kind], bytes, &[0]].concat(), FOOTER)
    }

    #[test]
    fn fields_of_every_type_are_skipped() {
        let list = [0x35, 1, 2, 3];
        for (kind, bytes) in [
            (1, &[][..]),
            (3, &[0x80]),
            (5, &[0x80, 0x80, 1]),
            (7, &[1; 8]),
            (8, &[2, 0xff, 0xff]),
            (9, &list),
            (10, &[0]),
            (11, &[0]),
            (11, &[1, 0x88, 1, b'a', 1, b'b']),
            (12, &[0x15, 4, 0]),
            (13, &[9; 16]),
        ] {
            assert_eq!(unknown(kind, bytes), Ok(()), "{kind} {bytes:?}");
        }
    }

    #[test]
    fn lists_longer_than_the_rest_are_refused() {
        for (kind, bytes, problem) in [
            (9, &[0xf5, 0xff, 0xff, 0xff, 0xff, 7][..], "a list is longer than the rest of it"),
            (9, &[0xf1, 0xff, 0xff, 0xff, 0xff, 7], "a list is longer than the rest of it"),
            (9, &[0x21, 1, 1], "it has a list of truth values"),
            (11, &[2, 0x11, 1, 1], "it has a list of truth values"),
            (11, &[0xff, 0xff, 3, 0x55], "a list is longer than the rest of it"),
            (8, &[0xff, 0xff, 3, 0], "it ends within a field"),
            (5, &[0xff; 11], "a number has more than 64 bits"),
            (14, &[], "a field has an unknown type"),
        ] {
            assert_eq!(unknown(kind, bytes), Err(problem), "{kind} {bytes:?}");
        }
        assert_eq!(unknown(12, &[0x1c; 100]), Err("its structures are nested too deeply"));
    }

    #[test]
    fn a_known_field_has_its_type() {
        assert_eq!(walk(&[0x15, 2, 0], FOOTER), Ok(()));
        // Skipped as three bytes of text, read as a number and a list of truth values without end.
        let other = walk(&[0x18, 3, 0xf9, 0xf1, 0xff, 0], FOOTER);
        assert_eq!(other, Err("a field has the wrong type"));
        let list = walk(&[0x29, 0x15, 2, 0], FOOTER);
        assert_eq!(list, Err("a field has the wrong type"));
    }

    #[test]
    fn groups_of_columns_within_one_another_have_a_limit() {
        // An entry of the schema with so many below it.
        let entry = |n: u8| [0x55, 2 * n, 0];
        let schema = |entries: &[u8]| {
            let n = [(entries.len() as u64 & 0x7f) as u8 | 0x80, (entries.len() >> 7) as u8];
            walk(
                &[&[0x29, 0xfc][..], &n, &entries.iter().flat_map(|n| entry(*n)).collect::<Vec<_>>(), &[0]].concat(),
                FOOTER,
            )
        };
        assert_eq!(schema(&[vec![1; 199], vec![0]].concat()), Ok(()));
        assert_eq!(schema(&[vec![1; 300], vec![0]].concat()), Err("its columns are nested too deeply"));
        // 300 groups side by side are none within another.
        assert_eq!(schema(&[vec![60], [1, 0].repeat(60)].concat()), Ok(()));
    }
}
