//! End to end: the real binaries, real files, real processes, real sockets on loopback. One binary for all of it.
//!
//! One harness (`site`) pins stdout, stderr and exit code together; each module is one thing that users do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on says so by panicking")]
#![expect(clippy::disallowed_methods, reason = "tests are programs: they have an environment and a clock")]

#[path = "e2e/endpoint.rs"]
mod endpoint;
#[path = "e2e/site.rs"]
mod site;

#[path = "e2e/adapted.rs"]
mod adapted;
#[path = "e2e/agents.rs"]
mod agents;
#[path = "e2e/agents_real.rs"]
mod agents_real;
#[path = "e2e/aimock.rs"]
mod aimock;
#[path = "e2e/artifacts.rs"]
mod artifacts;
#[path = "e2e/ask.rs"]
mod ask;
#[path = "e2e/attacks.rs"]
mod attacks;
#[path = "e2e/background.rs"]
mod background;
#[path = "e2e/bad_input.rs"]
mod bad_input;
#[path = "e2e/behaviours.rs"]
mod behaviours;
#[path = "e2e/book.rs"]
mod book;
#[path = "e2e/bounds.rs"]
mod bounds;
#[path = "e2e/calls.rs"]
mod calls;
#[path = "e2e/changes.rs"]
mod changes;
#[path = "e2e/compaction.rs"]
mod compaction;
#[path = "e2e/composed.rs"]
mod composed;
#[path = "e2e/concurrency.rs"]
mod concurrency;
#[cfg(feature = "conditions")]
#[path = "e2e/conditions.rs"]
mod conditions;
#[path = "e2e/continued.rs"]
mod continued;
#[path = "e2e/documents.rs"]
mod documents;
#[path = "e2e/eval.rs"]
mod eval;
#[path = "e2e/events.rs"]
mod events;
#[path = "e2e/examples.rs"]
mod examples;
#[path = "e2e/extract.rs"]
mod extract;
#[path = "e2e/failures.rs"]
mod failures;
#[path = "e2e/faults.rs"]
mod faults;
#[path = "e2e/fetch_url.rs"]
mod fetch_url;
#[path = "e2e/guides.rs"]
mod guides;
#[path = "e2e/init.rs"]
mod init;
#[path = "e2e/interrupted.rs"]
mod interrupted;
#[path = "e2e/isolated.rs"]
mod isolated;
#[cfg(feature = "conditions")]
#[path = "e2e/jsonata.rs"]
mod jsonata;
#[path = "e2e/library.rs"]
mod library;
#[path = "e2e/long.rs"]
mod long;
#[path = "e2e/matrix.rs"]
mod matrix;
#[path = "e2e/mcp.rs"]
mod mcp;
#[path = "e2e/outputs.rs"]
mod outputs;
#[path = "e2e/process.rs"]
mod process;
#[path = "e2e/project.rs"]
mod project;
#[path = "e2e/providers.rs"]
mod providers;
#[path = "e2e/replay.rs"]
mod replay;
#[path = "e2e/requests.rs"]
mod requests;
#[path = "e2e/rounds.rs"]
mod rounds;
#[path = "e2e/run.rs"]
mod run;
#[path = "e2e/sandbox.rs"]
mod sandbox;
#[path = "e2e/screen.rs"]
mod screen;
#[path = "e2e/secrecy.rs"]
mod secrecy;
#[path = "e2e/setup.rs"]
mod setup;
#[path = "e2e/shortage.rs"]
mod shortage;
#[path = "e2e/store.rs"]
mod store;
#[path = "e2e/tasks.rs"]
mod tasks;
#[path = "e2e/terminal.rs"]
mod terminal;
#[path = "e2e/thread.rs"]
mod thread;
#[path = "e2e/told.rs"]
mod told;
#[path = "e2e/tools.rs"]
mod tools;
#[path = "e2e/trace.rs"]
mod trace;
#[path = "e2e/undo.rs"]
mod undo;
#[path = "e2e/until_end.rs"]
mod until_end;
#[path = "e2e/vendors.rs"]
mod vendors;
#[path = "e2e/watch.rs"]
mod watch;
#[path = "e2e/web.rs"]
mod web;
#[path = "e2e/workers.rs"]
mod workers;
