#!/usr/bin/env python3
"""Cuts models.tsv, the catalogue of models, out of two published packages.

    python3 engine/src/catalogue/update.py RIG PI

RIG is the unpacked crate rig-core: its src/catalog/models.json is where the models, limits and prices come from, and
its src/catalog/generated_at is the date of the catalogue. PI is the unpacked npm package @earendil-works/pi-ai: its
dist/providers/data/*.json are the check, say which wire a model is asked over, and are the only source for the
providers that rig-core does not have. Both are MIT: see NOTICE beside this file, and keep it current.

To refresh: take the newest release of each (`cargo add rig-core` and `cargo vendor`, or `cargo fetch`, in a scratch
project; `npm pack @earendil-works/pi-ai`), run this, read the disagreements that it prints, run the tests of uwf-engine,
and commit the file. The same input gives the same bytes. Nothing is fetched here.

What is left out: models without text output alone, without tool calling or without a known window, and those that
rig-core calls deprecated and pi-ai no longer has. Where the two disagree about a price, the dearer counts: a limit on
cost may stop a run early, but not late.

The columns: id, window, input limit where it is less, output limit, prices, effort levels, flags, wire, field to echo.
Prices are USD per million tokens, `input/output/cached/written`, then `;ABOVE:` and the same for prompts of more
tokens. Flags: r it reasons, t it takes a temperature, a it thinks adaptively, b it takes a budget of thinking tokens,
d it is deprecated.
"""

import json
import sys
from pathlib import Path

# Ours, rig-core's, pi-ai's, and the wire of what pi-ai does not know. Makers come before those who serve what others
# have made: `find_any` takes the first.
PROVIDERS = [
    ("openai", "openai", "openai", "responses"),
    ("anthropic", "anthropic", "anthropic", "messages"),
    ("google", "gcp.gemini", "google", "chat"),
    ("deepseek", "deepseek", "deepseek", "chat"),
    ("moonshot", "moonshot", "moonshotai", "chat"),
    ("zai", "zai", "zai", "chat"),
    ("minimax", "minimax", "minimax", "messages"),
    ("qwen", None, "qwen-token-plan", "chat"),
    ("xai", "xai", "xai", "responses"),
    ("mistral", "mistral", "mistral", "chat"),
    ("azure", "azure.openai", "azure", None),
    ("openrouter", "openrouter", "openrouter", "chat"),
    ("groq", "groq", "groq", "chat"),
    ("cerebras", None, "cerebras", "chat"),
    ("fireworks", None, "fireworks", "chat"),
    ("together", "together", "together", "chat"),
]

# What pi-ai calls the wires. Google and Mistral are asked over their chat endpoints here.
WIRES = {
    "openai-responses": "responses",
    "azure-openai-responses": "responses",
    "openai-completions": "chat",
    "mistral-conversations": "chat",
    "google-generative-ai": "chat",
    "anthropic-messages": "messages",
}

EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]


def number(value):
    """The shortest text of a price; nothing for none."""
    return "" if value is None else f"{value:.9f}".rstrip("0").rstrip(".")


def rates(cost, names):
    """`input/output/cached/written`; a rate of nothing beside one of something is not known."""
    values = [cost.get(name) for name in names]
    free = not values[0] and not values[1]
    values[2:] = [value if value or free else None for value in values[2:]]
    return "/".join(number(value) for value in values).rstrip("/") if not free else "0/0"


def rig_prices(model):
    cost = model.get("cost")
    if not cost:
        return ""
    names = ["input", "output", "cache_read", "cache_write"]
    tiers = [tier for tier in cost.get("tiers") or [] if tier["tier"]["type"] == "context"]
    tiers = sorted((tier["tier"]["size"], rates(tier, names)) for tier in tiers)
    return ";".join([rates(cost, names)] + [f"{above}:{prices}" for above, prices in tiers])


def dearer(rig, pi):
    """The prices to go by."""
    mine, theirs = rig.get("cost"), (pi or {}).get("cost")
    if mine and theirs and theirs["input"] + theirs["output"] > mine["input"] + mine["output"]:
        return pi_prices(pi)
    return rig_prices(rig)


def pi_prices(model):
    names = ["input", "output", "cacheRead", "cacheWrite"]
    cost = model["cost"]
    tiers = sorted((tier["inputTokensAbove"], rates(tier, names)) for tier in cost.get("tiers") or [])
    return ";".join([rates(cost, names)] + [f"{above}:{prices}" for above, prices in tiers])


def ordered(efforts):
    known = [effort for effort in EFFORTS if effort in efforts]
    return known + sorted(set(efforts) - set(known))


def always_thinks(rig, pi):
    """Whether reasoning cannot be switched off while there are tools, as one of the two says."""
    hints = rig.get("rig") or {}
    levels = pi and pi.get("thinkingLevelMap")
    return "thinking_off" in hints or bool(levels and levels.get("off", "on") is None)


def rig_efforts(rig, pi):
    efforts = []
    for option in rig.get("reasoning_options") or []:
        efforts += [value for value in option.get("values") or [] if value]
        efforts += ["none"] if option["type"] == "toggle" else []
    return [effort for effort in ordered(efforts) if effort != "none" or not always_thinks(rig, pi)]


def pi_efforts(pi):
    if not pi["reasoning"]:
        return []
    levels = pi.get("thinkingLevelMap") or {}
    named = ["none" if level == "off" else level for level, value in levels.items() if value]
    # What the map leaves out is as usual.
    usual = ["low", "medium", "high"] if levels else []
    named += [level for level in usual if level not in levels]
    return ordered(named + ([] if "off" in levels else ["none"]))


