//! What a remote and its workers cost: `cargo bench --bench fleet`. Each figure beside its floor, from the same run; both are
//! measured on a Postgres of this program's own, which confirms nothing before it is on disk.
//!
//! `FLEET_NODES` and `FLEET_THREADS` say how large the large remote is; without Postgres nothing is measured.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a measurement that cannot be made says so by panicking"
)]

#[path = "fleet/floor.rs"]
mod floor;
#[path = "fleet/large.rs"]
mod large;
#[path = "fleet/stations.rs"]
mod stations;

use std::time::{Instant, SystemTime, UNIX_EPOCH};

use uwf_fleet::fixture::{Options, Postgres};

fn main() {
    let options = Options { fsync: true, settings: "shared_buffers = 128MB\n", ..Options::default() };
    let Some(postgres) = Postgres::with(&options) else { return };
    println!("{:<58} {:>12} {:>12}", "figure", "measured", "floor");
    stations::measure(&postgres);
    floor::measure(&postgres);
    large::measure(&postgres);
}

/// A line of the table.
fn tell(figure: &str, measured: f64, floor: f64, unit: &str) {
    println!("{figure:<58} {measured:>9.2} {unit:<2} {floor:>9.2} {unit:<2}");
}

fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The middle of so many times, in ms.
fn median(count: usize, mut what: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..count)
        .map(|_| {
            let begun = Instant::now();
            what();
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[count / 2]
}
