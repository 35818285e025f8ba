#!/usr/bin/env python3
"""code-quality.py DIRECTORY THREAD: whether a change is small and keeps to the file that it is about, from 0 to 1."""

import difflib
import json
import sys
from pathlib import Path

FILE = "sizes.sh"
LINES = 8  # that a change of this kind takes, added and removed ones

fixture, workspace = Path(__file__).resolve().parent.parent / "fixture", Path(sys.argv[1])


def files(root):
    """The text of each file, but for what programs leave behind."""
    paths = (path for path in root.rglob("*") if path.is_file())
    names = {path.relative_to(root).as_posix(): path for path in paths}
    kept = {name: path for name, path in names.items() if "__pycache__" not in name and not name.startswith(".git/")}
    return {name: path.read_text(errors="replace") for name, path in kept.items()}


before, after = files(fixture), files(workspace)
changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
diff = list(difflib.ndiff(before[FILE].splitlines(), after.get(FILE, "").splitlines()))
lines = sum(line.startswith(("+ ", "- ")) for line in diff)
notes = [f"{name} is not what this is about" for name in changed if name != FILE]
if FILE not in changed:
    notes.append(f"{FILE} is as it was")
if lines > LINES:
    notes.append(f"{lines} lines are more than the {LINES} that it takes")
score = 0 if FILE not in changed else max(0, 1 - 0.25 * (len(changed) - 1)) * min(1, LINES / max(lines, 1))
print(json.dumps({"score": round(score, 3), "data": {"files": changed, "lines": lines, "notes": notes}}))
