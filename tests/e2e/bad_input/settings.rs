//! `config.yaml`, `.env`, `agents/builtin.yaml`, variables of the environment, `setup` and `config`.

use super::{Case, agent, uwf};

const RUN: &[&str] = &["run", "one.yaml", "--role", "a", "-p", "x"];
const EXEC: &[&str] = &["thread", "exec", "{idle}"];
const SHOW: &[&str] = &["config", "list"];

pub(super) fn cases() -> Vec<Case> {
    let mut cases = config();
    cases.extend(builtin());
    cases.extend(environment());
    cases.extend(commands());
    cases.extend(setup());
    cases
}

fn config() -> Vec<Case> {
    let bad = |text, says| uwf(SHOW, 1, says).file("home/.uwf/config.yaml", text);
    let exec = |text, says| uwf(EXEC, 1, says).file("home/.uwf/config.yaml", text);
    vec![
        bad("agents: [\n", &["config.yaml:2"]),
        bad("just words\n", &["config.yaml:1:1", "object"]),
        bad("agents: 5\n", &["config.yaml:1:9", "`agents`"]),
        bad("a: 1\na: 2\n", &["config.yaml:2:1"]),
        bad("providers: { p: { apiKey: [sk-bad-4e1d9c] } }\n", &["config.yaml:1", "providers.p"]),
        bad("providers: { p: { baseUrl: '' } }\n", &["config.yaml:1", "providers.p.baseUrl"]),
        bad("models: { m: { name: x } }\n", &["config.yaml:1", "`provider` is missing"]),
        bad("agents: { a: { command: x, args: -v } }\n", &["config.yaml:1", "agents.a.args"]),
        bad(
            "agents: { a: { command: x, protocol: other } }\n",
            &["config.yaml:1:38", "`agents.a.protocol`", "expected one of flags, positional"],
        ),
        exec("agents: { a: { command: x, protocol: positionl } }\n", &["did you mean positional?"]),
        exec("agents: { a: { command: x, protocol: [flags] } }\n", &["`agents.a.protocol`", "an array"]),
        exec("agents: { a: {} }\n", &["config.yaml:1", "`command` is missing"]),
        exec("defaultAgent: ghost\n", &["no such agent: `ghost`", "defaultAgent", "uwf-builtin"]),
        exec("agentOverrides: { one: { a: ghost } }\n", &["`ghost`", "agentOverrides.one.a"]),
        exec("agents: { a: { command: ./none } }\ndefaultAgent: a\n", &["none", "cannot start"]),
        agent(RUN, 1, &["config.yaml:1:9"]).file("home/.uwf/config.yaml", "models: 5\n"),
        agent(RUN, 1, &["no model is configured", "uwf setup"])
            .file("home/.uwf/config.yaml", "models: { m: { provider: p, name: x } }\n"),
        agent(RUN, 1, &["defaultModel: there is no model m, or it has no provider", "hint: "])
            .file("home/.uwf/config.yaml", "models: { m: { provider: ghost, name: x } }\ndefaultModel: m\n"),
        agent(RUN, 1, &["NOT_SET_HERE"]).file(
            "home/.uwf/config.yaml",
            "providers: { p: { baseUrl: 'http://h/v1', apiKeyEnv: NOT_SET_HERE } }\nmodels: { m: { provider: p, name: x } }\ndefaultModel: m\n",
        ),
    ]
}

fn builtin() -> Vec<Case> {
    let bad = |text, says| agent(RUN, 1, says).file("home/.uwf/agents/builtin.yaml", text);
    vec![
        bad("provider: [\n", &["builtin.yaml:2"]),
        bad("provider: { apiKey: sk-bad-4e1d9c }\n", &["builtin.yaml:1", "baseUrl"]),
        bad("provider: { baseUrl: nonsense, apiKey: sk-bad-4e1d9c }\nmodel: m\n", &["base URL"]),
        bad("provider: { baseUrl: 'http://h/v1' }\n", &["no model is configured"]),
        bad("budget: { turns: many }\n", &["builtin.yaml:1", "budget.turns"]),
        bad("budget: { turns: -1 }\n", &["builtin.yaml:1", "budget.turns"]),
        bad("sandbox: { level: maybe }\n", &["builtin.yaml:1", "sandbox.level"]),
        bad("sandbox: { netwrk: true }\n", &["builtin.yaml:1", "sandbox.netwrk", "did you mean `network`?"]),
        bad("budget: { usdd: 1 }\n", &["builtin.yaml:1:11", "budget.usdd", "did you mean `usd`?"]),
        bad("budgett: { usd: 1 }\n", &["builtin.yaml:1:1", "budgett", "did you mean `budget`?"]),
        bad("sandbox: { writable: /tmp }\n", &["builtin.yaml:1", "sandbox.writable"]),
        agent(
            &["run", "one.yaml", "--role", "a", "-p", "x", "--mock", "{mock}"],
            1,
            &["builtin.yaml", "no role 'b'", "it has a"],
        )
        .file("home/.uwf/agents/builtin.yaml", "roles: { one/b: { readOnly: true } }\n"),
        agent(
            &["run", "one.yaml", "--role", "a", "-p", "x", "--mock", "{mock}"],
            1,
            &["builtin.yaml", "red_file"],
        )
        .file("home/.uwf/agents/builtin.yaml", "roles: { one/a: { tools: [red_file] } }\n"),
    ]
}

