#!/usr/bin/env python3
"""test-pass.py DIRECTORY THREAD: 1 if the glossary is sorted, its links lead somewhere, and its words are what they were; else 0."""

import json
import re
import sys
from pathlib import Path

NAMES = ["attempt", "Head", "journal", "record", "Turn", "Visit"]


def sections(text):
    """The title and the words of each section; of a link its words alone."""
    parts = re.split(r"^## +(.+?) *$", text, flags=re.M)
    words = [" ".join(re.sub(r"\]\([^)]*\)", "]", part).split()) for part in parts[2::2]]
    return list(zip(parts[1::2], words))


fixture = Path(__file__).resolve().parent.parent / "fixture" / "glossary.md"
before = dict(sections(fixture.read_text()))
try:
    text = (Path(sys.argv[1]) / "glossary.md").read_text()
except OSError:
    text = ""
found = sections(text)
checks = {
    "the terms are sorted": [name for name, _ in found] == NAMES,
    "each term is there once": sorted(name for name, _ in found) == sorted(NAMES),
    "no definition is changed": all(words == before.get(name) for name, words in found),
    "every link leads to a term": set(re.findall(r"\]\(#([^)]*)\)", text)) <= {name.lower() for name in NAMES},
    "there are as many links": len(re.findall(r"\]\(#", text)) == 4,
}
failed = [name for name, holds in checks.items() if not holds]
print(json.dumps({"score": 0 if failed else 1, "data": {"passed": len(checks) - len(failed), "failed": failed}}))
