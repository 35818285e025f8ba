//! What it costs to collect the garbage of a remote: `cargo bench --bench garbage [-- NODES]`, a million by default.
//!
//! Half of the nodes are the chains of threads, three nodes a step; the rest is garbage of a day ago.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a bench prints what it measures"
)]

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use uwf_fleet::fixture::{Options, Postgres};
use uwf_fleet::garbage::{Collect, YOUNGEST, collect};

/// Threads with 100 steps each.
const FILL: &str = "
    INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size, refs, put)
    SELECT 'default', lpad(n::text, 13, '0'), decode(repeat('00', 32), 'hex'), 'T', 1, decode(repeat('ab', 300), 'hex'), 300,
           CASE WHEN n % 2 = 1 OR n % 600 = 0 THEN '{}' WHEN n % 6 = 0 THEN ARRAY[lpad((n - 6)::text, 13, '0'), lpad((n - 2)::text, 13, '0'), lpad((n - 4)::text, 13, '0')] ELSE '{}' END,
           now() - interval '1 day'
    FROM generate_series(0, $1::int - 1) AS n";
const THREADS: &str = "
    INSERT INTO uwf.thread (team, id, head, tags, status, workflow, state)
    SELECT 'default', 'T' || n, lpad((n * 600 + 594)::text, 13, '0'), '{}', 'end', 'W', 'done' FROM generate_series(0, $1::int / 600 - 1) AS n";

fn peak(process: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or_else(|| "?".to_owned(), |line| line.trim_start_matches("VmHWM:").trim().to_owned())
}

fn main() {
    let wanted = std::env::args().skip(1).find_map(|word| word.parse::<i32>().ok());
    let count = wanted.unwrap_or(1_000_000);
    let Some(postgres) = Postgres::with(&Options { fsync: true, ..Options::default() }) else { return };
    let mut at = postgres.connection();
    let begun = Instant::now();
    at.client().execute(FILL, &[&count]).unwrap();
    at.client().execute(THREADS, &[&count]).unwrap();
    at.client().batch_execute("ANALYZE uwf.node, uwf.thread").unwrap();
    println!("{count} nodes put in {:.1} s", begun.elapsed().as_secs_f64());
    let backend: i32 = at.client().query_one("SELECT pg_backend_pid()", &[]).unwrap().get(0);
    for dry_run in [true, false] {
        let begun = Instant::now();
        let what =
            Collect { younger: YOUNGEST.max(Duration::from_secs(3600)), dry_run, spared: &BTreeMap::new() };
        let collected = collect(&mut at, what, &mut |_, _| Ok(())).unwrap().remove(0);
        println!(
            "{}: kept {}, removed {}, {:.1} s; peak of this process {}, of the server's {}",
            if dry_run { "counted" } else { "collected" },
            collected.kept,
            collected.removed,
            begun.elapsed().as_secs_f64(),
            peak("self"),
            peak(&backend.to_string()),
        );
    }
}
