//! A connection to a remote: the password from where libpq has it, TLS that knows who answers, and limits of time, so that a
//! dead network is an error and not a wait.

mod answer;
mod password;
#[cfg(test)]
mod tests;
mod tls;

use std::collections::HashMap;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use postgres::config::{Host, SslMode, SslNegotiation};
use postgres::error::SqlState;
use postgres::{Client, Config, NoTls, Statement, Transaction};
use uwf_engine::Env;

use self::answer::{InTheClear, Limit, Within};
use crate::address::{Address, Tls};
use crate::error::{FleetError, chain};
use crate::objects::{self, Keys, Objects};

/// How long it may take until a server takes a connection, and until it has let somebody in.
const CONNECT: Duration = Duration::from_secs(10);
const LET_IN: Duration = Duration::from_secs(30);

/// How long it is waited for an answer.
const ANSWER: Duration = Duration::from_secs(60);

/// How long what was sent may stay unconfirmed.
const UNCONFIRMED: Duration = Duration::from_secs(15);

/// After how long a silence the other side is asked whether it is there, how often, and how many times.
const IDLE: Duration = Duration::from_secs(15);
const INTERVAL: Duration = Duration::from_secs(5);
const RETRIES: u32 = 3;

/// How long it is waited for what somebody else has locked, and after how long a transaction is given up whose program says
/// nothing more: its locks would keep everybody else waiting.
const LIMITS: [(&str, &str); 2] = [("lock_timeout", "30s"), ("idle_in_transaction_session_timeout", "1min")];

/// A connection to a remote.
pub struct Connection {
    client: Client,
    place: String,
    team: String,
    /// What was prepared, by its text.
    prepared: HashMap<&'static str, Statement>,
    keys: Keys,
    /// The object store that was used last, by its URL.
    objects: Option<(String, Arc<Objects>)>,
    limit: Limit,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Connection({}, team {})", self.place, self.team)
    }
}

impl Connection {
    /// Connects. Whether the schema is there and of use is asked by [`crate::schema::ready`].
    ///
    /// # Errors
    /// The server does not answer, is not who it must be, or does not know the login: [`FleetError::Unreachable`].
    pub fn open(address: &Address, env: &Env) -> Result<Connection, FleetError> {
        Connection::within(address, env, (LET_IN, ANSWER))
    }

    /// The same within these times: until the server has let us in, and until each answer.
    fn within(
        address: &Address,
        env: &Env,
        (let_in, answer): (Duration, Duration),
    ) -> Result<Connection, FleetError> {
        let (place, mut config) = (address.place(), address.config().clone());
        defaults(&mut config, address, env);
        if let Some(password) = password::of(&config, env)? {
            config.password(password);
        }
        let limit = Limit::new(answer);
        // Not before the host is known: PGHOST may be far away.
        let connect: Box<dyn FnOnce() -> Result<Client, postgres::Error> + Send> =
            match address.tls_to(&config) {
                Tls::VerifyFull => {
                    let tls = Within(tls::verify_full(address)?, limit.clone());
                    config.ssl_mode(SslMode::Require);
                    let config = config.clone();
                    Box::new(move || config.connect(tls))
                }
                Tls::Disable if is_by_name(&config) => {
                    let (mut config, clear) = (config.clone(), InTheClear(limit.clone()));
                    config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
                    Box::new(move || config.connect(clear))
                }
                // The driver has nothing to get between it and a socket of this machine.
                Tls::Disable => {
                    config.ssl_mode(SslMode::Disable);
                    let config = config.clone();
                    Box::new(move || config.connect(NoTls))
                }
            };
        let let_in = let_in.max(longest(&config));
        let connected = beside(connect, let_in)
            .ok_or_else(|| frozen(&place, &format!("it has let nobody in for {} s", let_in.as_secs_f64())))?;
        let mut client = connected.map_err(|error| unreachable(&place, address, &error))?;
        let options = config.get_options().unwrap_or_default();
        let limits = LIMITS.iter().filter(|(name, _)| !options.contains(name));
        let limits: String = limits.map(|(name, limit)| format!("SET {name} = '{limit}';")).collect();
        client.batch_execute(&limits).map_err(|error| unreachable(&place, address, &error))?;
        Ok(Connection {
            client,
            place,
            team: String::new(),
            prepared: HashMap::new(),
            keys: Keys::of(env),
            objects: None,
            limit,
        })
    }

    /// From now on it is waited for answers for ever: what is asked may take its time.
    pub(crate) fn wait_for_ever(&mut self) {
        self.limit.lift();
    }