fn environment() -> Vec<Case> {
    let list: &[&str] = &["thread", "list"];
    vec![
        uwf(list, 1, &["one.yaml"]).env("OCAS_HOME", "one.yaml"),
        uwf(EXEC, 1, &["one.yaml"]).env("UWF_HOME", "one.yaml"),
        uwf(list, 1, &["UWF_HOME", "HOME"]).env("HOME", ""),
        uwf(list, 1, &["/proc"]).env("OCAS_HOME", "/proc/none"),
        uwf(EXEC, 1, &[".env:2"]).file("home/.uwf/.env", "A=1\nsk-bad-4e1d9c is no pair\n"),
        agent(RUN, 1, &[".env:1"]).file("home/.uwf/.env", "sk-bad-4e1d9c\n"),
        agent(RUN, 1, &["base URL"]).env("UWF_BASE_URL", "nonsense").env("UWF_MODEL", "m"),
        agent(RUN, 1, &["base URL", "http"]).env("UWF_BASE_URL", "ftp://h/v1").env("UWF_MODEL", "m"),
        agent(RUN, 1, &["base URL", "UWF_API_KEY"])
            .env("UWF_BASE_URL", "http://me:sk-bad-4e1d9c@h/v1")
            .env("UWF_MODEL", "m"),
        agent(RUN, 1, &["no model is configured"]).env("UWF_BASE_URL", "http://h/v1"),
        agent(RUN, 1, &["no model is configured"]).env("UWF_MODEL", "m"),
        agent(RUN, 1, &["no model is configured"]).env("UWF_API_KEY", "sk-bad-4e1d9c"),
        agent(RUN, 1, &["API key"])
            .env("UWF_BASE_URL", "http://127.0.0.1:9/v1")
            .env("UWF_MODEL", "m")
            .env("UWF_API_KEY", "sk-bad-4e1d9c\u{1}"),
    ]
}

fn commands() -> Vec<Case> {
    let file = "home/.uwf/config.yaml";
    vec![
        uwf(&["config", "get", "nope"], 1, &["`nope`", "config.yaml"]),
        uwf(&["config", "get", "defaultAgnt"], 1, &["`defaultAgnt`", "defaultAgent"])
            .file(file, "defaultAgent: a\n"),
        uwf(&["config", "get", ""], 1, &["``"]),
        uwf(&["config", "set", "a..b", "1"], 1, &["`a..b` is not a key"]),
        uwf(&["config", "set", "agents.a.protocol", "named"], 1, &["expected one of flags, positional"])
            .file(file, "agents: { a: { command: x } }\n"),
        uwf(&["config", "set", "agents", "5"], 1, &["`agents`", "object"]),
        uwf(&["config", "set", "agents.a.args", "[x]"], 1, &["`command` is missing"]),
        uwf(&["config", "set", "defaultAgent", "[]"], 1, &["`defaultAgent`"]),
        uwf(&["config", "set", "models.m.provider", "p"], 1, &["`name` is missing"]),
        uwf(&["config", "set", "providers.p.apiKey", "sk-bad-4e1d9c"], 1, &["`baseUrl` is missing"]),
        uwf(&["config", "set", "defaultAgent"], 2, &["<VALUE>"]),
        uwf(&["config", "sett", "a", "1"], 2, &["sett", "set"]),
        uwf(&["config", "set", "defaultAgent", "x"], 1, &["config.yaml:1"]).file(file, "agents: 5\n"),
    ]
}

fn setup() -> Vec<Case> {
    vec![
        uwf(&["setup"], 2, &["--provider and --model must be given", "uwf setup --provider"]),
        uwf(&["setup", "--provider", "openai"], 2, &["--model must be given"]),
        uwf(&["setup", "--provider", "opnai", "--model", "m"], 1, &["no such provider: opnai", "openai"]),
        uwf(&["setup", "--provider", "", "--model", "m"], 1, &["provider"]),
        uwf(&["setup", "--provider", "openai", "--model", ""], 1, &["model's name is empty"]),
        uwf(
            &["setup", "--provider", "p", "--model", "m", "--base-url", "h/v1"],
            1,
            &["base URL", "https://"],
        ),
        uwf(
            &["setup", "--provider", "p", "--model", "m", "--base-url", "http://u:sk-bad-4e1d9c@h"],
            1,
            &["base URL"],
        ),
        uwf(
            &["setup", "--provider", "openai", "--model", "m", "--api-key-env", "sk-bad-4e1d9c"],
            1,
            &["variable"],
        ),
        uwf(
            &["setup", "--provider", "openai", "--model", "m", "--api-key", "sk-bad-4e1d9c"],
            2,
            &["--api-key", "--api-key-env"],
        ),
        uwf(
            &["setup", "--provider", "openai", "--model", "m", "--api-key-file", "none"],
            1,
            &["cannot read none"],
        ),
        uwf(
            &["setup", "--provider", "openai", "--model", "m", "--api-key-file", "k"],
            1,
            &["k holds no key"],
        )
        .file("work/k", "sk-bad-4e1d9c\nand more\n"),
        uwf(&["setup", "--provider", "openai", "--model", "m"], 1, &["config.yaml:1"])
            .file("home/.uwf/config.yaml", "models: 5\n"),
    ]
}
