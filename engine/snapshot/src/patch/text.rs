//! Two texts by their lines, as a unified diff.

use std::io::{self, Write};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};

/// How many lines are shown about a change.
const CONTEXT: usize = 3;

/// What differs between two texts.
pub(super) struct LineDiff<'t> {
    old: Vec<&'t [u8]>,
    new: Vec<&'t [u8]>,
    ops: Vec<DiffOp>,
}

impl<'t> LineDiff<'t> {
    pub(super) fn of(old: &'t [u8], new: &'t [u8]) -> LineDiff<'t> {
        let [old, new] =
            [old, new].map(|text| text.split_inclusive(|byte| *byte == b'\n').collect::<Vec<_>>());
        // The one that bounds its work, and gives the same each time.
        let ops = capture_diff_slices(Algorithm::Myers, &old, &new);
        LineDiff { old, new, ops }
    }

    /// Whether there is no line in either.
    pub(super) fn is_empty(&self) -> bool {
        self.ops.is_empty()
    }

    /// How many lines came, and how many went.
    pub(super) fn count(&self) -> (u64, u64) {
        let changed = self.ops.iter().filter(|op| op.tag() != DiffTag::Equal);
        changed.fold((0, 0), |(added, removed), op| {
            (added + op.new_range().len() as u64, removed + op.old_range().len() as u64)
        })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        group_diff_ops(self.ops.clone(), CONTEXT).iter().try_for_each(|hunk| self.write_hunk(hunk, out))
    }

    fn write_hunk(&self, hunk: &[DiffOp], out: &mut dyn Write) -> io::Result<()> {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return Ok(()) };
        let old = range(first.old_range().start, last.old_range().end);
        let new = range(first.new_range().start, last.new_range().end);
        writeln!(out, "@@ -{old} +{new} @@")?;
        for op in hunk {
            let (old, new) = (&self.old[op.old_range()], &self.new[op.new_range()]);
            match op.tag() {
                DiffTag::Equal => write_lines(b' ', old, out)?,
                _ => {
                    write_lines(b'-', old, out)?;
                    write_lines(b'+', new, out)?;
                }
            }
        }
        Ok(())
    }
}

/// Lines are counted from one; of none it is the one before.
fn range(start: usize, end: usize) -> String {
    match end - start {
        0 => format!("{start},0"),
        1 => format!("{}", start + 1),
        length => format!("{},{length}", start + 1),
    }
}

fn write_lines(mark: u8, lines: &[&[u8]], out: &mut dyn Write) -> io::Result<()> {
    for line in lines {
        out.write_all(&[mark])?;
        out.write_all(line)?;
        if !line.ends_with(b"\n") {
            out.write_all(b"\n\\ No newline at end of file\n")?;
        }
    }
    Ok(())
}
