//! What a worker has done, in numbers, and how they are told to programs that collect such.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of a worker. They only grow, but for those that say how it is now.
#[derive(Debug, Default)]
pub struct Counts {
    pub(super) claims: AtomicU64,
    pub(super) steps: AtomicU64,
    pub(super) failures: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) handed_back: AtomicU64,
    pub(super) dead: AtomicU64,
    pub(super) running: AtomicU64,
    /// In millionths of a dollar.
    pub(super) cost: AtomicU64,
    /// Threads that could be claimed, and how long the first of them has waited, in milliseconds.
    pub(super) ready: AtomicU64,
    pub(super) age: AtomicU64,
}

pub(super) fn add(count: &AtomicU64, more: u64) {
    count.fetch_add(more, Ordering::Relaxed);
}

impl Counts {
    /// How many steps were made.
    pub fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    /// How many threads are dead that this worker had, or that it has freed of one that was not heard of.
    pub fn dead(&self) -> u64 {
        self.dead.load(Ordering::Relaxed)
    }

    /// How many leases were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    #[expect(clippy::cast_precision_loss, reason = "numbers for people and charts")]
    pub(super) fn add_cost(&self, usd: f64) {
        let millionths = (usd.max(0.0) * 1e6).round();
        let millionths =
            if millionths < u64::MAX as f64 { format!("{millionths:.0}") } else { String::new() };
        add(&self.cost, millionths.parse().unwrap_or(0));
    }

    /// As Prometheus reads it.
    #[expect(clippy::cast_precision_loss, reason = "numbers for people and charts")]
    pub fn to_prometheus(&self) -> String {
        let whole = |count: &AtomicU64| count.load(Ordering::Relaxed).to_string();
        let part = |count: &AtomicU64, of: f64| (count.load(Ordering::Relaxed) as f64 / of).to_string();
        let mut text = String::new();
        for (name, kind, help, value) in [
            ("claims_total", "counter", "Threads that were claimed.", whole(&self.claims)),
            ("steps_total", "counter", "Steps that were pushed.", whole(&self.steps)),
            ("failures_total", "counter", "Steps that failed.", whole(&self.failures)),
            ("lease_losses_total", "counter", "Leases that were lost.", whole(&self.lost)),
            ("handed_back_total", "counter", "Threads that were given back.", whole(&self.handed_back)),
            (
                "dead_total",
                "counter",
                "Threads that came to nothing too often, or cannot go on.",
                whole(&self.dead),
            ),
            (
                "cost_usd_total",
                "counter",
                "What steps have cost, and attempts that failed.",
                part(&self.cost, 1e6),
            ),
            ("running", "gauge", "Threads that are worked on.", whole(&self.running)),
            ("queue_length", "gauge", "Threads that could be claimed.", whole(&self.ready)),
            ("queue_age_seconds", "gauge", "How long the first of them has waited.", part(&self.age, 1e3)),
        ] {
            writeln!(
                text,
                "# HELP uwf_worker_{name} {help}\n# TYPE uwf_worker_{name} {kind}\nuwf_worker_{name} {value}"
            )
            .expect("a text takes all");
        }
        text
    }
}
