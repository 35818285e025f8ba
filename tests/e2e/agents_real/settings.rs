//! Where each agent is installed, and what it is told so that its model is a loopback endpoint and it reaches nothing else.

use std::path::PathBuf;

use super::directory;
use crate::site::Site;

/// An agent of `tests/agents`. In its texts `PORT` is the port of the endpoint.
pub(super) struct Installed {
    /// The name of its definition.
    pub(super) name: &'static str,
    /// Its program, below `node_modules`.
    program: &'static str,
    /// Whether it can make a copy of a session.
    pub(super) forks: bool,
    environment: &'static [(&'static str, &'static str)],
    /// Files of its own, below HOME.
    files: &'static [(&'static str, &'static str)],
}

/// It would try a request that was refused for minutes.
pub(super) const CLAUDE_CODE: Installed = Installed {
    name: "claude-code",
    program: ".bin/claude",
    forks: true,
    environment: &[
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:PORT"),
        ("ANTHROPIC_API_KEY", "local"),
        ("CLAUDE_CODE_MAX_RETRIES", "1"),
    ],
    files: &[],
};

/// It would send figures for five seconds at its end, and fetch a list of plugins.
pub(super) const CODEX: Installed = Installed {
    name: "codex",
    program: ".bin/codex",
    forks: true,
    environment: &[("LOCAL_KEY", "local")],
    files: &[(
        ".codex/config.toml",
        r#"
model = "gpt-5-codex"
model_provider = "local"

[model_providers.local]
name = "local"
base_url = "http://127.0.0.1:PORT/v1"
env_key = "LOCAL_KEY"
wire_api = "responses"

[analytics]
enabled = false

[features]
plugins = false
apps = false
"#,
    )],
};

/// Without a model it asks another one which model to ask.
pub(super) const GEMINI: Installed = Installed {
    name: "gemini",
    program: ".bin/gemini",
    forks: false,
    environment: &[
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:PORT"),
        ("GEMINI_API_KEY", "local"),
        ("GEMINI_MODEL", "gemini-2.5-flash"),
    ],
    files: &[(
        ".gemini/settings.json",
        r#"{ "security": { "auth": { "selectedType": "gemini-api-key" } }, "general": { "enableAutoUpdate": false },
  "privacy": { "usageStatisticsEnabled": false }, "telemetry": { "enabled": false } }"#,
    )],
};

/// It would look for a package to install beside its settings.
pub(super) const OPENCODE: Installed = Installed {
    name: "opencode",
    program: "opencode-linux-x64/bin/opencode",
    forks: true,
    environment: &[
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("npm_config_registry", "http://127.0.0.1:PORT/"),
    ],
    files: &[(
        ".config/opencode/opencode.json",
        r#"{ "model": "local/gpt-5-mini", "small_model": "local/gpt-5-mini", "autoupdate": false, "share": "disabled",
  "provider": { "local": { "npm": "@ai-sdk/openai-compatible", "models": { "gpt-5-mini": {} },
    "options": { "baseURL": "http://127.0.0.1:PORT/v1", "apiKey": "local" } } } }"#,
    )],
};

pub(super) const PI: Installed = Installed {
    name: "pi",
    program: ".bin/pi",
    forks: true,
    environment: &[("PI_OFFLINE", "1")],
    files: &[
        (".pi/agent/settings.json", r#"{ "defaultProvider": "local", "defaultModel": "gpt-5-mini" }"#),
        (
            ".pi/agent/models.json",
            r#"{ "providers": { "local": { "baseUrl": "http://127.0.0.1:PORT/v1", "api": "openai-completions", "apiKey": "local",
  "models": [{ "id": "gpt-5-mini", "name": "gpt-5-mini", "reasoning": false, "input": ["text"], "contextWindow": 100000,
    "maxTokens": 8000, "cost": { "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0 } }] } } }"#,
        ),
    ],
};

impl Installed {
    /// Where its program is, or would be.
    pub(super) fn program(&self) -> PathBuf {
        directory().join("node_modules").join(self.program)
    }

    /// Its variables.
    pub(super) fn environment(&self, port: u16) -> impl Iterator<Item = (&'static str, String)> {
        self.environment.iter().map(move |(name, value)| (*name, at(value, port)))
    }

    /// Writes the files that it looks for.
    pub(super) fn configure(&self, site: &Site, port: u16) {
        for (path, text) in self.files {
            site.write(&format!("home/{path}"), &at(text, port));
        }
    }
}

fn at(text: &str, port: u16) -> String {
    text.replace("PORT", &port.to_string())
}
