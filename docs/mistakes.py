#!/usr/bin/env python3
"""Writes docs/mistakes.md: what is said to typical mistakes, by an older and by the present programs.

    docs/mistakes.py BIN-BEFORE BIN-AFTER > docs/mistakes.md

Each mistake is made in a place of its own: an empty HOME, the project of examples/solve-issue, a thread T of its workflow that has
not begun, E that has ended, S that waits for an answer. Ids, times and places are written alike, so that two runs give the same text.
"""
import os, re, shutil, subprocess, sys, tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MISTAKES = [
    ("An id that does not exist", "uwf thread show 01KAZZZZZZZZZZZZZZZZZZZZZZ"),
    ("A part of an id", "uwf thread show ${T%??????????????????}"),
    ("A thread where a step belongs", "uwf step read $T"),
    ("A step where a thread belongs", "uwf thread show $(uwf step list $E --format json | grep -o '\"hash\": \"[^\"]*\"' | tail -1 | cut -d'\"' -f4)"),
    ("A step that the thread does not have", "uwf step read $E:9"),
    ("No prompt", "uwf thread start solve-issue"),
    ("A workflow's name with a typing error", "uwf thread start solve-isue -p x"),
    ("A workflow file that is not there", "uwf thread start ./flow.yaml -p x"),
    ("A noun with a typing error", "uwf thraed list"),
    ("A verb without its noun", "uwf show $T"),
    ("The words of other programs: ls", "uwf ls"),
    ("The words of other programs: ps", "uwf ps"),
    ("The words of other programs: status", "uwf status"),
    ("The words of other programs: logs", "uwf logs"),
    ("The words of other programs: run", "uwf run"),
    ("An option with a typing error", "uwf thread exec $T --until-ende"),
    ("No model is configured", "uwf thread exec $T"),
    ("A key that the provider refuses", "env UWF_BASE_URL=$REFUSES UWF_MODEL=m UWF_API_KEY=sk-wrong uwf thread exec $T"),
    ("Nobody listens at the address", "env UWF_BASE_URL=http://127.0.0.1:9/v1 UWF_MODEL=m timeout 20 uwf thread exec $T --agent 'uwf-builtin --timeout 3s'"),
    ("An agent that is not there", "uwf thread exec $T --agent my-agnet"),
    ("A script that is not there", "uwf thread exec $T --agent 'uwf-builtin --mock none.yaml'"),
    ("An ended thread runs on", "uwf thread exec $E"),
    ("An ended thread is cancelled", "uwf thread cancel $E"),
    ("A waiting thread is not answered", "uwf thread exec $S"),
    ("It is resumed without an answer", "uwf thread resume $S"),
    ("A thread that runs already", "uwf thread exec $R --agent true"),
    ("A directory that is not there", "uwf thread start solve-issue -p x --cwd ../nowhere"),
    ("A role that does not exist", "uwf-builtin run solve-issue --role develper -p x --mock script.yaml"),
    ("YAML that cannot be read", "printf 'name: x\\nroles: [\\n' | uwf workflow validate -"),
    ("A role that nobody has defined", "sed 's/role: reviewer/role: revewer/' .workflows/solve-issue.yaml | uwf workflow validate -"),
    ("A schema that cannot be", "sed 's/const: planned/conts: planned/' .workflows/solve-issue.yaml | uwf workflow validate -"),
    ("A comparison as in other languages", "uwf workflow validate compared.yaml"),
    ("A function that there is not", "uwf workflow validate called.yaml"),
    ("A condition that fails", "uwf thread exec $C --until-end --agent 'uwf-builtin --mock done.yaml'"),
    ("A setting that does not exist", "uwf config get defaultModle"),
    ("A value that cannot be", "uwf config set maxDepth many"),
    ("A question without a terminal", "uwf setup"),
    ("A hash that is none", "uwf cas get 9GDH"),
    ("A variable that does not exist", "uwf var get @me/notse"),
]
CONDITION = """name: c
description: d
roles:
  a:
    goal: g
    frontmatter: { type: object, required: [$status], properties: { $status: { enum: [done] } } }
conditions:
  more: { description: x, expression: 'EXPRESSION' }
graph:
  $START:
    new: { role: a, prompt: Go. }
  a:
    done:
      - { role: a, prompt: Again., when: more }
      - { role: $END, prompt: Over. }
"""
ASKS = """turns:
  - content: |
      ---
      $status: $SUSPEND
      reason: Which file is meant?
      ---
      I cannot go on.
"""


