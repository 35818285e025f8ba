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

/// What the server says when it waits for the next question: `Z`, the length 5, and one letter more.
const READY: [u8; 5] = [b'Z', 0, 0, 0, 5];

/// A stream that fails when something was asked and nothing was heard for too long.
pub(super) struct Timed<S> {
    stream: S,
    limit: Limit,
    binding: fn(&S) -> ChannelBinding,
    /// The last bytes that were heard.
    tail: [u8; READY.len() + 1],
    /// Whether an answer is to come.
    is_asked: bool,
    over: Pin<Box<Sleep>>,
}

impl<S> Timed<S> {
    fn new(stream: S, limit: Limit, binding: fn(&S) -> ChannelBinding) -> Timed<S> {
        let over = Box::pin(sleep(limit.get().unwrap_or_default()));
        Timed { stream, limit, binding, tail: Default::default(), is_asked: false, over }
    }

    /// Something went one way or the other: the time begins anew.
    fn moved(&mut self) {
        if let Some(limit) = self.limit.get() {
            self.over.as_mut().reset(Instant::now() + limit);
        }
    }

    fn heard(&mut self, bytes: &[u8]) {
        let last = &bytes[bytes.len().saturating_sub(self.tail.len())..];
        self.tail.rotate_left(last.len());
        let at = self.tail.len() - last.len();
        self.tail[at..].copy_from_slice(last);
        if self.tail.starts_with(&READY) {
            self.is_asked = false;
        }
        self.moved();
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        self.is_asked && self.limit.get().is_some() && self.over.as_mut().poll(context).is_ready()
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
        if polled.is_ready() {
            self.is_asked = true;
            self.moved();
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
