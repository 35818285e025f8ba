#!/usr/bin/env python3
"""verdict.py DIRECTORY THREAD: 1 if verdict.md names a winner and what each side had to say, else 0."""

import json
import sys
from pathlib import Path

try:
    lines = (Path(sys.argv[1]) / "verdict.md").read_text().strip().splitlines()
except (OSError, UnicodeDecodeError):
    lines = []
first, body = (lines[0].strip() if lines else ""), " ".join(lines[1:]).lower()
checks = {
    "there is a verdict": bool(lines),
    "its first line names the winner": first in ("winner: tabs", "winner: spaces"),
    "it says something of tabs": "tab" in body,
    "it says something of spaces": "space" in body,
    "it has from 20 to 200 words": 20 <= len(body.split()) <= 200,
}
failed = [name for name, holds in checks.items() if not holds]
print(json.dumps({"score": 0 if failed else 1, "data": {"passed": len(checks) - len(failed), "failed": failed}}))
