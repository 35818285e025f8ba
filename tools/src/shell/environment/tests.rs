use std::collections::BTreeSet;

use super::*;

type Variables = Vec<(OsString, OsString)>;

fn variables(given: &[(&str, &str)]) -> Variables {
    given.iter().map(|(name, value)| (name.into(), value.into())).collect()
}

fn texts(given: &[&str]) -> Vec<String> {
    given.iter().map(|text| (*text).to_owned()).collect()
}

/// The lines of a table of variables: `NAME`, or `NAME=value`.
fn table(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once('=').unwrap_or((line, "hunter2")))
}

fn secret() -> Vec<(&'static str, &'static str)> {
    table(include_str!("secret.txt")).collect()
}

fn harmless() -> Vec<(&'static str, &'static str)> {
    table(include_str!("harmless.txt")).collect()
}

/// Of what is inherited, what is passed on.
fn passed(inherited: &Variables, named: &[&str], hidden: &[&str]) -> Vec<String> {
    let mut env = scrubbed(inherited, &texts(named), &texts(hidden));
    let quiet = env.split_off(env.len() - QUIET.len());
    assert!(QUIET.iter().zip(&quiet).all(|((name, set), (quiet, value))| quiet == name && value == set));
    env.iter().map(|(name, _)| name.to_string_lossy().into_owned()).collect()
}

#[test]
fn no_variable_that_is_known_to_hold_a_secret_is_passed_on() {
    let table = secret();
    assert!(table.len() >= 150, "{}", table.len());
    let through: Vec<_> =
        table.iter().filter(|variable| !passed(&variables(&[**variable]), &[], &[]).is_empty()).collect();
    assert!(through.is_empty(), "{} of {} pass: {through:?}", through.len(), table.len());
}

#[test]
fn what_programs_commonly_need_is_passed_on() {
    let table = harmless();
    assert!(table.len() >= 60, "{}", table.len());
    let expected: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    assert_eq!(passed(&variables(&table), &[], &[]), expected);
}

#[test]
fn no_name_is_listed_twice_and_each_is_one() {
    let all: Vec<&str> = listed(ALLOWED).collect();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    let is_name = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let wrong: Vec<_> = all.iter().filter(|name| !is_name(name.strip_suffix('*').unwrap_or(name))).collect();
    assert!(wrong.is_empty() && !all.contains(&"*"), "{wrong:?}");
}

#[test]
fn what_the_settings_name_is_passed_whatever_it_holds_but_the_provider_s_key() {
    let inherited = variables(&[
        ("DATABASE_URL", "postgres://me:hunter3@db:5432/x"),
        ("https_proxy", "http://me:hunter3@proxy:3128"),
        ("MY_SERVICE_TOKEN", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"),
        ("MY_SERVICE_URL", "prefix:the-key:suffix"),
        ("MY_OTHER", "x"),
        ("DATABASE_URL_2", "x"),
        ("LANG", "the-key"),
    ]);
    let named = ["DATABASE_URL", "https_proxy", "MY_SERVICE_*"];
    assert_eq!(
        passed(&inherited, &named, &["the-key", ""]),
        ["DATABASE_URL", "https_proxy", "MY_SERVICE_TOKEN"]
    );
    assert_eq!(passed(&inherited, &[], &["the-key"]), [""; 0]);
}

#[test]
fn quiet_variables_replace_inherited_ones_even_named_ones() {
    let inherited =
        variables(&[("PAGER", "less"), ("TERM", "xterm"), ("PWD", "/agent"), ("TMPDIR", "/agent")]);
    assert_eq!(passed(&inherited, &["PAGER", "PWD", "T*"], &[]), [""; 0]);
    let env = scrubbed(&inherited, &[], &[]);
    assert_eq!(value(&env, "PAGER"), Some(OsStr::new("cat")));
    assert_eq!(env.iter().filter(|(name, _)| name == "PAGER").count(), 1);
}

#[test]
fn a_survey_counts_and_names_what_a_build_may_want() {
    let inherited = variables(&[
        ("PATH", "/bin"),
        ("PWD", "/agent"),
        ("TERM", "xterm"),
        ("NAMED", "x"),
        ("FROB_HOME", "/opt/frob"),
        ("FROBFLAGS", "-x"),
        ("frob_sdk", "/opt/frob"),
        ("https_proxy", "http://me:hunter3@proxy:3128"),
        ("FROB_TOKEN", "x"),
        ("FROB_PATH", "the-key"),
        ("UWF_HOME", "/home/me/.uwf"),
    ]);
    let survey = survey_environment(&inherited, &texts(&["NAMED"]), &texts(&["the-key"]));
    assert_eq!((survey.seen, survey.withheld), (2, 7));
    assert_eq!(survey.wanted, ["FROB_HOME", "frob_sdk", "https_proxy"]);
}

#[test]
fn no_name_of_a_secret_sounds_like_a_build_s() {
    let is_unlisted = |(name, value): &(&str, &str)| {
        disposition((OsStr::new(name), OsStr::new(value)), &[], &[]) == Disposition::Unlisted
    };
    let names = secret().into_iter().filter(is_unlisted).map(|(name, _)| name);
    let wanted: Vec<_> = names.filter(|name| sounds_like_a_build_s(name)).collect();
    assert!(wanted.is_empty(), "{wanted:?}");
}
