//! `uwf prompt`: the guides are what they say, down to their examples; their programs run end to end.

use uwf_workflow::yaml;

use super::command_line::CommandLine;
use uwf_engine::fixture::Place;

#[test]
fn the_guides_are_skills_and_have_older_names() {
    let place = Place::new();
    let listed = place.uwf(&["prompt", "list"]).json();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["skill", "workflow-authoring", "adapter-developing", "bootstrap"]);
    for name in names {
        let text = place.uwf(&["prompt", name]).out;
        assert_eq!(place.uwf(&["prompt", name, "--format", "json"]).json()["markdown"], text.as_str());
        let guide = body_of_skill(name, &text);
        assert!(guide.starts_with("# ") && guide.len() > 1000, "{name}: {text}");
    }
    for older in [["skill", "user"], ["prompt", "usage"]] {
        assert_eq!(place.uwf(&older).out, place.uwf(&["prompt", "skill"]).out);
    }
    assert_eq!(place.uwf(&["skill", "author"]).out, place.uwf(&["prompt", "workflow-authoring"]).out);
}

/// What is below the frontmatter, which agents read with a parser.
fn body_of_skill<'a>(name: &str, text: &'a str) -> &'a str {
    let (head, body) = text.strip_prefix("---\n").unwrap().split_once("---\n\n").unwrap();
    let head = yaml::parse_value(head).unwrap();
    let skill = if name == "skill" { "uwf".to_owned() } else { format!("uwf-{name}") };
    assert_eq!(head["name"], skill);
    assert_eq!(head["version"], env!("CARGO_PKG_VERSION"));
    assert!(head["description"].as_str().unwrap().contains("Use it to "), "{head}");
    assert!(head["tags"].as_array().unwrap().contains(&"uwf".into()), "{head}");
    body
}

#[test]
fn the_skill_at_the_root_of_the_repository_is_the_one_that_is_printed() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../SKILL.md");
    let printed = Place::new().uwf(&["prompt", "skill"]).out;
    let stood = std::fs::read_to_string(file).unwrap_or_default();
    if stood != printed {
        std::fs::write(file, &printed).unwrap();
    }
    assert!(stood == printed, "SKILL.md was not up to date; it is now, commit it");
}

#[test]
fn the_workflow_in_the_guide_is_valid() {
    let place = Place::new();
    let guide = place.uwf(&["prompt", "workflow-authoring"]).out;
    let yaml = guide.split("```yaml\n").map(|rest| rest.split("```").next().unwrap());
    let complete: Vec<&str> = yaml.filter(|text| text.starts_with("name:")).collect();
    assert_eq!(complete.len(), 1, "one complete workflow");
    std::fs::write(place.project().join("guide.yaml"), complete[0]).unwrap();
    let ran = place.uwf(&["workflow", "validate", "guide.yaml"]);
    assert_eq!(ran.exit, 0, "{ran:?}");
}
