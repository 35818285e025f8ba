//! A remote with a million nodes and a hundred thousand threads beside a small one.

use uwf_engine::ThreadId;
use uwf_fleet::fixture::Postgres;
use uwf_fleet::view::{self, ThreadQuery};
use uwf_fleet::{Connection, queue};

use crate::floor::claimant;
use crate::{median, tell};

/// The small one.
const FEW: usize = 1_000;
/// How often each is asked.
const TIMES: usize = 60;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

pub(crate) fn measure(postgres: &Postgres) {
    let (many, count) = (number("FLEET_NODES", 1_000_000), number("FLEET_THREADS", 100_000));
    let mut at = postgres.connection();
    let small = asked(postgres, &mut at, (FEW, FEW));
    let large = asked(postgres, &mut at, (many, count));
    let names = ["claim", "list (the first 50)", "show"];
    for ((name, large), small) in names.into_iter().zip(large).zip(small) {
        tell(&format!("{name} of {count} threads, {many} nodes; of {FEW}"), large, small, "ms");
    }
}

/// How long a claim, a list and a look at one thread take where there are so many nodes and threads.
fn asked(postgres: &Postgres, at: &mut Connection, (many, count): (usize, usize)) -> [f64; 3] {
    let mut client = postgres.client();
    client.batch_execute("DELETE FROM uwf.thread; DELETE FROM uwf.event; DELETE FROM uwf.node").unwrap();
    nodes(postgres, many);
    threads(postgres, count - count / 10, "done");
    threads(postgres, count / 10, "ready");
    client.batch_execute("VACUUM ANALYZE").unwrap();
    let claimant = claimant("w");
    queue::prepare_claims(at).unwrap();
    let claim = median(TIMES, || drop(queue::claim(at, &claimant).unwrap()));
    let query = ThreadQuery { take: Some(50), ..ThreadQuery::default() };
    let list = median(TIMES, || drop(view::threads(at, &query).unwrap()));
    let some: String = client.query_one("SELECT id FROM uwf.thread LIMIT 1 OFFSET 500", &[]).unwrap().get(0);
    let some: ThreadId = some.parse().unwrap();
    let show = median(TIMES, || drop(view::thread(at, &some).unwrap()));
    [claim, list, show]
}

fn nodes(postgres: &Postgres, count: usize) {
    let sql = "INSERT INTO uwf.node (team, hash, digest, type, made, bytes, size)
        SELECT 'default', 'N' || lpad(i::text, 12, '0'), sha256(int8send(i)), 'N000000000001', 0, int8send(i), 8
        FROM generate_series(1, $1::bigint) AS i";
    postgres.client().execute(sql, &[&i64::try_from(count).unwrap()]).unwrap();
}

/// Threads that nobody can run, for what only looks at them.
pub(crate) fn threads(postgres: &Postgres, count: usize, state: &str) {
    let sql = "INSERT INTO uwf.thread (team, id, head, tags, status, workflow, workflow_name, task, state)
        SELECT 'default', '01K' || CASE $2 WHEN 'done' THEN '0' ELSE '1' END || lpad(i::text, 22, '0'), 'N000000000001',
               '{}', CASE $2 WHEN 'done' THEN 'end' ELSE 'idle' END, 'N000000000001', 'flow', 'the task', $2
        FROM generate_series(1, $1::bigint) AS i";
    postgres.client().execute(sql, &[&i64::try_from(count).unwrap(), &state]).unwrap();
}
