//! A stream of which no message may be longer than there is room for.
//!
//! Apart because the protocol's library reads a message whole before it looks at it: whoever never ends one would take all
//! memory there is.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

/// The longest message, in bytes.
pub(super) const LONGEST: usize = 16 << 20;

/// Whether a server has sent more than it may.
#[derive(Clone, Debug, Default)]
pub(super) struct Excess(Arc<AtomicBool>);

impl Excess {
    /// It has.
    pub(super) fn tell(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_told(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counts what has come since a message began.
#[derive(Debug)]
pub(super) struct Counter {
    most: usize,
    since: usize,
    excess: Excess,
}

impl Counter {
    pub(super) fn new(most: usize, excess: Excess) -> Counter {
        Counter { most, since: 0, excess }
    }

    /// Takes what came, of which a message may end with `end`.
    ///
    /// # Errors
    /// A message is too long.
    pub(super) fn take(&mut self, bytes: &[u8], end: &[u8]) -> io::Result<()> {
        self.since = match last(bytes, end) {
            // What ended in these bytes was begun before, and is not longer than what is held.
            Some(at) if self.since + bytes.len() <= self.most => bytes.len() - at,
            _ => self.since + bytes.len(),
        };
        if self.since <= self.most {
            return Ok(());
        }
        self.excess.tell();
        Err(io::Error::new(io::ErrorKind::InvalidData, "a message is too long"))
    }
}

/// Where the last `end` in the bytes ends.
fn last(bytes: &[u8], end: &[u8]) -> Option<usize> {
    bytes.windows(end.len()).rposition(|window| window == end).map(|at| at + end.len())
}

/// Lines, of which none is longer than it may.
#[derive(Debug)]
pub(super) struct BoundedLines<R> {
    from: R,
    counter: Counter,
}

impl<R> BoundedLines<R> {
    pub(super) fn new(from: R, most: usize, excess: Excess) -> BoundedLines<R> {
        BoundedLines { from, counter: Counter::new(most, excess) }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for BoundedLines<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.from).poll_read(context, buffer))?;
        let taken = self.counter.take(&buffer.filled()[before..], b"\n");
        Poll::Ready(taken)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;

    fn read(text: &'static [u8], most: usize) -> (Result<usize, String>, bool) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let excess = Excess::default();
        let mut lines = BoundedLines::new(text, most, excess.clone());
        let mut all = Vec::new();
        let read = runtime.block_on(async {
            let mut piece = [0; 4];
            loop {
                match lines.read(&mut piece).await {
                    Ok(0) => return Ok(all.len()),
                    Ok(n) => all.extend_from_slice(&piece[..n]),
                    Err(error) => return Err(error.to_string()),
                }
            }
        });
        (read, excess.is_told())
    }

    #[test]
    fn lines_are_as_long_as_they_may_and_no_longer() {
        assert_eq!(read(b"123456\n123456\n12", 10), (Ok(16), false));
        assert_eq!(read(b"12345678901234567890\n", 10), (Err("a message is too long".to_owned()), true));
        assert_eq!(read(b"1\n2\n3\n4\n5\n6\n7\n8\n", 4), (Ok(16), false), "all together may be more");
    }
}
