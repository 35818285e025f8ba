//! The programs in the guides that `uwf prompt` prints, run as they stand.

use std::fs;
use std::process::Command;

use crate::book::blocks;
use crate::site::{Said, Site, UWF, example, search_path};

#[test]
fn the_agent_in_the_guide_plays_a_role() {
    if Command::new("python3").arg("--version").output().is_err() {
        println!("skipped: no python3 here");
        return;
    }
    let site = Site::new();
    let guide = site.uwf(&["prompt", "adapter-developing"]).ok().out;
    let program = guide.split("```python\n").nth(1).unwrap().split("```").next().unwrap();
    site.write("work/agent.py", program);
    let thread = site.start(&example("debate/workflow.yaml"), "t");
    let path = search_path();
    let exec = ["thread", "exec", &thread, "--agent", "python3 ./agent.py"];
    let said = Said::of(site.command(UWF).args(exec).env("PATH", &path).output().unwrap());
    // The first status of `proponent` alone is not all that its schema asks for: the answer is refused by the store.
    said.fails(1, &["gave no reply"]);
    let workflow = site.write(
        "w.yaml",
        "name: w\ndescription: d\nroles:\n  a:\n    goal: g\n    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [done, odd] } } }\ngraph:\n  $START:\n    new: { role: a, prompt: Go. }\n  a:\n    done: { role: a, prompt: Again. }\n    odd: { role: $END, prompt: End. }\n",
    );
    let thread = site.start(&workflow, "t");
    for _ in 0..2 {
        let exec = ["thread", "exec", &thread, "--agent", "python3 ./agent.py"];
        let said = Said::of(site.command(UWF).args(exec).env("PATH", &path).output().unwrap()).ok();
        assert_eq!(said.json()["currentRole"], "a");
    }
    let steps = site.uwf(&["step", "list", &thread]).ok().json();
    assert_eq!((steps["steps"].as_array().unwrap().len(), &steps["steps"][2]["agent"]), (3, &"mine".into()));
    site.verify();
}

#[test]
fn every_command_of_the_setup_guide_runs() {
    let site = Site::new();
    let (blocks, others) = blocks(&site.uwf(&["prompt", "bootstrap"]).ok().out);
    assert_eq!((blocks.len(), others), (4, 0));
    let mut bash = site.command("bash");
    bash.args(["-euo", "pipefail", "-c", &blocks.concat()]);
    bash.env("PATH", search_path()).env("TMPDIR", site.home());
    let said = Said::of(bash.output().unwrap()).ok();
    assert!(said.out.contains("greeting: Hello.") && said.out.contains("**Ended** "), "{said:?}");
    let skill = fs::read_to_string(site.home().join(".agents/skills/uwf/SKILL.md")).unwrap();
    assert!(skill.starts_with("---\nname: uwf\n"), "{skill}");
}
