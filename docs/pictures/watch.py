#!/usr/bin/env python3
"""Makes watch-120.png and watch-40.png: what `uwf watch` shows, taken from a real terminal.

Usage: docs/pictures/watch.py [DIRECTORY OF THE PROGRAMS, default target/release]
Needs tmux and chromium. A scripted endpoint stands for the model.
"""
import html, os, pathlib, re, shutil, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
REPOSITORY = HERE.parent.parent
PROGRAMS = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else REPOSITORY / "target/release").resolve()
EXAMPLE = REPOSITORY / "examples/solve-issue"
PRICES = "prices: { gpt-5-mini: { input: 0.25, output: 2.0, cachedInput: 0.025 } }\n"
COLOURS = {"2": "#8b949e", "31": "#ff7b72", "32": "#7ee787", "33": "#d29922", "36": "#76e3ea"}


def script():
    """The example's script with tokens, and with commands that take a while."""
    text = (EXAMPLE / "mock.yaml").read_text()
    usage = "usage: { input_tokens: 9400, output_tokens: 420, cached_tokens: 6100 }"
    text = re.sub(r"^(    (?:    )?- )(tool_calls|content)", rf"\1{usage}\n          delay_ms: 700\n          \2", text, flags=re.M)
    slow = "command: 'sleep 6; sh test.sh', description: run the tests"
    return text.replace("{ command: sh test.sh }", "{ %s }" % slow)


def shown(pane):
    """What a terminal shows, as HTML."""
    text, colour = "", None
    for piece in re.split(r"(\x1b\[[0-9;]*m)", pane.rstrip("\n")):
        code = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if code:
            colour = COLOURS.get(code[1].split(";")[-1])
        elif piece:
            piece = html.escape(piece)
            text += f'<span style="color:{colour}">{piece}</span>' if colour else piece
    return text


def picture(pane, columns, rows, name, scratch):
    style = (
        "body{margin:0;background:#0d1117} pre{margin:0;padding:14px;color:#e6edf3;display:inline-block;"
        f"font:15px/20px 'DejaVu Sans Mono',monospace;width:{columns}ch}}"
    )
    page = scratch / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style><pre>{shown(pane)}</pre>")
    width, height = int(columns * 9.03) + 30, rows * 20 + 28
    subprocess.run(
        ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
         f"--user-data-dir={scratch}/chromium", f"--window-size={width},{height}", f"--screenshot={HERE / name}",
         page.as_uri()],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )


def main():
    scratch = pathlib.Path(tempfile.mkdtemp())
    home, work = scratch / "home", scratch / "work"
    shutil.copytree(EXAMPLE / "project", work)
    shutil.copy(EXAMPLE / "workflow.yaml", work / "solve-issue.yaml")
    (scratch / "mock.yaml").write_text(script())
    (home / ".uwf/agents").mkdir(parents=True)
    (home / ".uwf/agents/builtin.yaml").write_text(PRICES)
    env = {"HOME": str(home), "PATH": f"{PROGRAMS}:{os.environ['PATH']}", "LANG": "C.UTF-8", "TERM": "xterm-256color",
           "UWF_MODEL": "gpt-5-mini"}
    run = lambda *words: subprocess.run(words, env=env, cwd=work, check=True, capture_output=True, text=True).stdout
    tmux = lambda *words: run("tmux", "-L", f"watch-{scratch.name}", *words)
    server = subprocess.Popen(["uwf-builtin", "mock-server", str(scratch / "mock.yaml")], env=env, cwd=work,
                              stdout=subprocess.PIPE, text=True)
    try:
        env["UWF_BASE_URL"] = server.stdout.readline().strip()
        thread = run("uwf", "thread", "start", "solve-issue.yaml", "-p", "add.sh must add three numbers", "--format", "text").strip()
        run("uwf", "thread", "exec", thread, "--until-end", "--background", "--sandbox", "best-effort")
        for columns in (120, 40):
            tmux("new-session", "-d", "-s", str(columns), "-x", str(columns), "-y", "24", f"uwf watch {thread}; sleep 60")
        deadline = time.time() + 60
        # The second change is being tested: roles that have played twice, calls, a tool that runs, tokens and their cost.
        pane = ""
        while not ("● ×2" in pane and "● run the tests" in pane):
            assert time.time() < deadline, pane
            pane = tmux("capture-pane", "-p", "-t", "40")
            time.sleep(0.1)
        time.sleep(3)
        panes = {columns: tmux("capture-pane", "-p", "-e", "-t", str(columns)).rstrip("\n") for columns in (120, 40)}
        for columns, pane in panes.items():
            picture(pane, columns, pane.count("\n") + 1, f"watch-{columns}.png", scratch)
        run("uwf", "wait", thread)
    finally:
        subprocess.run(["tmux", "-L", f"watch-{scratch.name}", "kill-server"], env=env, stderr=subprocess.DEVNULL)
        server.kill()
        shutil.rmtree(scratch, ignore_errors=True)


main()