class Place:
    """What every mistake is made in."""

    def __init__(self, bin):
        self.bin = bin
        self.dir = tempfile.mkdtemp(prefix="uwf-mistakes-")
        self.work = f"{self.dir}/project"
        os.makedirs(f"{self.dir}/home")
        shutil.copytree(f"{ROOT}/examples/solve-issue/project", self.work)
        os.makedirs(f"{self.work}/.workflows")
        shutil.copy(f"{ROOT}/examples/solve-issue/workflow.yaml", f"{self.work}/.workflows/solve-issue.yaml")
        shutil.copy(f"{ROOT}/examples/solve-issue/mock.yaml", f"{self.work}/script.yaml")
        for name, text in [("asks.yaml", ASKS), ("done.yaml", "turns:\n  - content: |\n      ---\n      $status: done\n      ---\n      ok\n"),
                           ("refuses.yaml", "turns:\n  - error: { status: 401, message: Incorrect API key provided }\n"),
                           ("compared.yaml", CONDITION.replace("EXPRESSION", "steps[-1].role == \"a\"")),
                           ("called.yaml", CONDITION.replace("EXPRESSION", "$cuont(steps) > 1")),
                           ("fails.yaml", CONDITION.replace("EXPRESSION", "$number(\"x\") > 1"))]:
            with open(f"{self.work}/{name}", "w") as file:
                file.write(text)
        self.env = {"HOME": f"{self.dir}/home", "PATH": f"{bin}:{os.environ['PATH']}", "LANG": "C.UTF-8", "COLUMNS": "100"}
        start = "uwf thread start {} -p '`sh add.sh 1 2 3` prints 3: let it add three numbers and more.' --format text"
        for name, file in [("T", "solve-issue"), ("E", "solve-issue"), ("S", "solve-issue"), ("R", "solve-issue"), ("C", "./fails.yaml")]:
            self.env[name] = self.said(start.format(file))[1].strip()
        self.said("uwf thread exec $E --until-end --agent 'uwf-builtin --mock script.yaml'")
        self.said("uwf thread exec $S --agent 'uwf-builtin --mock asks.yaml'")
        self.running = subprocess.Popen(["uwf", "thread", "exec", self.env["R"], "--agent", "sh -c 'sleep 60'"], cwd=self.work, env=self.env,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, executable=f"{bin}/uwf")
        self.server = subprocess.Popen(["uwf-builtin", "mock-server", "refuses.yaml"], cwd=self.work, env=self.env, text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, executable=f"{bin}/uwf-builtin")
        self.env["REFUSES"] = self.server.stdout.readline().strip()

    def said(self, command):
        ran = subprocess.run(["bash", "-c", command], cwd=self.work, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return ran.returncode, ran.stdout, ran.stderr

    def alike(self, text):
        text = text.replace(self.bin, "~/bin").replace(self.dir, "~").replace("~/project/", "").replace(ROOT, "…")
        text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{24}\b", lambda id: next((f"{k}…" for k, v in self.env.items() if v == id[0]), "01K…"), text)
        text = re.sub(r"\b01[0-9A-HJKMNP-TV-Z]{6}\b", "01KABCDE", text)
        text = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{13}\b", "9GDHFMG6KAC8V", text)
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:8000", text)
        text = re.sub(r"\bprocess \d+|\bpid \d+", "process 4711", text)
        return re.sub(r"\d+(\.\d+)? m?s\b", "0.1 s", text)

    def end(self):
        for process in (self.running, self.server):
            process.terminate()
            process.wait()
        shutil.rmtree(self.dir, ignore_errors=True)


def transcript(bin):
    place = Place(os.path.abspath(bin))
    try:
        told = []
        for _, command in MISTAKES:
            code, out, err = place.said(command)
            told.append((code, place.alike((err + out if code else out + err).strip())))
        return told
    finally:
        place.end()


def main():
    before, after = transcript(sys.argv[1]), transcript(sys.argv[2])
    print("# Mistakes\n\nWhat is said to typical mistakes, before (0.1.0 as it was begun) and now. Written by `docs/mistakes.py`.\n")
    for (title, command), (was, said), (is_, says) in zip(MISTAKES, before, after):
        print(f"## {title}\n\n```console\n$ {command}\n```\n")
        if (was, said) == (is_, says):
            print(f"Exit {is_}, as before:\n\n```text\n{says}\n```\n")
        else:
            print(f"Before, exit {was}:\n\n```text\n{said}\n```\n\nNow, exit {is_}:\n\n```text\n{says}\n```\n")


main()
