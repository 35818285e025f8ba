//! What must go on working under the strict sandbox: builds, tests with servers of their own, git, links and moves.

use std::process::Command;

use super::field::{Answers, Call, Field, Who, by_everybody, command, has, skipped};

#[track_caller]
fn assert_works(answers: &Answers) {
    for (id, answer) in &answers.texts {
        assert!(answer.succeeded(), "{id}: {}", answer.text);
    }
}

fn works(field: &Field, commands: &[(&str, &str)], options: &[&str]) {
    let calls: Vec<Call> = commands.iter().map(|(name, text)| command(name, text)).collect();
    assert_works(&field.run(&calls, options));
}

#[test]
fn files_are_listed_linked_and_moved() {
    by_everybody(|who| {
        let commands = [
            ("list", "ls / /tmp /usr /usr/bin > listing && test -s listing"),
            ("a private TMPDIR", "test $(stat -c %a $TMPDIR) = 700"),
            ("link", "ln a hard && ln -s a soft && cmp hard soft"),
            ("move", "mkdir -p d/e f && echo x > d/e/x && mv d/e/x f/ && mv f d/ && test -f d/f/x"),
            (
                "move from TMPDIR",
                "echo x > $TMPDIR/x && mv $TMPDIR/x x && ln x $TMPDIR/y 2>/dev/null; test -f x",
            ),
            ("mode and time", "echo ':' > s && chmod +x s && ./s && touch -d yesterday s && test -x s"),
            ("copy and unpack", "tar cf t.tar d && rm -r d && tar xpf t.tar && cp -a d g && test -f g/f/x"),
        ];
        works(&Field::new(who), &commands, &[]);
    });
}

const GIT: &[(&str, &str)] = &[
    ("who", "git config user.name n && git config user.email e"),
    ("add and commit", "echo x > new && git add new && git commit -qm one"),
    ("branch", "git checkout -qb topic && echo y >> new"),
    ("stash", "git stash -q && test $(wc -l < new) = 1 && git stash pop -q"),
    ("commit again", "git commit -qam two && git log --oneline | grep two && git status --short"),
    ("merge", "git checkout -q - && git merge -q topic && git diff HEAD~1 --stat | grep new"),
];

#[test]
fn git_works_in_a_repository_and_in_a_linked_worktree() {
    by_everybody(|who| {
        let field = Field::new(who);
        works(
            &field,
            &[&[("init", "git init -q && git commit -qm m --allow-empty || true")], GIT].concat(),
            &[],
        );
        let (main, linked) = (field.dir().join("main"), field.dir().join("linked"));
        let make = "git init -q \"$0\" && cd \"$0\" && git -c user.name=n -c user.email=e commit -qm m --allow-empty && git worktree add -q \"$1\"";
        let made = field.site.command("sh").args(["-c", make]).args([&main, &linked]).output().unwrap();
        assert!(made.status.success(), "{made:?}");
        works(&field, GIT, &["--cwd", &linked.display().to_string()]);
    });
}

#[test]
fn a_crate_is_built_and_tested() {
    let rustc = Command::new(env!("CARGO")).args(["--version"]).output();
    if !rustc.is_ok_and(|output| output.status.success()) {
        return skipped("a crate is built", "cargo");
    }
    let field = Field::new(Who::Me);
    field.site.write("work/Cargo.toml", "[package]\nname = \"small\"\nedition = \"2021\"\n");
    field.site.write(
        "work/src/lib.rs",
        "pub fn one() -> u8 { 1 }\n#[test]\nfn is_one() { assert_eq!(one(), 1) }\n",
    );
    let bin = std::path::Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    let cargo = |what: &str| format!("PATH={bin}:$PATH CARGO_HOME=$TMPDIR/cargo cargo {what} --offline -q");
    works(&field, &[("build", &cargo("build")), ("test", &cargo("test --lib"))], &[]);
}

const PYTHON: &str = "import http.server, threading, unittest, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
class Works(unittest.TestCase):
    def test_page(self):
        server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Page)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = 'http://localhost:%d/' % server.server_port
        self.assertEqual(urllib.request.urlopen(url).read(), b'hello')
";

const NODE: &str = "const { test } = require('node:test'); const assert = require('node:assert'); const http = require('node:http');
test('page', async () => {
  const server = http.createServer((request, response) => response.end('hello'));
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const reply = await fetch(`http://127.0.0.1:${server.address().port}/`);
  assert.equal(await reply.text(), 'hello');
  server.close();
});
";

#[test]
fn test_suites_reach_their_own_servers() {
    let programs = [("python3", "python3 -m unittest -q test_page"), ("node", "node --test page.test.js")];
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("work/test_page.py", PYTHON);
        field.site.write("work/page.test.js", NODE);
        let (here, missing): (Vec<_>, Vec<_>) = programs.into_iter().partition(|(program, _)| has(program));
        missing.iter().for_each(|(program, _)| skipped("a test suite with a server", program));
        works(&field, &here, &[]);
    });
}
