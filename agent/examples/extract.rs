//! A typed answer from a text: `cargo run -p uwf-agent --example extract [BASE_URL]`; a script is the model without one.
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "a program has arguments and prints")]

use schemars::JsonSchema;
use serde::Deserialize;
use uwf_agent::{Agent, Endpoint, Provider, Script};

#[derive(Deserialize, JsonSchema)]
struct Invoice {
    /// As printed on it
    number: String,
    total_cents: u64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let provider: Provider = match std::env::args().nth(1) {
        Some(base_url) => Endpoint::new(base_url, "demo").into(),
        None => Script::parse("extract.yaml", include_str!("extract.yaml"))?.into(),
    };
    let run = Agent::new(provider).run::<Invoice>("Extract: Invoice A-7, total 12.50 EUR").await;
    for refused in run.report.attempts.iter().filter_map(|attempt| attempt.wrong.as_ref()) {
        println!("refused: {refused}");
    }
    let invoice = run.answer?;
    println!("{}: {} cents, after {} turns", invoice.number, invoice.total_cents, run.report.turns);
    Ok(())
}
