//! A tool of the program's own: `cargo run -p uwf-agent --example own_tool`. A script is the model.
#![expect(clippy::print_stdout, reason = "an example shows what came of it")]

use schemars::JsonSchema;
use serde::Deserialize;
use uwf_agent::{Agent, BoxError, Limits, Script, Tool};

/// Stock by article.
struct Stock(Vec<(&'static str, u32)>);

#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// The article's number, such as T-100
    article: String,
}

impl Tool for Stock {
    type Arguments = Lookup;

    fn name(&self) -> &str {
        "stock"
    }

    fn description(&self) -> &str {
        "How many pieces of an article there are."
    }

    fn reads_only(&self) -> bool {
        true
    }

    async fn call(&self, Lookup { article }: Lookup) -> Result<String, BoxError> {
        let found = self.0.iter().find(|(number, _)| *number == article);
        let (_, pieces) = found.ok_or_else(|| format!("there is no article {article}"))?;
        Ok(format!("{pieces} pieces"))
    }
}

#[derive(Deserialize, JsonSchema)]
struct Order {
    article: String,
    pieces: u32,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = Agent::new(Script::parse("own_tool.yaml", include_str!("own_tool.yaml"))?)
        .instructions("You keep 50 pieces of each article in stock.")
        .limits(Limits { turns: 8, ..Limits::default() })
        .tool(Stock(vec![("T-100", 12), ("T-200", 80)]));
    let run = agent.run::<Vec<Order>>("What must be ordered of T-100 and T-200?").await;
    for order in run.answer? {
        println!("order {} of {}", order.pieces, order.article);
    }
    println!("{} turns, {} entries in the log", run.report.turns, run.report.log.len());
    Ok(())
}
