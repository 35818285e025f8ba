use super::*;
use crate::{claims, correction, external, extraction, judging, opening, project, run, system, views};
use std::collections::BTreeSet;
use std::path::Path;

/// The template uses exactly the names of its context, and a context is flat, so that its names are all there is.
fn check<C: Context + Default>() -> &'static str {
    let environment = environment().unwrap();
    let template = environment.template_from_named_str(C::NAME, C::SOURCE).unwrap();
    let context = serde_json::to_value(C::default()).unwrap();
    let given = context.as_object().unwrap();
    assert!(given.values().all(|value| !value.is_object()), "{} is not flat", C::NAME);
    let given: BTreeSet<String> = given.keys().cloned().collect();
    let used: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    assert_eq!(used, given, "names used (left) and given (right) in {}", C::NAME);
    render(&C::default()).unwrap();
    C::NAME
}

#[test]
fn each_template_uses_exactly_the_names_it_is_given() {
    let checked = BTreeSet::from([
        check::<system::OutputFormat<'_>>(),
        check::<system::FormText>(),
        check::<system::FieldText<'_>>(),
        check::<system::ExampleAnswer<'_>>(),
        check::<views::RoleView<'_>>(),
        check::<views::WorkspaceView<'_>>(),
        check::<system::Guidelines>(),
        check::<opening::Opening<'_>>(),
        check::<opening::Continuation<'_>>(),
        check::<opening::ProgressText>(),
        check::<opening::StepText>(),
        check::<project::ProjectText>(),
        check::<project::BelowText>(),
        check::<views::NudgeView<'_>>(),
        check::<views::DeadlineView<'_>>(),
        check::<run::Grace<'_>>(),
        check::<run::QuestionText<'_>>(),
        check::<views::RepeatedView<'_>>(),
        check::<views::LeftOutView<'_>>(),
        check::<run::Summarise>(),
        check::<run::Summary<'_>>(),
        check::<claims::Claims<'_>>(),
        check::<judging::Judging<'_>>(),
        check::<judging::Step<'_>>(),
        check::<judging::Rules>(),
        check::<correction::NoFrontmatter>(),
        check::<correction::NotMapping<'_>>(),
        check::<correction::BadYaml<'_>>(),
        check::<correction::Violations>(),
        check::<correction::ViolationText<'_>>(),
        check::<correction::Placeholder>(),
        check::<correction::Again>(),
        check::<extraction::Extraction>(),
        check::<extraction::ExtractionOf>(),
        check::<external::Transcript<'_>>(),
        check::<external::TranscriptPart<'_>>(),
        check::<external::AskedAnew<'_>>(),
    ]);
    let sentences = [
        "claims_rules",
        "interrupted",
        "missing_empty",
        "missing_only_reasoning",
        "missing_tool_call",
        "resumed",
    ];
    let known: BTreeSet<String> =
        checked.into_iter().chain(sentences).map(|name| format!("{name}.md")).collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let files =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    assert_eq!(files.collect::<BTreeSet<_>>(), known, "template files (left) and tested ones (right)");
}

#[derive(Serialize)]
struct Broken {
    value: &'static str,
}

impl Context for Broken {
    const NAME: &'static str = "broken";
    const SOURCE: &'static str = "{{ value }} and {{ other }}";
}

#[test]
fn an_undefined_name_is_an_error_that_names_the_template() {
    let error = render(&Broken { value: "" }).unwrap_err();
    assert_eq!(error.to_string(), "Could not render the prompt template 'broken'");
    assert!(std::error::Error::source(&error).is_some());
}

#[derive(Serialize)]
struct Markup {
    value: &'static str,
}

impl Context for Markup {
    const NAME: &'static str = "page.html";
    const SOURCE: &'static str = "{{ value }}";
}

#[test]
fn values_are_neither_escaped_nor_read_as_templates() {
    assert_eq!(render(&Markup { value: "<a> & {{ b }}" }).unwrap(), "<a> & {{ b }}");
}
