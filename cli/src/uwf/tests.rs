//! Command lines as a script or a person types them, down to status, stdout and stderr.

mod artifacts;
mod checkout;
mod command_line;
mod commands;
mod diffs;
mod guides;
mod help;
mod legacy;
mod logged;
mod models;
mod names;
mod paging;
mod played;
mod reference;
mod replies;
mod setup;
mod steps;
mod store;
mod tables;
mod undo;
mod undo_sequences;
mod unknown_commands;
mod upkeep;
mod views;
mod workflows;
mod workspace;
