//! `uwf serve`: the web pages, and what they ask of this program.
//!
//! What a page has done is done by this very program, started again: a run that it begins is the ordinary one in the
//! background, and outlives the server.

mod remote;

use std::fs::File;
use std::io::{Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tokio::signal::unix::{SignalKind, signal};
use uwf_store::{Clock, Hash, Store};
use uwf_web::{Access, Host, Server, Site};

use self::remote::AtRemote;
use super::args::Serve;
use super::step;
use crate::shell::{CliError, Session};
use uwf_engine::conditions::Conditions;
use uwf_engine::home::{Env, Homes};
use uwf_engine::lock;
use uwf_engine::open_store;
use uwf_engine::thread::{self, ThreadId};
use uwf_engine::view::{ServeView, StepDiff};

/// How many requests are read for at a time.
const READERS: usize = 8;
/// The shortest token that a file may have.
const SHORTEST: usize = 16;
/// The longest answer that is passed on.
const LONGEST: usize = 100_000;

pub(super) fn serve(session: &mut Session<'_>, args: &Serve) -> Result<u8, CliError> {
    let access = access(session, args)?;
    let token = access.token.clone();
    let mut site = site(session)?;
    if let Some(name) = &args.remote {
        let remote = AtRemote::of(session, name)?;
        site = site.with_remote(Box::new(remote), session.clock);
    }
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().max_blocking_threads(READERS).build();
    let runtime = runtime.map_err(|error| CliError::said("cannot serve", error))?;
    let exit = runtime.block_on(async {
        let address = SocketAddr::new(args.bind, args.port);
        let server = Server::bind(site, access, address).await.map_err(|error| {
            CliError::said(format!("cannot listen at {address}"), error)
                .with_hint("`--port 0` takes any port that is free")
        })?;
        announce(session, &server, &token)?;
        let mut ended = 0;
        let stop = async { ended = signalled().await };
        server.serve(stop).await.map_err(|error| CliError::said("cannot go on serving", error))?;
        Ok(ended)
    });
    // Whoever reads a large page just now is not waited for.
    runtime.shutdown_background();
    exit
}

/// Says where the pages are.
fn announce(session: &mut Session<'_>, server: &Server, token: &str) -> Result<(), CliError> {
    let address = server.address();
    let host = match address.ip() {
        ip if ip.is_unspecified() => format!("localhost:{}", address.port()),
        _ => address.to_string(),
    };
    let view = ServeView { url: format!("http://{host}/?token={token}"), address: address.to_string() };
    session.ui.result(&view, || format!("{}\n", view.url))?;
    session.ui.note("open this address in a browser; Ctrl-C ends the server, runs go on");
    if !address.ip().is_loopback() {
        session.ui.warn(&format!(
            "{address} can be reached from other machines, and nothing that is sent is encrypted: whoever has the token sees all threads"
        ));
    }
    Ok(())
}

/// Waits for a signal that asks this program to end; the exit status for it.
async fn signalled() -> u8 {
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let [interrupt, terminate, hangup] = kinds.map(|kind| {
        let heard = signal(kind);
        async move {
            match heard {
                Ok(mut heard) => drop(heard.recv().await),
                Err(_) => std::future::pending().await,
            }
        }
    });
    tokio::select! {
        () = interrupt => 130,
        () = terminate => 143,
        () = hangup => 129,
    }
}

/// The pages of this home.
pub(super) fn site(session: &Session<'_>) -> Result<Site, CliError> {
    let (homes, store) = (session.homes()?, session.store()?);
    let conditions = session.conditions().map(|judge| Box::new(judge) as Box<dyn Conditions + Send + Sync>);
    let host = Runs {
        program: session.program.clone(),
        env: session.env.clone(),
        homes: homes.clone(),
        clock: session.clock,
    };
    Ok(Site::new(store, homes, conditions, Box::new(host)))
}

/// The secrets of this server.
fn access(session: &Session<'_>, args: &Serve) -> Result<Access, CliError> {
    let token = match &args.token_file {
        Some(file) => token_in(&session.cwd.join(file))?,
        None => secret()?,
    };
    Ok(Access { token, session: secret()?, csrf: secret()?, hosts: args.allow_host.clone() })
}

fn token_in(file: &PathBuf) -> Result<String, CliError> {
    let unreadable = |error| CliError::said(format!("cannot read {}", file.display()), error);
    let text = std::fs::read_to_string(file).map_err(unreadable)?;
    let token = text.lines().next().unwrap_or_default().trim();
    let is_plain = token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
    if token.len() < SHORTEST || !is_plain {
        return Err(CliError::user(format!(
            "the first line of {} is no token: {SHORTEST} or more letters and digits are wanted",
            file.display()
        ))
        .with_hint("`head -c 24 /dev/urandom | basenc --base64url > FILE` makes one"));
    }
    Ok(token.to_owned())
}

/// What nobody can guess.
fn secret() -> Result<String, CliError> {
    let mut bytes = [0; 24];
    let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    read.map_err(|error| CliError::said("cannot make a token", error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// What pages ask for.
struct Runs {
    program: Option<PathBuf>,
    env: Env,
    homes: Homes,
    clock: Clock,
}

impl Runs {
    /// Has this program, started again, do something with a thread, with `input` as its stdin; what it says of an error is
    /// the error.
    fn uwf(&self, words: &[&str], input: &str) -> Result<(), String> {
        let program = self.program.as_ref().ok_or("it cannot be told which program this is")?;
        let mut command = Command::new(program);
        command.args(["--quiet", "--format", "text", "--color", "never", "thread"]).args(words);
        command.env_clear().envs(self.env.iter());
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
        let failed = |error| format!("{} cannot be started: {error}", program.display());
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ends before it has read this says why.
            stdin.write_all(input.as_bytes()).ok();
        }
        let ran = child.wait_with_output().map_err(failed)?;
        if ran.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&ran.stderr);
        Err(said.trim().trim_start_matches("error: ").to_owned())
    }
}

impl Host for Runs {
    fn changes(&self, store: &Store, step: &Hash) -> Result<StepDiff, String> {
        step::changes_of(store, step).map_err(|error| error.message())
    }

    fn answer(&self, thread: &ThreadId, text: &str) -> Result<(), String> {
        if text.len() > LONGEST {
            return Err(format!("an answer has {LONGEST} bytes at most"));
        }
        // By stdin: as an argument, `-` would not be the text.
        self.uwf(&["resume", thread.as_str(), "--prompt=-", "--until-end", "--background"], text)
    }

    fn run(&self, thread: &ThreadId) -> Result<(), String> {
        let store = open_store(&self.homes.ocas, self.clock).map_err(|error| error.to_string())?;
        let paused = thread::paused(&store, thread).map_err(|error| error.to_string())?;
        let verb = if paused.is_some() { "resume" } else { "exec" };
        self.uwf(&[verb, thread.as_str(), "--until-end", "--background"], "")
    }

    fn stop(&self, thread: &ThreadId) -> Result<(), String> {
        match lock::stop(&self.homes.uwf, thread) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_from_a_file_is_long_and_plain() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        for (text, good) in [
            ("0123456789abcdef\n", true),
            (" 0123456789abcdef \nmore", true),
            ("short", false),
            ("0123456789abc&ef", false),
            ("", false),
        ] {
            std::fs::write(&file, text).unwrap();
            assert_eq!(token_in(&file).is_ok(), good, "{text:?}");
        }
        assert_ne!(secret().unwrap(), secret().unwrap());
    }
}
