//! A limit of time for answers. The driver waits for one for ever, and a server that is frozen takes what it is sent and says
//! nothing; the network sees no fault in that.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// How long it is waited for an answer, in milliseconds; 0 is for ever.
#[derive(Debug, Clone)]
pub(super) struct Limit(Arc<AtomicU64>);

impl Limit {
    pub(super) fn new(limit: Duration) -> Limit {
        Limit(Arc::new(AtomicU64::new(u64::try_from(limit.as_millis()).unwrap_or(0))))
    }

    /// From now on it is waited for ever.
    pub(super) fn lift(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn get(&self) -> Option<Duration> {
        Some(self.0.load(Ordering::Relaxed)).filter(|limit| *limit > 0).map(Duration::from_millis)
    }
}

/// Connections by TLS whose answers come within a limit.
pub(super) struct Within<T>(pub(super) T, pub(super) Limit);

/// Connections in the clear whose answers come within a limit. To the driver it is what makes a TLS of which nothing is
/// negotiated.
#[derive(Clone)]
pub(super) struct InTheClear(pub(super) Limit);

type Made<S, E> = Pin<Box<dyn Future<Output = Result<Timed<S>, E>> + Send>>;

impl<T: MakeTlsConnect<Socket>> MakeTlsConnect<Socket> for Within<T>
where
    T::Stream: Send + 'static,
    T::TlsConnect: Send + 'static,
    <T::TlsConnect as TlsConnect<Socket>>::Future: Send,
{
    type Stream = Timed<T::Stream>;
    type TlsConnect = Within<T::TlsConnect>;
    type Error = T::Error;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Self::TlsConnect, T::Error> {
        Ok(Within(self.0.make_tls_connect(domain)?, self.1.clone()))
    }
}

impl<T: TlsConnect<Socket> + Send + 'static> TlsConnect<Socket> for Within<T>
where
    T::Stream: Send + 'static,
    T::Future: Send,
{
    type Stream = Timed<T::Stream>;
    type Error = T::Error;
    type Future = Made<T::Stream, T::Error>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(
            async move { Ok(Timed::new(self.0.connect(socket).await?, self.1, TlsStream::channel_binding)) },
        )
    }
}

impl MakeTlsConnect<Socket> for InTheClear {
    type Stream = Timed<Socket>;
    type TlsConnect = InTheClear;
    type Error = io::Error;

    fn make_tls_connect(&mut self, _: &str) -> io::Result<InTheClear> {
        Ok(self.clone())
    }
}

impl TlsConnect<Socket> for InTheClear {
    type Stream = Timed<Socket>;
    type Error = io::Error;
    type Future = Made<Socket, io::Error>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { Ok(Timed::new(socket, self.0, |_| ChannelBinding::none())) })
    }
}

/// The kinds of messages that end a question (`Query`, `Sync`; what opens a connection counts as the latter), and of the one that
/// ends its answer (`ReadyForQuery`).
const QUERY: u8 = b'Q';
const SYNC: u8 = b'S';
const READY: u8 = b'Z';

/// Tells the messages in a stream of bytes apart: a letter for the kind, the length of the rest, the rest.
struct Messages {
    header: [u8; 5],
    /// How much of the header is there, and how much of the rest is to come.
    known: usize,
    rest: usize,
}

impl Messages {
    /// The first message of a client has no letter: it is what opens a connection.
    fn of_client() -> Messages {
        Messages { header: [SYNC, 0, 0, 0, 0], known: 1, rest: 0 }
    }

    fn of_server() -> Messages {
        Messages { header: [0; 5], known: 0, rest: 0 }
    }

    /// How many messages of these kinds begin in the next bytes.
    fn count(&mut self, mut bytes: &[u8], kinds: &[u8]) -> usize {
        let mut count = 0;
        while !bytes.is_empty() {
            let skipped = self.rest.min(bytes.len());
            (self.rest, bytes) = (self.rest - skipped, &bytes[skipped..]);
            let taken = bytes.len().min(self.header.len() - self.known);
            self.header[self.known..self.known + taken].copy_from_slice(&bytes[..taken]);
            (self.known, bytes) = (self.known + taken, &bytes[taken..]);
            if let [kind, length @ ..] = self.header
                && self.known == self.header.len()
            {
                count += usize::from(kinds.contains(&kind));
                // The length counts itself.
                (self.known, self.rest) = (0, (u32::from_be_bytes(length) as usize).saturating_sub(4));
            }
        }
        count
    }
}

/// A stream that fails when something was asked and nothing was heard for too long.
pub(super) struct Timed<S> {
    stream: S,
    limit: Limit,
    binding: fn(&S) -> ChannelBinding,
    asked: Messages,
    answers: Messages,
    /// How many answers are to come.
    open: usize,
    over: Pin<Box<Sleep>>,
}

impl<S> Timed<S> {
    fn new(stream: S, limit: Limit, binding: fn(&S) -> ChannelBinding) -> Timed<S> {
        let over = Box::pin(sleep(limit.get().unwrap_or_default()));
        let (asked, answers) = (Messages::of_client(), Messages::of_server());
        Timed { stream, limit, binding, asked, answers, open: 0, over }
    }

    /// Something went one way or the other: the time begins anew.
    fn moved(&mut self) {
        if let Some(limit) = self.limit.get() {
            self.over.as_mut().reset(Instant::now() + limit);
        }
    }

    fn heard(&mut self, bytes: &[u8]) {
        self.open = self.open.saturating_sub(self.answers.count(bytes, &[READY]));
        self.moved();
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.open > 0 && self.limit.get().is_some() && self.over.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        match polled {
            Poll::Ready(Ok(())) => self.heard(&buffer.filled()[before..]),
            Poll::Pending if self.is_over(context) => {
                let why = "the server has taken a question and does not answer";
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
            _ => {}
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(written)) = polled {
            self.open += self.asked.count(&bytes[..written], &[QUERY, SYNC]);
            self.moved();
            // Whoever waits for the answer may have read already, and is woken by the end of the time.
            let _ = self.over.as_mut().poll(context);
        }
        polled
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Timed<S> {
    fn channel_binding(&self) -> ChannelBinding {
        (self.binding)(&self.stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_however_they_are_cut() {
        let message = |kind: u8, rest: &[u8]| {
            let length = u32::try_from(rest.len() + 4).unwrap().to_be_bytes();
            [&[kind][..], &length, rest].concat()
        };
        // What is in a message is none: it may look like one.
        let answers =
            [message(b'D', b"ZZ\0\0\0\x05I"), message(b'Z', b"I"), message(b'A', b"Z"), message(b'Z', b"I")];
        let opened = [&8_u32.to_be_bytes()[..], b"QSQS"].concat();
        let asked = [opened, message(b'P', b"S"), message(b'S', b""), message(b'Q', b"SELECT\0")].concat();
        for size in 1..=asked.len() {
            let (mut client, mut server) = (Messages::of_client(), Messages::of_server());
            let count = |messages: &mut Messages, bytes: &[u8], kinds: &[u8]| -> usize {
                bytes.chunks(size).map(|bytes| messages.count(bytes, kinds)).sum()
            };
            assert_eq!(count(&mut client, &asked, &[QUERY, SYNC]), 3, "{size}");
            assert_eq!(count(&mut server, &answers.concat(), &[READY]), 2, "{size}");
        }
    }
}
