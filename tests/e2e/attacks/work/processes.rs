//! Processes of the shell: what runs beside, what is waited for, signals and ends.

use super::{Field, Work, by_everybody, works};

const SHELL: &[Work] = &[
    ("a job that is waited for", "", "(sleep 0.1; echo done > job) & wait $! && grep -q done job"),
    (
        "many at once",
        "xargs seq",
        "seq 20 | xargs -P 4 -I{} sh -c 'echo {} > x{}' && test $(ls x* | wc -l) = 20",
    ),
    ("a process for a file", "bash", "bash -c 'diff <(printf \"a\\nb\\n\") <(printf \"a\\nb\\n\")'"),
    ("a here-document", "cat", "cat > doc <<'END'\n$one\nEND\ngrep -qx '$one' doc"),
    ("a here-string", "bash", "bash -c 'read -r word <<< hello && test $word = hello'"),
    ("a time limit", "timeout", "timeout 0.2 sleep 30; test $? = 124"),
    (
        "a signal is caught",
        "sh",
        "sh -c 'trap \"echo caught > sig; exit 0\" TERM; kill -TERM $$; sleep 5' && grep -q caught sig",
    ),
    ("a trap at the end", "sh", "sh -c 'trap \"echo end > end\" EXIT; exit 3'; test $? = 3 && test -s end"),
    ("a child is stopped and goes on", "", "sleep 0.3 & kill -STOP $! && kill -CONT $! && wait $!"),
    (
        "a group is ended",
        "setsid",
        "setsid sh -c 'sleep 60 & sleep 60 & wait' & sleep 0.3; kill -- -$! && ! wait $!",
    ),
    (
        "own processes are seen",
        "ps",
        "sleep 30 & until ps -p $! -o comm= | grep -q sleep; do :; done; kill $!",
    ),
    (
        "own processes are found",
        "pgrep pkill",
        "sleep 31 & until pgrep -P $$ sleep | grep -qx $!; do :; done; pkill -P $$ sleep",
    ),
    ("the process table", "", "test -r /proc/self/status && test -d /proc/$$/fd && test -r /proc/meminfo"),
    ("own limits", "", "ulimit -n 100 && test $(ulimit -n) = 100"),
    ("a low priority", "nice", "nice -n 5 true"),
    (
        "a coprocess",
        "bash",
        "bash -c 'coproc cat; echo hi >&${COPROC[1]}; read -r w <&${COPROC[0]}; test $w = hi'",
    ),
    (
        "a terminal of its own",
        "script",
        "script -qec 'test -t 1 && echo on-a-terminal' /dev/null | grep -q on-a-terminal",
    ),
    ("a pipe that breaks", "yes head", "yes | head -n 100000 | tail -n 1 | grep -q y"),
    ("many files open", "bash", "bash -c 'for i in $(seq 10 200); do eval \"exec $i>/dev/null\"; done'"),
];

#[test]
fn a_shell_and_its_processes() {
    by_everybody(|who| works(&Field::new(who), SHELL, &[]));
}

const SERVE: &str = "import http.server, socketserver, sys
class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b'hello')
    def log_message(self, *rest): pass
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Quiet)
open(sys.argv[1], 'w').write(str(server.server_port))
server.serve_forever()
";

const ASK: &str = "import sys, time, urllib.request
for _ in range(300):
    try:
        port = open(sys.argv[1]).read()
        if port:
            print(urllib.request.urlopen('http://127.0.0.1:%s/' % port, timeout=5).read().decode())
            sys.exit(0)
    except OSError as error:
        print(error, file=sys.stderr)
    time.sleep(0.1)
sys.exit(1)
";

/// What one command leaves running, later ones use and end.
const LATER: &[Work] = &[
    ("1 begin", "python3 nohup", "nohup python3 serve.py port > log 2>&1 & echo $! > pid"),
    (
        "2 begin a session",
        "python3 setsid",
        "setsid python3 serve.py $PWD/port2 > log2 2>&1 < /dev/null & echo $! > pid2",
    ),
    ("3 use", "python3", "python3 ask.py port | grep -q hello"),
    ("4 use the session", "python3", "python3 ask.py port2 | grep -q hello"),
    ("5 is seen", "python3 ps", "ps -p $(cat pid) -o args= | grep -q 'serve.py port'"),
    (
        "6 end",
        "python3",
        "kill $(cat pid) && for i in $(seq 100); do kill -0 $(cat pid) 2>/dev/null || exit 0; sleep 0.1; done; exit 1",
    ),
    ("7 end the session", "python3 pkill", "pkill -f \"[s]erve.py $PWD/port2\""),
    (
        "8 is gone",
        "python3",
        "! python3 -c \"import urllib.request; urllib.request.urlopen('http://127.0.0.1:$(cat port)/', timeout=5)\"",
    ),
];

#[test]
fn a_server_that_later_commands_use_and_end() {
    by_everybody(|who| {
        let field = Field::new(who);
        field.site.write("work/serve.py", SERVE);
        field.site.write("work/ask.py", ASK);
        works(&field, LATER, &[]);
    });
}
