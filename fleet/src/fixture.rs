//! A Postgres of a test's own: a directory, a socket in it, gone when the test is. For tests only, here and of the programs.
//!
//! Made from what the machine has installed (Debian's `postgresql`); where there is none a test is skipped, but for those who
//! say that none may be: `UWF_REQUIRE_POSTGRES=1`. A first cluster is made once a machine and copied from then on.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "for tests: they have an environment and a clock, and end where they cannot begin"
)]

mod cluster;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use tempfile::TempDir;
use uwf_engine::Env;

use crate::address::Address;
use crate::connect::Connection;
use crate::schema::{self, Access, VERSIONS};

/// What a Postgres of a test is to be like.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Whether what is committed survives a loss of power; a crash of the database it survives anyway.
    pub fsync: bool,
    /// Whether it also listens on a port of 127.0.0.1.
    pub port: bool,
    /// The lines of `pg_hba.conf`; without any, everybody is let in.
    pub hba: Option<&'static str>,
    /// A certificate and its key, as PEM; with them it speaks TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// More of the configuration: `name = value` a line.
    pub settings: &'static str,
}

/// A running Postgres, which ends with this value or with this process.
pub struct Postgres {
    dir: TempDir,
    /// Ends the server when its stdin is closed, be it that this process was killed.
    keeper: Option<Child>,
    port: Option<u16>,
}

/// How long it may take until a server answers; a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

impl Postgres {
    /// One without wishes; none where Postgres is not installed, which is said.
    pub fn start() -> Option<Postgres> {
        Postgres::with(&Options::default())
    }

    /// One as it is wished for.
    ///
    /// # Panics
    /// It does not start, or Postgres is not installed where `UWF_REQUIRE_POSTGRES` is set.
    pub fn with(options: &Options) -> Option<Postgres> {
        let Some(programs) = cluster::programs() else {
            assert!(
                std::env::var_os("UWF_REQUIRE_POSTGRES").is_none(),
                "Postgres is not there: install `postgresql`"
            );
            #[expect(clippy::print_stderr, reason = "who looks at a test's output sees why it did nothing")]
            {
                eprintln!("skipped: Postgres is not there (install `postgresql`)");
            }
            return None;
        };
        let dir = tempfile::Builder::new().prefix("uwf-pg-").tempdir().unwrap();
        cluster::copy(&programs, dir.path());
        let port = options.port.then(free_port);
        configure(&dir.path().join("data"), dir.path(), options, port);
        cluster::give_away(dir.path());
        let mut postgres = Postgres { dir, keeper: None, port };
        postgres.restart();
        Some(postgres)
    }

    /// The address of its database, by its socket, for somebody who may do anything.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The same for another login.
    pub fn url_of(&self, login: &str) -> String {
        let socket = self.dir.path().display().to_string().replace('/', "%2F");
        let port = self.port.map_or_else(String::new, |port| format!(":{port}"));
        format!("postgres://{login}@{socket}{port}/postgres")
    }

    /// The port on 127.0.0.1, where it has one.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Its directory: the cluster is in `data`, the log is `log`.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A connection of the driver, for somebody who may do anything.
    pub fn client(&self) -> Client {
        Client::connect(&self.url(), NoTls).unwrap()
    }

    /// A connection as the programs have it, with the schema in place.
    pub fn connection(&self) -> Connection {
        self.connection_of("postgres")
    }

    /// The same for another login.
    pub fn connection_of(&self, login: &str) -> Connection {
        let address: Address = self.url_of(login).parse().unwrap();
        let mut connection = Connection::open(&address, &Env::default()).unwrap();
        if schema::present(connection.client()).unwrap().is_none() {
            schema::migrate(&mut connection, &VERSIONS).unwrap();
        }
        schema::ready(&mut connection, &VERSIONS, Access::Write).unwrap();
        connection
    }

    /// The process that all others of the server are children of.
    pub fn pid(&self) -> u32 {
        let file = fs::read_to_string(self.dir.path().join("data/postmaster.pid")).unwrap();
        file.lines().next().unwrap().trim().parse().unwrap()
    }

    /// Crashes it: SIGKILL for the server and, as it is gone, for all of its processes. What was committed is there after
    /// [`Postgres::restart`].
    pub fn kill(&mut self) {
        cluster::kill(self.pid());
        self.wait();
    }

    /// Stops it as an administrator does: connections are closed, nothing needs to be recovered.
    pub fn stop(&mut self) {
        cluster::interrupt(self.pid());
        self.wait();
    }

    /// Waits until the server has ended. Its keeper has a stdin meanwhile, which `wait` would close: it removes the directory then.
    fn wait(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            let _stdin = keeper.stdin.take();
            keeper.wait().unwrap();
        }
    }

    /// Starts it again, after [`Postgres::kill`] or [`Postgres::stop`], and waits until it answers.
    pub fn restart(&mut self) {
        let programs = cluster::programs().unwrap();
        let begun = Instant::now();
        loop {
            if self.keeper.as_mut().is_none_or(|keeper| keeper.try_wait().unwrap().is_some()) {
                // After a crash the old processes have the memory for a moment, and the server does not start.
                self.keeper =
                    Some(cluster::server(&programs, self.dir.path()).stdin(Stdio::piped()).spawn().unwrap());
            }
            if Client::connect(&self.url(), NoTls).is_ok() {
                return;
            }
            let log = || fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
            assert!(begun.elapsed() < PATIENCE, "Postgres does not start: {}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            drop(keeper.stdin.take());
            keeper.wait().ok();
        }
    }
}

fn configure(data: &Path, socket: &Path, options: &Options, port: Option<u16>) {
    let on = |on: bool| if on { "on" } else { "off" };
    let mut settings = format!(
        "unix_socket_directories = '{}'\nlisten_addresses = '{}'\nport = {}\nfsync = {}\nfull_page_writes = {}\n\
         shared_buffers = 16MB\nmax_connections = 120\nlog_min_messages = warning\n",
        socket.display(),
        if port.is_some() { "127.0.0.1" } else { "" },
        5432,
        on(options.fsync),
        on(options.fsync),
    );
    if let Some(port) = port {
        settings = settings.replace("port = 5432\n", &format!("port = {port}\n"));
    }
    if let Some((certificate, key)) = &options.tls {
        fs::copy(certificate, data.join("server.crt")).unwrap();
        fs::copy(key, data.join("server.key")).unwrap();
        settings.push_str("ssl = on\n");
    }
    settings.push_str(options.settings);
    fs::write(data.join("postgresql.auto.conf"), settings).unwrap();
    let everybody = "local all all trust\nhost all all 127.0.0.1/32 trust\n";
    fs::write(data.join("pg_hba.conf"), options.hba.unwrap_or(everybody)).unwrap();
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_is_there_after_a_crash() {
        let Some(mut postgres) = Postgres::start() else { return };
        postgres.client().batch_execute("CREATE TABLE t (a int); INSERT INTO t VALUES (7)").unwrap();
        let (before, mut cut) = (postgres.pid(), postgres.client());
        postgres.kill();
        // A process of its own may answer once more before it sees that the server is gone.
        while cut.query_one("SELECT a FROM t", &[]).is_ok() {}
        postgres.restart();
        assert_ne!(postgres.pid(), before);
        let row = postgres.client().query_one("SELECT a FROM t", &[]).unwrap();
        assert_eq!(row.get::<_, i32>(0), 7);
        let path = postgres.path().to_owned();
        drop(postgres);
        assert!(!path.exists());
    }
}
