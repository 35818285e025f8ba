#!/usr/bin/env python3
"""both-sides.py DIRECTORY THREAD: how evenly a verdict speaks of both sides, from 0 to 1."""

import json
import re
import sys
from pathlib import Path

try:
    text = (Path(sys.argv[1]) / "verdict.md").read_text().lower()
except (OSError, UnicodeDecodeError):
    text = ""
body = text.partition("\n")[2]
tabs, spaces = len(re.findall(r"\btabs?\b", body)), len(re.findall(r"\bspaces?\b", body))
score = min(tabs, spaces) / max(tabs, spaces) if min(tabs, spaces) else 0
print(json.dumps({"score": score, "data": {"tabs": tabs, "spaces": spaces}}))
