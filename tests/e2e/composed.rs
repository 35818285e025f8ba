//! Workflows that play roles of other workflows: threads that call threads.

#[path = "composed/develop.rs"]
mod develop;
#[path = "composed/killed.rs"]
mod killed;
#[path = "composed/refused.rs"]
mod refused;
#[path = "composed/stack.rs"]
mod stack;
#[path = "composed/stopped.rs"]
mod stopped;

use std::fs;

use serde_json::Value;

use crate::site::{AGENT, Said, Site};

/// A place where `outer` has its role played by `middle`, which has its own played by `inner`; `inner` has a role that an
/// agent plays, twice, and asks a person in between.
struct Stack {
    site: Site,
}

/// A workflow of one role, `worker`, whose first answer may be `more`.
fn flow(name: &str) -> String {
    format!(
        "name: {name}
roles:
  {name}-role:
    goal: Do it.
    frontmatter:
      type: object
      required: [$status]
      properties: {{ $status: {{ enum: [done, more] }}, text: {{ type: string }}, question: {{ type: string }} }}
graph:
  $START: {{ new: {{ role: {name}-role, prompt: Do it in {name}. }} }}
  {name}-role:
    done: {{ role: $END, prompt: Done. }}
    more: {{ role: {name}-role, prompt: 'Go on in {name}: {{{{text}}}}' }}
"
    )
}

impl Stack {
    /// With this script for the roles of `inner`.
    fn new(script: &str) -> Stack {
        Stack::at(Site::new(), script)
    }

    fn at(site: Site, script: &str) -> Stack {
        for name in ["outer", "middle", "inner"] {
            site.write(&format!("work/.workflow/{name}.yaml"), &flow(name));
        }
        let mock = site.write("mock.yaml", script);
        site.write("home/.uwf/config.yaml", &config(&mock));
        Stack { site }
    }

    fn start(&self) -> String {
        self.site.start("outer", "The whole.")
    }

    fn exec(&self, thread: &str) -> Said {
        self.site.uwf(&["thread", "exec", thread, "--until-end"])
    }

    fn show(&self, thread: &str) -> Value {
        self.site.uwf(&["thread", "show", thread]).ok().json()
    }

    /// The last thread that one called.
    fn called(&self, thread: &str) -> String {
        self.show(thread)["child"]["thread"].as_str().unwrap().to_owned()
    }

    /// The thread and those below it.
    fn threads(&self, thread: &str) -> [String; 3] {
        let middle = self.called(thread);
        let inner = self.called(&middle);
        [thread.to_owned(), middle, inner]
    }

    fn payload(&self, hash: &Value) -> Value {
        self.site.uwf(&["cas", "get", hash.as_str().unwrap(), "--format", "json"]).ok().json()["payload"]
            .clone()
    }

    fn steps(&self, thread: &str) -> Vec<Value> {
        let listed = self.site.uwf(&["step", "list", thread]).ok().json();
        listed["steps"].as_array().unwrap()[1..].to_vec()
    }
}

fn config(mock: &str) -> String {
    format!(
        "agents:
  middle: {{ workflow: middle }}
  inner: {{ workflow: inner }}
  mock: {{ command: {AGENT}, args: [--mock, {mock}] }}
defaultAgent: mock
agentOverrides:
  outer: {{ outer-role: middle }}
  middle: {{ middle-role: inner }}
"
    )
}

/// Two answers and an end.
const WORKS: &str = "
roles:
  inner-role:
    - turns: [{ content: \"---\\n$status: more\\ntext: half\\n---\\nHalf of it.\\n\" }]
    - turns: [{ content: \"---\\n$status: done\\ntext: whole\\n---\\nAll of it.\\n\" }]
";

/// Asks in between.
const ASKS: &str = "
roles:
  inner-role:
    - turns: [{ content: \"---\\n$status: $SUSPEND\\nreason: Which half?\\n---\\n\" }]
    - turns:
        - content: \"---\\n$status: done\\ntext: whole\\n---\\nAll of it.\\n\"
          expect: { last_contains: The left one. }
";

fn file(site: &Site, name: &str) -> String {
    fs::read_to_string(site.workspace().join(name)).unwrap()
}