    /// A statement that the server takes to pieces once a connection.
    ///
    /// # Errors
    /// The server refuses it, or the connection was lost.
    pub(crate) fn prepared(&mut self, sql: &'static str) -> Result<Statement, FleetError> {
        if let Some(known) = self.prepared.get(sql) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    /// The driver's side of it.
    pub fn client(&mut self) -> &mut Client {
        &mut self.client
    }

    /// The same, and the team beside it.
    pub fn parts(&mut self) -> (&mut Client, &str) {
        (&mut self.client, &self.team)
    }

    /// Begins a transaction, which is undone unless it is committed.
    ///
    /// # Errors
    /// The connection was lost.
    pub fn transaction(&mut self) -> Result<Transaction<'_>, FleetError> {
        Ok(self.client.transaction()?)
    }

    /// The team whose rows this login sees; empty before the schema was looked at.
    pub fn team(&self) -> &str {
        &self.team
    }

    /// Which server and which database, for people.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The object store of a team as it is set now, where it has one.
    ///
    /// # Errors
    /// [`FleetError::Objects`]: it cannot be used from here. The connection was lost.
    pub(crate) fn objects(&mut self, team: &str) -> Result<Option<Arc<Objects>>, FleetError> {
        let Some(url) = objects::url_of(&mut self.client, team)? else { return Ok(None) };
        if let Some((open, objects)) = &self.objects
            && *open == url
        {
            return Ok(Some(Arc::clone(objects)));
        }
        let objects = Arc::new(Objects::open(&url, &self.keys)?);
        self.objects = Some((url, Arc::clone(&objects)));
        Ok(Some(objects))
    }

    /// Asks the database of which team this login is.
    pub(crate) fn learn_team(&mut self) -> Result<(), FleetError> {
        self.team = self.client.query_one("SELECT uwf.team()", &[])?.get(0);
        Ok(())
    }
}

/// What a URL does not say, from where libpq has it, and the limits of time.
fn defaults(config: &mut Config, address: &Address, env: &Env) {
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host(env.text("PGHOST").unwrap_or("localhost"));
    }
    if config.get_user().is_none()
        && let Some(user) = env.text("PGUSER").or(env.text("USER")).or(env.text("LOGNAME"))
    {
        config.user(user);
    }
    if config.get_application_name().is_none() {
        config.application_name("uwf");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNCONFIRMED);
    }
    // The driver's own answer cannot be told from one that was asked for.
    if !address.to_string().contains("keepalives_idle=") {
        config.keepalives_idle(IDLE);
    }
    if config.get_keepalives_interval().is_none() {
        config.keepalives_interval(INTERVAL);
    }
    if config.get_keepalives_retries().is_none() {
        config.keepalives_retries(RETRIES);
    }
}

/// Whether all hosts are names of machines: TLS, and what stands in its place, is not for sockets nor for addresses alone.
fn is_by_name(config: &Config) -> bool {
    let hosts = config.get_hosts();
    !hosts.is_empty() && hosts.iter().all(|host| matches!(host, Host::Tcp(_)))
}

/// How long it takes until no host has taken the connection, and one of them has let nobody in for a while.
fn longest(config: &Config) -> Duration {
    let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
    config.get_connect_timeout().copied().unwrap_or(CONNECT) * u32::try_from(hosts).unwrap_or(1)
}

/// Does something that may never come back; none where it has not within this time. Whoever does it may stay for as long as the
/// process.
fn beside<T: Send + 'static>(what: impl FnOnce() -> T + Send + 'static, limit: Duration) -> Option<T> {
    let (done, wait) = mpsc::channel();
    thread::Builder::new().name("connect".to_owned()).spawn(move || drop(done.send(what()))).ok()?;
    wait.recv_timeout(limit).ok()
}

fn frozen(place: &str, why: &str) -> FleetError {
    FleetError::Unreachable {
        place: place.to_owned(),
        why: why.to_owned(),
        hint: Some(
            "see that the server runs and is not stopped, and that this machine has threads left".to_owned(),
        ),
    }
}

fn unreachable(place: &str, address: &Address, error: &postgres::Error) -> FleetError {
    let hint = tls::hint(address, error).or_else(|| hint(error));
    let why = error.as_db_error().map_or_else(|| chain(error), |db| db.message().to_owned());
    FleetError::Unreachable { place: place.to_owned(), why, hint }
}

fn hint(error: &postgres::Error) -> Option<String> {
    const PASSWORD: &str = "the password is read from PGPASSWORD, or from ~/.pgpass (or the file of PGPASSFILE), which only you may \
                            read: HOST:PORT:DATABASE:USER:PASSWORD";
    let hint = match error.code() {
        Some(code) if *code == SqlState::INVALID_PASSWORD => PASSWORD,
        Some(code) if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION => {
            "the server's pg_hba.conf says who may log in, from where, and whether encrypted"
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => "`createdb` makes a database",
        Some(code) if *code == SqlState::TOO_MANY_CONNECTIONS => {
            "the server has as many connections as it takes; fewer workers, or a larger max_connections"
        }
        Some(_) => return None,
        None if chain(error).contains("password missing") => PASSWORD,
        None => "see that the server runs, that host and port are right, and that no firewall is between",
    };
    Some(hint.to_owned())
}
