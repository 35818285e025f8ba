//! TLS against a real Postgres, with certificates made here by `openssl`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use uwf_engine::Env;

use crate::address::Address;
use crate::fixture::{Options, Postgres};
use crate::{Connection, FleetError};

/// Makes authorities and certificates; none where there is no `openssl`.
struct Maker(TempDir);

impl Maker {
    fn new() -> Option<Maker> {
        let there = Command::new("openssl").arg("version").stdout(Stdio::null()).status();
        if !there.is_ok_and(|status| status.success()) {
            assert!(std::env::var_os("UWF_REQUIRE_POSTGRES").is_none(), "openssl is not there");
            return None;
        }
        let maker = Maker(tempfile::tempdir().unwrap());
        fs::write(maker.at("authority.cnf"), "[req]\ndistinguished_name = dn\nx509_extensions = ca\n[dn]\n[ca]\nbasicConstraints = critical, CA:TRUE\nkeyUsage = keyCertSign\n").unwrap();
        Some(maker)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn openssl(&self, line: &str) {
        let output =
            Command::new("openssl").args(line.split(' ')).current_dir(self.0.path()).output().unwrap();
        assert!(output.status.success(), "openssl {line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// An authority: its certificate.
    fn authority(&self, name: &str) -> PathBuf {
        self.openssl(&format!(
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj /CN={name} -config authority.cnf \
             -keyout {name}.key -out {name}.crt"
        ));
        self.at(&format!("{name}.crt"))
    }

    /// A certificate of an authority for a host, valid for so many days from now: the certificate, and its key.
    fn certificate(&self, authority: &str, alternative: &str, days: i32) -> (PathBuf, PathBuf) {
        let name = format!("{authority}-{}", days.unsigned_abs());
        fs::write(
            self.at("server.cnf"),
            format!("subjectAltName = {alternative}\nextendedKeyUsage = serverAuth\n"),
        )
        .unwrap();
        self.openssl(&format!(
            "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server -keyout {name}.key -out {name}.csr"
        ));
        self.signed(&name, authority, days);
        (self.at(&format!("{name}.crt")), self.at(&format!("{name}.key")))
    }

    /// Signs a request; for days that are not to come the certificate is of the year 2020.
    fn signed(&self, name: &str, authority: &str, days: i32) {
        if days > 0 {
            return self.openssl(&format!(
                "x509 -req -in {name}.csr -CA {authority}.crt -CAkey {authority}.key -CAcreateserial -extfile server.cnf -days {days} -out {name}.crt"
            ));
        }
        // `openssl x509` of version 3.0 has no dates; `openssl ca` has.
        for file in ["index.txt", "index.txt.attr"] {
            fs::write(self.at(file), "").unwrap();
        }
        fs::write(self.at("serial"), "01\n").unwrap();
        let config = "[ca]\ndefault_ca = d\n[d]\nnew_certs_dir = .\ndatabase = index.txt\nserial = serial\ndefault_md = sha256\npolicy = p\n[p]\ncommonName = supplied\n";
        fs::write(self.at("ca.cnf"), config).unwrap();
        self.openssl(&format!(
            "ca -batch -notext -config ca.cnf -in {name}.csr -cert {authority}.crt -keyfile {authority}.key -extfile server.cnf \
             -startdate 20200101000000Z -enddate 20200201000000Z -out {name}.crt"
        ));
    }
}

fn server(tls: Option<(PathBuf, PathBuf)>) -> Option<Postgres> {
    Postgres::with(&Options { port: true, tls, ..Options::default() })
}

fn connect(port: u16, host: &str, query: &str) -> Result<Connection, FleetError> {
    let address: Address = format!("postgres://postgres@{host}:{port}/postgres?{query}").parse().unwrap();
    Connection::open(&address, &Env::default())
}

fn full(root: &Path) -> String {
    format!("sslmode=verify-full&sslrootcert={}", root.display())
}

/// That a connection is refused with these words and this hint.
fn refused(made: Result<Connection, FleetError>, said: &str, hint: &str) {
    let error = made.unwrap_err();
    assert!(matches!(error, FleetError::Unreachable { .. }), "{error:?}");
    assert!(error.to_string().contains(said), "{error}");
    assert!(error.hint().unwrap().contains(hint), "{error}: {:?}", error.hint());
}

#[test]
fn only_a_trusted_certificate_of_the_host_that_is_valid_now_is_taken() {
    let Some(maker) = Maker::new() else { return };
    let (ours, others) = (maker.authority("ours"), maker.authority("others"));
    let Some(postgres) = server(Some(maker.certificate("ours", "IP:127.0.0.1", 30))) else { return };
    let port = postgres.port().unwrap();
    let mut connection = connect(port, "127.0.0.1", &full(&ours)).unwrap();
    let tls = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert!(connection.client().query_one(tls, &[]).unwrap().get::<_, bool>(0));
    refused(connect(port, "127.0.0.1", &full(&others)), "certificate", "does not have the authority");
    refused(connect(port, "127.0.0.1", "sslmode=verify-full"), "certificate", "sslrootcert=FILE");
    refused(connect(port, "localhost", &full(&ours)), "certificate", "of another host");
    let none = maker.at("authority.cnf");
    refused(connect(port, "127.0.0.1", &full(&none)), "no certificate in it", "sslrootcert=FILE");
    // Loopback alone needs none of it.
    connect(port, "127.0.0.1", "").unwrap();

    let Some(expired) = server(Some(maker.certificate("ours", "IP:127.0.0.1", -1))) else { return };
    refused(connect(expired.port().unwrap(), "127.0.0.1", &full(&ours)), "certificate", "no longer valid");
}

#[test]
fn a_server_without_tls_is_not_talked_to_in_the_clear() {
    let Some(maker) = Maker::new() else { return };
    let ours = maker.authority("ours");
    let Some(postgres) = server(None) else { return };
    refused(connect(postgres.port().unwrap(), "127.0.0.1", &full(&ours)), "does not support TLS", "ssl = on");
}

/// Who says "no" to the question whether there is TLS, as somebody in between does: the port, and what is heard there.
fn without_tls() -> (u16, thread::JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut heard = vec![0; 8];
        stream.read_exact(&mut heard).unwrap();
        stream.write_all(b"N").unwrap();
        stream.read_to_end(&mut heard).ok();
        heard
    });
    (port, heard)
}

/// The question whether there is TLS.
const ASKED: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

#[test]
fn who_answers_for_the_server_that_it_has_no_tls_hears_neither_login_nor_password() {
    let Some(maker) = Maker::new() else { return };
    let ours = maker.authority("ours");
    let (port, heard) = without_tls();
    let address: Address = format!("postgres://anna@127.0.0.1:{port}/uwf?{}", full(&ours)).parse().unwrap();
    let env: Env = [("PGPASSWORD", "s3cret")].into_iter().collect();
    refused(Connection::open(&address, &env), "does not support TLS", "ssl = on");
    // Nothing behind it.
    assert_eq!(heard.join().unwrap(), ASKED);
}

#[test]
fn a_server_that_pghost_names_is_as_far_away_as_one_in_the_address() {
    let Some(maker) = Maker::new() else { return };
    let (ours, (port, heard)) = (maker.authority("ours"), without_tls());
    let address: Address =
        format!("postgres:///uwf?user=anna&port={port}&sslrootcert={}", ours.display()).parse().unwrap();
    // No address of loopback, but this machine answers.
    let env: Env = [("PGPASSWORD", "s3cret"), ("PGHOST", "0.0.0.0")].into_iter().collect();
    refused(Connection::open(&address, &env), "does not support TLS", "ssl = on");
    assert_eq!(heard.join().unwrap(), ASKED);
}

#[test]
fn what_another_machine_offers_is_checked_without_being_asked_for() {
    let address = |text: &str| text.parse::<Address>().unwrap().tls();
    assert_eq!(address("postgres://anna@db.example.org/uwf"), crate::address::Tls::VerifyFull);
    assert_eq!(address("postgres://anna@127.0.0.1/uwf"), crate::address::Tls::Disable);
}

#[test]
fn nobody_waits_for_ever_for_what_another_has_locked() {
    let Some(postgres) = Postgres::start() else { return };
    let limits = |query: &str| {
        let address: Address = format!("{}{query}", postgres.url()).parse().unwrap();
        let mut connection = Connection::open(&address, &Env::default()).unwrap();
        ["lock_timeout", "idle_in_transaction_session_timeout"].map(|name| {
            connection.client().query_one(&format!("SHOW {name}"), &[]).unwrap().get::<_, String>(0)
        })
    };
    assert_eq!(limits(""), ["30s", "1min"]);
    assert_eq!(limits("?options=-c%20lock_timeout%3D5s"), ["5s", "1min"]);
    // A transaction whose program says nothing more is given up, which is a connection that was lost.
    let short = "?options=-c%20idle_in_transaction_session_timeout%3D10ms";
    let address: Address = format!("{}{short}", postgres.url()).parse().unwrap();
    let mut connection = Connection::open(&address, &Env::default()).unwrap();
    let mut transaction = connection.transaction().unwrap();
    transaction.execute("SELECT pg_advisory_xact_lock(1)", &[]).unwrap();
    thread::sleep(Duration::from_millis(300));
    let error: FleetError = transaction.execute("SELECT 1", &[]).unwrap_err().into();
    assert!(error.is_passing(), "{error:?}");
}

/// A server that is stopped, as by a debugger, or by a machine that is frozen: all processes of it.
fn signal_all(postgres: &Postgres, signal: &str) {
    let main = postgres.pid();
    let children = fs::read_to_string(format!("/proc/{main}/task/{main}/children")).unwrap();
    for process in children.split_whitespace().map(str::to_owned).chain([main.to_string()]) {
        assert!(Command::new("kill").args([signal, &process]).status().unwrap().success());
    }
}

#[test]
fn nobody_waits_for_ever_for_a_server_that_is_frozen() {
    let Some(maker) = Maker::new() else { return };
    let ours = maker.authority("ours");
    let Some(postgres) = server(Some(maker.certificate("ours", "IP:127.0.0.1", 30))) else { return };
    let port = postgres.port().unwrap();
    let within = |query: &str, answer: u64| {
        let address: Address =
            format!("postgres://postgres@127.0.0.1:{port}/postgres?{query}").parse().unwrap();
        let times = (Duration::from_secs(1), Duration::from_millis(answer));
        Connection::within(&address, &Env::default(), times)
    };
    let tls = format!("{}&connect_timeout=1", full(&ours));
    let queries = ["connect_timeout=1", &tls];
    let mut connections = queries.map(|query| within(query, 500).unwrap());
    for connection in &mut connections {
        connection.client().batch_execute("LISTEN ever").unwrap();
        // Nothing was asked: what is only waited for has no limit.
        assert!(!crate::queue::wait(connection, Duration::from_secs(1)).unwrap());
        // Whoever answers in time is no slower for it, however much there is.
        let rows = "SELECT repeat('x', 1000), pg_sleep(0.001) FROM generate_series(1, 1000)";
        assert_eq!(connection.client().query(rows, &[]).unwrap().len(), 1000);
    }
    let mut patient = within("", 500).unwrap();
    patient.wait_for_ever();
    // After a while without a word, and after a question of which nothing is left to be closed.
    connections[0].client().batch_execute("SELECT 1").unwrap();
    thread::sleep(Duration::from_secs(1));
    signal_all(&postgres, "-STOP");
    for connection in &mut connections {
        let error = FleetError::from(connection.client().query_one("SELECT 1", &[]).unwrap_err());
        assert!(matches!(&error, FleetError::Lost { why } if why.contains("does not answer")), "{error:?}");
    }
    for query in queries {
        refused(within(query, 5_000), "let nobody in for 1 s", "not stopped");
    }
    let waits = thread::spawn(move || patient.client().query_one("SELECT 1", &[]).map(drop));
    thread::sleep(Duration::from_secs(1));
    signal_all(&postgres, "-CONT");
    waits.join().unwrap().unwrap();
}
