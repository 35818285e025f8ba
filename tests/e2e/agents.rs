//! Which program an agent's name stands for: never one that was put into the thread's directory.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use crate::rounds::{says, start};
use crate::site::{AGENT, Said, Site, UWF};

/// Writes a program and gives its path.
fn program(site: &Site, name: &str, body: &str) -> String {
    let path = site.write(name, &format!("#!/bin/sh\n{body}"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What answers, as somebody installed it, and what lies in wait in the workspace for those who look there.
fn installed_and_planted(site: &Site) {
    let body = format!("echo $0 >> '{}'\nexec {} \"$@\"\n", ran(site), says(site, "$status: more"));
    program(site, "home/bin/my-agent", &body);
    for place in [".venv/bin/my-agent", "my-agent", ".venv/bin/uwf-builtin", "uwf-builtin"] {
        program(site, &format!("work/{place}"), "touch ../planted\n");
    }
    symlink(site.workspace().join(".venv"), site.home().join("venv")).unwrap();
}

fn ran(site: &Site) -> String {
    site.home().join("ran").display().to_string()
}

/// `uwf` in the workspace with this `PATH` before the usual one; `~` and `.` stand for home and workspace.
fn uwf_by(site: &Site, dirs: &[&str], args: &[&str]) -> Said {
    let (home, work) = (site.home().display().to_string(), site.workspace().display().to_string());
    let dirs = dirs.iter().map(|dir| dir.replace('~', &home).replace("$work", &work));
    let path: Vec<String> = dirs.chain(["/usr/bin".to_owned(), "/bin".to_owned()]).collect();
    let mut command: Command = site.command(UWF);
    Said::of(command.env("PATH", path.join(":")).args(args).output().unwrap())
}

#[test]
fn a_bare_name_is_never_a_file_of_the_workspace() {
    let site = Site::new();
    installed_and_planted(&site);
    let thread = start(&site);
    let everywhere = [".venv/bin", ".", "", "$work/.venv/bin", "~/venv/bin", "$work", "~/bin"];
    uwf_by(&site, &everywhere, &["thread", "exec", &thread, "--agent", "my-agent"]).ok();
    site.write("home/.uwf/config.yaml", "agents: { mine: { command: my-agent } }\ndefaultAgent: mine\n");
    uwf_by(&site, &everywhere, &["thread", "exec", &thread]).ok();
    uwf_by(&site, &everywhere, &["thread", "exec", &thread, "--agent", "mine", "-c", "2"]).ok();
    let expected = site.home().join("bin/my-agent").display().to_string();
    let ran = fs::read_to_string(ran(&site)).unwrap();
    assert_eq!(ran.lines().collect::<Vec<_>>(), [expected.as_str(); 4]);
    assert!(!site.workspace().join("../planted").exists());
}

#[test]
fn where_there_is_no_other_it_says_so_and_a_path_is_taken_at_its_word() {
    let site = Site::new();
    installed_and_planted(&site);
    let thread = start(&site);
    let exec = ["thread", "exec", &thread, "--agent", "my-agent"];
    for dir in ["$work/.venv/bin", "~/venv/bin"] {
        for more in [&[][..], &["--background"]] {
            uwf_by(&site, &[dir], &[&exec, more].concat()).fails(
                1,
                &[
                    "cannot start the agent `my-agent`",
                    "bin/my-agent is inside the thread's directory",
                    "hint: name it by its full path if that is meant",
                ],
            );
        }
    }
    uwf_by(&site, &[".venv/bin", ""], &exec)
        .fails(1, &["cannot start the agent `my-agent`", "no absolute directory of PATH has it"]);
    assert!(!site.workspace().join("../planted").exists());
    // Whoever writes a path means it, and it counts from where he is.
    uwf_by(&site, &[], &["thread", "exec", &thread, "--agent", "./my-agent"]).fails(1, &["gave no reply"]);
    assert!(site.workspace().join("../planted").exists());
}

#[test]
fn an_edge_that_leads_elsewhere_and_a_question_are_no_way_round() {
    let site = Site::new();
    installed_and_planted(&site);
    let thread = start(&site);
    uwf_by(&site, &["~/bin"], &["thread", "exec", &thread, "--agent", "my-agent"]).ok();
    let elsewhere = site.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    program(&site, "home/elsewhere/my-agent", "touch ../../planted\n");
    let cwd = elsewhere.to_str().unwrap();
    let dirs = ["~/elsewhere", "$work/.venv/bin"];
    let inside = ["is inside the thread's directory"];
    let exec = ["thread", "exec", &thread, "--agent", "my-agent", "--cwd", cwd];
    uwf_by(&site, &dirs, &exec).fails(1, &inside);
    let head = site.uwf(&["thread", "show", &thread]).ok().json()["head"].as_str().unwrap().to_owned();
    let ask = ["step", "ask", &head, "-p", "Why?", "--agent", "my-agent", "--cwd", cwd];
    uwf_by(&site, &dirs, &ask).fails(1, &inside);
    assert!(!site.workspace().join("../planted").exists());
}

#[test]
fn a_name_is_looked_up_before_the_first_step_and_not_again() {
    let site = Site::new();
    let early = site.home().join("early");
    let planter = format!("mkdir '{0}'; cp '{1}' '{0}/my-agent'\n", early.display(), "/bin/false");
    let says = says(&site, "$status: more");
    let body = format!("[ -e '{}' ] || {{ {planter} }}\nexec {says} \"$@\"\n", early.display());
    program(&site, "home/bin/my-agent", &body);
    let thread = start(&site);
    let exec = ["thread", "exec", &thread, "-c", "2", "--agent", "my-agent"];
    let told = uwf_by(&site, &["~/early", "~/bin"], &exec).ok().json();
    assert_eq!(told.as_array().unwrap().len(), 2);
    assert!(early.join("my-agent").exists());
    let said = uwf_by(&site, &["~/early", "~/bin"], &exec).code(1);
    assert!(said.err.contains("gave no reply"), "another command looks anew: {}", said.err);
}

#[test]
fn the_doctor_starts_nothing_of_the_workspace() {
    let site = Site::new();
    installed_and_planted(&site);
    // Alone, the engine has no builtin agent beside it.
    let alone = site.home().join("alone");
    fs::create_dir(&alone).unwrap();
    fs::copy(UWF, alone.join("uwf")).unwrap();
    let doctor = |path: &str| {
        let mut command = site.command(alone.join("uwf"));
        Said::of(command.env("PATH", path).args(["doctor", "--format", "text"]).output().unwrap())
    };
    let venv = site.workspace().join(".venv/bin");
    let said = doctor(&format!(".venv/bin:{}", venv.display())).code(1);
    assert!(said.out.contains("uwf-builtin is inside the thread's directory"), "{}", said.out);
    assert!(!site.workspace().join("../planted").exists());
    let dir = Path::new(AGENT).parent().unwrap();
    let said = doctor(&format!(".venv/bin:{}", dir.display()));
    assert!(said.out.contains("uwf-builtin doctor:"), "{}", said.out);
}
