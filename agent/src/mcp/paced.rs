//! A connection of which a server cannot make more work than there is room for, whatever it says unasked.
//!
//! Apart because the protocol's library takes whatever comes: each request of a server waits in memory until its answer is
//! taken, and each notification is a task.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{JsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::time::{Instant, sleep_until};

/// How many requests of a server are under way. It has no answer to more.
const UNANSWERED: usize = 64;
/// So many messages are heard at once, and then none for a while.
const AT_ONCE: u32 = 1_000;
const REST: Duration = Duration::from_millis(20);

/// A connection that is listened to in moderation.
pub(super) struct Paced<T> {
    connection: T,
    unanswered: Arc<AtomicUsize>,
    /// How many messages came since the last rest.
    heard: u32,
    rests: Option<Instant>,
}

impl<T> Paced<T> {
    pub(super) fn new(connection: T) -> Paced<T> {
        Paced { connection, unanswered: Arc::default(), heard: 0, rests: None }
    }

    /// Whether the message is for us: an answer; of what is unasked, only what somebody waits for or what means something.
    fn passes(&self, message: &RxJsonRpcMessage<RoleClient>) -> bool {
        match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => true,
            JsonRpcMessage::Notification(told) => {
                matches!(told.notification, ServerNotification::ToolListChangedNotification(_))
            }
            JsonRpcMessage::Request(_) => {
                let one_more = |under_way| (under_way < UNANSWERED).then_some(under_way + 1);
                self.unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
            }
        }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Paced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_answer = matches!(item, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (sending, unanswered) = (self.connection.send(item), Arc::clone(&self.unanswered));
        async move {
            let sent = sending.await;
            if is_answer {
                let one_less = |under_way: usize| under_way.checked_sub(1);
                // An answer that nobody has asked for counts for nothing.
                unanswered.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).ok();
            }
            sent
        }
    }

    /// Whoever drops this before its end loses nothing.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(until) = self.rests {
                sleep_until(until).await;
                (self.rests, self.heard) = (None, 0);
            }
            let message = self.connection.receive().await?;
            self.heard += 1;
            if self.heard == AT_ONCE {
                self.rests = Some(Instant::now() + REST);
            }
            if self.passes(&message) {
                return Some(message);
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.connection.close().await
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use serde_json::{Value, json};

    use super::*;

    /// Says the same without end, and then something else.
    struct Talker {
        same: Value,
        times: u64,
        last: Option<Value>,
    }

    impl Transport<RoleClient> for Talker {
        type Error = Infallible;

        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            std::future::ready(Ok(()))
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            let mut message = self.same.clone();
            match self.times.checked_sub(1) {
                Some(left) => self.times = left,
                None => message = self.last.take()?,
            }
            if message.get("id").is_some_and(Value::is_null) {
                message["id"] = json!(self.times);
            }
            Some(serde_json::from_value(message).unwrap())
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    fn paced(same: Value, times: u64, last: Value) -> Paced<Talker> {
        Paced::new(Talker { same, times, last: Some(last) })
    }

    fn block_on<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    #[test]
    fn of_what_is_unasked_only_a_change_of_tools_is_heard() {
        let said = json!({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}});
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let mut paced = paced(said, 10_000, changed);
        block_on(async {
            assert!(matches!(paced.receive().await, Some(JsonRpcMessage::Notification(_))));
            assert!(paced.receive().await.is_none());
        });
    }

    #[test]
    fn no_more_requests_are_under_way_than_there_is_room_for() {
        let ping = json!({"jsonrpc": "2.0", "id": null, "method": "ping"});
        let answer = json!({"jsonrpc": "2.0", "id": "mine", "result": {}});
        let mut paced = paced(ping, 10_000, answer.clone());
        let pong = || serde_json::from_value(answer.clone()).unwrap();
        block_on(async {
            for _ in 0..UNANSWERED {
                assert!(matches!(paced.receive().await, Some(JsonRpcMessage::Request(_))));
            }
            paced.send(pong()).await.unwrap();
            assert!(matches!(paced.receive().await, Some(JsonRpcMessage::Request(_))), "one was answered");
            assert!(matches!(paced.receive().await, Some(JsonRpcMessage::Response(_))));
            (0..2 * UNANSWERED).for_each(|_| drop(paced.send(pong())));
            assert_eq!(
                paced.unanswered.load(Ordering::Relaxed),
                UNANSWERED,
                "what is not sent answers nothing"
            );
        });
    }
}