def letters(facts):
    return "".join(letter for letter, is_so in facts if is_so)


def from_rig(rig, pi, wire):
    """The columns of a model, but for its name."""
    hints, compat = rig.get("rig") or {}, (pi or {}).get("compat") or {}
    kinds = [option["type"] for option in rig.get("reasoning_options") or []]
    limit = rig["limit"]
    echo = hints.get("reasoning_field")
    if isinstance(rig.get("interleaved"), dict):
        echo = rig["interleaved"].get("field") or echo
    if compat.get("requiresReasoningContentOnAssistantMessages"):
        echo = "reasoning_content"
    flags = letters([
        ("r", rig.get("reasoning")),
        ("t", rig.get("temperature") is not False and not hints.get("sampling")
         and compat.get("supportsTemperature") is not False),
        ("a", hints.get("adaptive_thinking") or compat.get("forceAdaptiveThinking")),
        ("b", "budget_tokens" in kinds),
        ("d", rig.get("status") == "deprecated"),
    ])
    return [
        str(limit["context"]),
        str(limit["input"]) if 0 < limit.get("input", 0) < limit["context"] else "",
        str(min(limit.get("output") or limit["context"], limit["context"])),
        dearer(rig, pi), ",".join(rig_efforts(rig, pi)), flags, (WIRES[pi["api"]] if pi else wire) or "", echo or "",
    ]


def from_pi(pi):
    compat = pi.get("compat") or {}
    echo = "reasoning_content" if compat.get("requiresReasoningContentOnAssistantMessages") else ""
    wire, adaptive = WIRES[pi["api"]], compat.get("forceAdaptiveThinking")
    refused = compat.get("supportsTemperature") is False or adaptive or (pi["reasoning"] and wire == "responses")
    flags = letters([("r", pi["reasoning"]), ("t", not refused), ("a", adaptive)])
    # Nothing is the price of what is paid by the month, or as another model is; what is free says so.
    is_priced = pi["cost"]["input"] or pi["cost"]["output"] or pi["id"].endswith(":free")
    prices = pi_prices(pi) if is_priced else ""
    output = min(pi["maxTokens"], pi["contextWindow"])
    return [str(pi["contextWindow"]), "", str(output), prices, ",".join(pi_efforts(pi)), flags, wire, echo]


def fits(rig):
    output = (rig.get("modalities") or {}).get("output", ["text"])
    return rig.get("tool_call") and output == ["text"] and (rig.get("limit") or {}).get("context")


def pi_models(folder, name):
    wires = json.loads((folder / f"dist/providers/data/{name}.json").read_text())
    return {model["id"]: model for models in wires.values() for model in models.values() if model.get("type") == "chat"}


def disagreements(name, model, rig, pi):
    """What the two sources say differently."""
    said = []
    if rig_prices(rig) != pi_prices(pi):
        said.append(f"prices {rig_prices(rig) or '-'} | {pi_prices(pi)}")
    limit = rig["limit"]
    if pi["contextWindow"] not in (limit["context"], limit.get("input")):
        said.append(f"window {limit['context']} | {pi['contextWindow']}")
    if always_thinks(rig, pi) and "none" in rig_efforts(rig, None):
        said.append("reasoning can be off | it cannot: taken as it cannot")
    if rig.get("temperature") is not False and (pi.get("compat") or {}).get("supportsTemperature") is False:
        said.append("temperature | none: taken as none")
    return [f"{name}/{model}: {what}" for what in said]


def section(ours, rig_models, pi, wire):
    """The rows of one provider, the newest first, and what the sources disagree about."""
    if rig_models is None:
        mine = {model: facts for model, facts in pi.items() if ours != "qwen" or model.startswith("qwen")}
        # Later names are later models, roughly.
        return [[model] + from_pi(mine[model]) for model in sorted(mine, reverse=True)], []
    rows, told = [], []
    for model, rig in rig_models.items():
        if not fits(rig) or (rig.get("status") == "deprecated" and model not in pi):
            continue
        rows.append((rig.get("release_date") or "", [model] + from_rig(rig, pi.get(model), wire)))
        told += disagreements(ours, model, rig, pi[model]) if model in pi else []
    rows.sort(key=lambda row: row[1][0])
    rows.sort(key=lambda row: row[0], reverse=True)
    alone = [model for model in sorted(pi) if model not in rig_models and not model.endswith(":batch")]
    told += [f"{ours}/{model}: in pi-ai alone" for model in alone]
    return [row for _, row in rows] + [[model] + from_pi(pi[model]) for model in alone], told


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rig_folder, pi_folder = Path(sys.argv[1]), Path(sys.argv[2])
    catalog = rig_folder / "src/catalog"
    rig = json.loads((catalog / "models.json").read_text())
    lines = [f"date\t{(catalog / 'generated_at').read_text().strip()[:10]}"]
    told = []
    for ours, theirs, pis, wire in PROVIDERS:
        rows, differences = section(ours, theirs and rig[theirs]["models"], pi_models(pi_folder, pis), wire)
        told += differences
        lines.append(f"provider\t{ours}")
        lines += ["\t".join(row).rstrip("\t") for row in rows]
    file = Path(__file__).parent / "models.tsv"
    file.write_text("\n".join(lines) + "\n")
    print("\n".join(told))
    models = sum(1 for line in lines if not line.startswith(("date\t", "provider\t")))
    print(f"{models} models, {file.stat().st_size} bytes, {len(told)} disagreements")


if __name__ == "__main__":
    main()
