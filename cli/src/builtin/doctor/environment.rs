//! How much of this environment commands see, for who wonders why a build does not find what it is told by a variable.
//!
//! Names at most: values may be keys.

use std::ffi::OsString;

use uwf_engine::Env;
use uwf_tools::{EnvironmentSurvey, survey_environment};

use uwf_agent::settings::Settings;

/// How many names people are shown.
const SHOWN: usize = 12;

/// The counts.
pub(super) fn survey(env: &Env, settings: Option<&Settings>) -> EnvironmentSurvey {
    let keys = settings.map(|settings| settings.secrets().values());
    let named = settings.map_or(&[][..], |settings| &settings.sandbox.env);
    let variables: Vec<(OsString, OsString)> =
        env.iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    survey_environment(&variables, named, &keys.unwrap_or_default())
}

/// The counts as a line for people.
pub(super) fn line(EnvironmentSurvey { seen, withheld, wanted }: &EnvironmentSurvey) -> String {
    let counts = format!("environment: commands see {seen} of these variables and not {withheld}");
    let Some(first) = wanted.first() else { return counts };
    let (shown, more) = wanted.split_at(wanted.len().min(SHOWN));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    let shown = shown.join(", ");
    format!(
        "{counts}; a build may want {shown}{more}: to pass one on, sandbox: {{ env: [{first}] }} in agents/builtin.yaml"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use uwf_agent::settings::Flags;

    #[test]
    fn people_read_names_and_how_to_pass_one_and_never_a_value() {
        let env: Env = [
            ("PATH", "/bin"),
            ("FROB_HOME", "/hush/1"),
            ("FROB_SDK", "/hush/2"),
            ("FROB_TOKEN", "hush"),
            ("MINE", "hush"),
            ("UWF_BASE_URL", "http://localhost/v1"),
            ("UWF_MODEL", "m"),
            ("UWF_API_KEY", "the-provider-key"),
            ("MY_KEY_AGAIN", "the-provider-key"),
        ]
        .into_iter()
        .collect();
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("agents")).unwrap();
        let file = home.path().join("agents/builtin.yaml");
        std::fs::write(file, "sandbox: { env: [MINE, MY_*] }\n").unwrap();
        let settings = Settings::load(Flags::default(), &env, home.path()).unwrap();
        let survey = survey(&env, Some(&settings));
        assert_eq!(
            line(&survey),
            "environment: commands see 2 of these variables and not 7; a build may want FROB_HOME, FROB_SDK: to pass \
             one on, sandbox: { env: [FROB_HOME] } in agents/builtin.yaml"
        );
        assert!(!format!("{survey:?}").contains("hush"), "{survey:?}");
        let few = line(&EnvironmentSurvey { seen: 3, withheld: 0, wanted: Vec::new() });
        assert_eq!(few, "environment: commands see 3 of these variables and not 0");
        let wanted = (1..=SHOWN + 2).map(|n| format!("FROB_{n}")).collect();
        let many = line(&EnvironmentSurvey { seen: 3, withheld: 30, wanted });
        assert!(many.contains(", FROB_12 and 2 more: to pass"), "{many}");
    }
}
