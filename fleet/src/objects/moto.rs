//! A thread with a large node goes from one home to another by way of a server that speaks as S3 does: moto, which others wrote.
//!
//! Skipped, and said so, without it (`python3 -m venv target/moto && target/moto/bin/pip install --no-deps -r
//! tests/moto/requirements.txt`), unless UWF_REQUIRE_MOTO is set.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread as threads;
use std::time::Duration;

use serde_json::json;
use uwf_engine::fixture::Place;
use uwf_engine::thread::{self, Status};

use super::*;
use crate::fixture::Postgres;
use crate::{Address, garbage, schema, sync};

/// A server with a bucket `pieces`, which ends with the test.
struct Moto {
    server: Child,
    port: u16,
}

impl Drop for Moto {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}

impl Moto {
    fn start() -> Option<Moto> {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/moto/bin/moto_server");
        if !program.exists() {
            assert!(std::env::var_os("UWF_REQUIRE_MOTO").is_none(), "moto is required and not installed");
            // Not by eprintln!: what a passing test prints is shown to nobody.
            let skipped = "skipped: moto is not here (python3 -m venv target/moto && target/moto/bin/pip install --no-deps \
                           -r tests/moto/requirements.txt)";
            let mut past_the_runner = std::io::stderr();
            writeln!(past_the_runner, "{skipped}").unwrap();
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut command = Command::new(program);
        command
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut moto = Moto { server: command.spawn().unwrap(), port };
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(moto.server.try_wait().unwrap().is_none(), "moto has ended");
            threads::sleep(Duration::from_millis(50));
        }
        assert!(moto.asked("PUT /pieces").starts_with("HTTP/1.1 200"));
        Some(moto)
    }

    /// What it answers, without a signature.
    fn asked(&self, what: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let request = format!(
            "{what} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            self.port
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

fn connected(postgres: &Postgres, keys: &[(&str, &str)]) -> Connection {
    let address: Address = postgres.url().parse().unwrap();
    let mut connection = Connection::open(&address, &keys.iter().copied().collect()).unwrap();
    schema::ready(&mut connection, &schema::VERSIONS, schema::Access::Write).unwrap();
    connection
}

#[test]
fn a_large_node_goes_from_home_to_home_by_way_of_a_bucket() {
    let Some(postgres) = Postgres::start() else { return };
    let Some(moto) = Moto::start() else { return };
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    // Makes the tables.
    postgres.connection();
    let mut at = connected(&postgres, &keys);
    let url = format!("s3://pieces/lab?endpoint=http://127.0.0.1:{}", moto.port);
    set(&mut at, "default", Some(&url)).unwrap();

    let (here, there) = (Place::in_memory(), Place::in_memory());
    let (from, to) = (here.store(), there.store());
    let thread = here.flow_thread();
    let head = thread::head(&from, &thread).unwrap().hash;
    let large = "0123456789abcdef".repeat(1 << 16);
    let step = here.step(&thread, None, "writer", &json!({ "$status": "again", "dir": large }));
    thread::advance(&from, &thread, &head, &step, &Status::Idle).unwrap();
    sync::push(&mut at, &from, &thread, Some("writer")).unwrap();
    let rows = "SELECT object FROM uwf.node WHERE bytes IS NULL";
    let rows = postgres.client().query(rows, &[]).unwrap();
    let bytes = "SELECT coalesce(max(octet_length(bytes)), 0) FROM uwf.node";
    let longest: i32 = postgres.client().query_one(bytes, &[]).unwrap().get(0);
    assert!(!rows.is_empty() && usize::try_from(longest).unwrap() <= LARGE, "{rows:?}, {longest}");
    let key: &str = rows[0].get(0);
    assert!(moto.asked("GET /pieces?list-type=2").contains(&format!("lab/{key}")));

    // Who has no keys is told which.
    let error = sync::fetch(&mut connected(&postgres, &[]), &to, &thread).unwrap_err();
    assert!(error.hint().unwrap().contains("AWS_ACCESS_KEY_ID"), "{error}");
    sync::fetch(&mut at, &to, &thread).unwrap();
    assert_eq!(thread::stands_at(&to, &thread).unwrap(), Some(step));
    assert_eq!(to.get(&step).unwrap(), from.get(&step).unwrap());

    postgres
        .client()
        .batch_execute("DELETE FROM uwf.thread; UPDATE uwf.node SET put = put - interval '1 day'")
        .unwrap();
    let stores = all(&mut at).unwrap();
    let spared = &stores.closed;
    let what = garbage::Collect { younger: garbage::YOUNGEST, dry_run: false, spared };
    garbage::collect(&mut at, what, &mut |team, keys| stores.remove(team, keys)).unwrap();
    assert!(!moto.asked("GET /pieces?list-type=2").contains("<Key>"));
    // A bucket that is not there is no passing fault.
    let url = format!("s3://nobody?endpoint=http://127.0.0.1:{}", moto.port);
    set(&mut at, "default", Some(&url)).unwrap();
    let error = sync::begin(&mut at, &from, &thread, None).unwrap_err();
    assert!(matches!(error, FleetError::Objects { passes: false, .. }), "{error}");
}
