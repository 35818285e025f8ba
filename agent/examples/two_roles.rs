//! A workflow of two roles, driven in code: `cargo run -p uwf-agent --example two_roles`. A script is the model.
#![expect(clippy::print_stdout, reason = "an example shows what came of it")]

use std::path::Path;

use uwf_agent::{Agent, Script};
use uwf_engine::config::Config;
use uwf_engine::drive::drive;
use uwf_engine::exec::{ExecOptions, StepAgentError, Unobserved, hold};
use uwf_engine::spawn::{StopSignal, lookup::Programs};
use uwf_engine::{AdapterOutput, AgentCommand, AgentRequest, Engine, Env, Homes, thread, workflow};

const WORKFLOW: &str = "
name: review
description: One writes, one checks.
roles:
  writer:
    { description: Writes, goal: Write., procedure: Write., output: A text.,
      frontmatter: { type: object, required: [$status, text],
        properties: { $status: { const: written }, text: { type: string } } } }
  checker:
    { description: Checks, goal: Check., procedure: Check., output: A verdict.,
      frontmatter: { type: object, required: [$status], properties: { $status: { enum: [fine, poor] } } } }
graph:
  $START: { new: { role: writer, prompt: Write it. } }
  writer: { written: { role: checker, prompt: 'Check this: {{{text}}}' } }
  checker: { fine: { role: $END, prompt: Done. }, poor: { role: writer, prompt: Write it better. } }
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir = tempfile::tempdir()?;
    let homes = Homes { uwf: dir.path().join("uwf"), ocas: dir.path().join("ocas") };
    let store = uwf_engine::open_store(&homes.ocas, || 1_800_000_000_000)?;
    let checked = workflow::read(&mut WORKFLOW.as_bytes(), Path::new("review.yaml"), dir.path())?;
    let flow = workflow::add(&store, &checked)?;
    let thread = thread::start(&store, &flow, "A haiku, please.", &dir.path().display().to_string())?;

    // One agent for both; each role could have its own model, tools and limits.
    let agent = Agent::new(Script::parse("two_roles.yaml", include_str!("two_roles.yaml"))?);
    let plays = |request: &AgentRequest, cwd: &Path| -> Result<AdapterOutput, StepAgentError> {
        Ok(agent.play((&store, &homes), request, cwd)?)
    };
    let engine = Engine {
        store: &store,
        homes: &homes,
        config: &Config::default(),
        env: &Env::default(),
        builtin: &AgentCommand::new("none", vec![]),
        programs: &Programs::default(),
        stop: &StopSignal::default(),
        agent: Some(&plays),
        conditions: None,
    };
    let held = hold(&engine, &thread)?;
    let driven = drive(&engine, &held, &ExecOptions::default(), 10, &mut Unobserved)?;
    println!("{} steps, {}", driven.steps.len(), thread::head(&store, &thread)?.status.as_str());
    Ok(())
}
