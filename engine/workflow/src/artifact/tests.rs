use super::*;

fn shown(text: &str) -> String {
    match DeclaredArtifact::parse(text) {
        Ok(DeclaredArtifact::Pointer(pointer)) => format!("pointer {:?}", pointer.keys),
        Ok(DeclaredArtifact::Files(glob)) => {
            let part = |part: &GlobPart| match part {
                GlobPart::Name(name) => name.clone(),
                GlobPart::Pattern(_) => "<pattern>".to_owned(),
                GlobPart::AnyDepth => "<any>".to_owned(),
            };
            let parts: Vec<String> = glob.parts.iter().map(part).collect();
            format!("{}files {}", if glob.optional { "optional " } else { "" }, parts.join("/"))
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_text_is_a_pointer_or_a_glob() {
    for (text, expected) in [
        ("/report", r#"pointer ["report"]"#),
        ("/figures/0/path", r#"pointer ["figures", "0", "path"]"#),
        ("/a~1b~0c", r#"pointer ["a/b~c"]"#),
        ("/a//b", r#"pointer ["a", "", "b"]"#),
        ("report.md", "files report.md"),
        ("./out//report.md", "files out/report.md"),
        ("figures/*.png", "files figures/<pattern>"),
        ("figures/**", "files figures/<any>"),
        ("**/*.md?", "optional files <any>/<pattern>"),
        ("log.txt?", "optional files log.txt"),
        ("~/x", "files ~/x"),
    ] {
        assert_eq!(shown(text), expected, "{text}");
    }
}

#[test]
fn what_is_neither_says_why() {
    for (text, expected) in [
        ("", "it is blank"),
        (" \n", "it is blank"),
        ("?", "it is blank"),
        ("/", "it points to the whole output, which names no file"),
        ("/a~2", "`~` in a JSON pointer is followed by `0` or `1`: `~0` stands for `~`, `~1` for `/`"),
        ("../x", "`..` leads out of the directory of the step"),
        ("a/../../x?", "`..` leads out of the directory of the step"),
        ("figures/", "it names a directory: `figures/**` are the files in it"),
        (".", "it names a directory: `**` are the files in it"),
        ("a[", "it is no glob: unclosed character class; missing ']'"),
        ("{a,b", "it is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("{a,b/c}", "it is no glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("a\0", "it holds a NUL character"),
    ] {
        assert_eq!(shown(text), expected, "{text:?}");
    }
    assert_eq!(shown(&"x".repeat(4_097)), "it is longer than 4096 bytes");
    assert_eq!(shown(&"{".repeat(33)), "it is no glob: more than 32 braces");
}

#[test]
fn a_pattern_matches_one_name() {
    let matches = |text: &str, name: &str| match DeclaredArtifact::parse(text).unwrap() {
        DeclaredArtifact::Files(ArtifactGlob { parts, .. }) => match parts.as_slice() {
            [GlobPart::Pattern(set)] => set.is_match(name),
            other => panic!("{other:?}"),
        },
        DeclaredArtifact::Pointer(_) => panic!("{text}"),
    };
    assert!(matches("*.png", "a.png") && matches("*.png", ".png") && !matches("*.png", "a.jpg"));
    assert!(matches("{a,b}.md", "b.md") && matches("fig[0-9]", "fig7") && matches("?.md", "a.md"));
    assert!(matches("x[?]", "x?"), "a question mark at the end is written so");
}
