//! The places of `secret_places.txt`, with a secret in each: no command learns one, however it looks.

use std::fs;
use std::path::PathBuf;

use super::field::{Field, SECRET, by_everybody, command};

const PLACES: &str = include_str!("secret_places.txt");

/// Every way to read all there is. The first lists, so that a name that is open is told.
const LOOKS: &[(&str, &str)] = &[
    ("grep", "grep -rlsa innermost ~ {seen}; cat paths | tr '\\n' '\\0' | xargs -0 grep -lsa innermost"),
    ("cat", "tr '\\n' '\\0' < paths | xargs -0 cat 2>/dev/null | grep -a innermost"),
    ("find", "find ~ -type f -exec cat {} + 2>/dev/null | grep -a innermost"),
    ("tar", "tar cf - -T paths 2>/dev/null | grep -a innermost"),
    ("cp", "cp -r ~ copy 2>/dev/null; grep -ra innermost copy"),
    (
        "python",
        "python3 -c 'for p in open(\"paths\"):\n try: print(open(p[:-1], errors=\"replace\").read())\n except OSError: pass' | grep -a innermost",
    ),
    (
        "links",
        "mkdir l; n=0; while read -r p; do n=$((n+1)); ln -s \"$p\" l/$n; done < paths; cat l/* 2>/dev/null | grep -a innermost",
    ),
    (
        "write",
        "tr '\\n' '\\0' < paths | xargs -0 -n 1 sh -c 'test -s \"$0\" && : >> \"$0\" && echo \"open: $0\"' | grep -a open: | grep -v ' /proc/\\| /sys/\\| /dev/'",
    ),
];

/// The places below a home, as files: in a directory, one is made.
fn of_the_home() -> impl Iterator<Item = String> {
    let lines = PLACES.lines().filter_map(|line| line.strip_prefix("~/"));
    lines.map(|place| if place.ends_with('/') { format!("{place}secret") } else { place.to_owned() })
}

/// The places of the machine that are there: none is made.
fn of_the_machine() -> impl Iterator<Item = PathBuf> {
    PLACES.lines().filter(|line| line.starts_with('/')).map(PathBuf::from).filter(|path| path.exists())
}

#[test]
fn no_place_of_secrets_is_open() {
    by_everybody(|who| {
        let field = Field::new(who);
        let homes: Vec<PathBuf> = of_the_home().map(|place| field.site.home().join(place)).collect();
        for place in &homes {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, format!("{SECRET}\n")).unwrap();
        }
        assert!(homes.len() > 700, "{}", homes.len());
        let list = homes.iter().cloned().chain(of_the_machine());
        let list: String = list.map(|path| format!("{}\n", path.display())).collect();
        field.site.write("work/paths", &list);
        let looks: Vec<_> = LOOKS.iter().map(|(name, text)| command(name, &field.fill(text))).collect();
        let answers = field.run(&looks, &[]);
        assert_eq!(answers.texts.len(), LOOKS.len());
        for (name, answer) in &answers.texts {
            assert!(!answer.succeeded(), "{name}, as {who:?}: {}", answer.text);
        }
        field.assert_kept_secret(&answers);
        for place in &homes {
            assert_eq!(fs::read_to_string(place).unwrap(), format!("{SECRET}\n"), "{}", place.display());
        }
    });
}

/// What is read by whoever runs the tests: otherwise nothing would have been learnt in any case.
#[test]
fn without_a_sandbox_all_of_them_are_read() {
    let field = Field::new(super::field::Who::Me);
    let homes: Vec<String> =
        of_the_home().map(|place| field.site.write(&format!("home/{place}"), SECRET)).collect();
    field.site.write("work/paths", &homes.iter().map(|path| format!("{path}\n")).collect::<String>());
    let count = "tr '\\n' '\\0' < paths | xargs -0 cat | grep -oa innermost | wc -l";
    let answers = field.run(&[command("count", count)], &["--sandbox", "off"]);
    let text = &answers.texts["count"].text;
    assert!(text.starts_with(&format!("{}\n", homes.len())), "{text}");
}
