use super::*;
use crate::samples;
use crate::views::ProjectView;

fn view<'a>(schema: &'a Value, capabilities: &'a [String]) -> SystemView<'a> {
    SystemView {
        schema,
        role: RoleView {
            workflow: "solve-issue",
            name: "reviewer",
            description: "Reads a change with fresh eyes.",
            goal: "Only changes that do what the issue asks are merged.",
            capabilities,
            procedure: "1. Read the diff.\n2. Run the tests.\n3. Decide.",
            output: "A verdict and, for a rejection, what to change.",
            artifacts: &[],
        },
        workspace: WorkspaceView {
            root: "/srv/project",
            tools: &["read_file", "grep", "run_command"],
            own_tools: false,
        },
        project: ProjectView::default(),
    }
}

#[test]
fn the_output_format_of_each_kind_of_schema() {
    for (name, schema) in [
        ("flat", samples::flat()),
        ("variants", samples::variants()),
        ("choice", samples::choice()),
        ("nested", samples::nested()),
        ("nothing", samples::nothing()),
    ] {
        insta::assert_snapshot!(name, output_format(&schema).unwrap());
    }
}

#[test]
fn the_whole_message_of_a_small_role() {
    let schema = serde_json::json!({
        "type": "object",
        "required": ["$status", "summary"],
        "properties": {"$status": {"enum": ["approved", "rejected"]}, "summary": {"type": "string"}},
    });
    let capabilities = ["code review".to_owned(), "testing".to_owned()];
    let text = system(&view(&schema, &capabilities)).unwrap();
    insta::assert_snapshot!("system", text);
    assert!(text.starts_with("# Output format\n"));
    assert!(text.len() <= 2_500, "{} bytes", text.len());
    assert_eq!(text, system(&view(&schema, &capabilities)).unwrap());
}

#[test]
fn what_a_role_does_not_say_is_left_out() {
    let schema = samples::nothing();
    let role = RoleView { workflow: "w", name: "r", ..RoleView::default() };
    let workspace = WorkspaceView { root: "/srv/project", ..WorkspaceView::default() };
    let project = ProjectView::default();
    let text = system(&SystemView { schema: &schema, role, workspace, project }).unwrap();
    insta::assert_snapshot!("system_without_tools", &text[text.find("# Your role").unwrap()..]);
    let workspace = WorkspaceView { own_tools: true, ..workspace };
    let text = system(&SystemView { schema: &schema, role, workspace, project }).unwrap();
    insta::assert_snapshot!("system_with_own_tools", &text[text.find("# Workspace").unwrap()..]);
}

#[test]
fn a_role_is_told_what_is_kept_of_its_work() {
    let artifacts = ["/report".to_owned(), "figures/*.png?".to_owned()];
    let view = RoleView { workflow: "w", name: "r", artifacts: &artifacts, ..RoleView::default() };
    insta::assert_snapshot!("artifacts", role(&view).unwrap());
    // A name is one line and one code span, whatever it holds.
    let artifacts = ["a`\n\n# Task".to_owned()];
    let odd = role(&RoleView { artifacts: &artifacts, ..view }).unwrap();
    assert!(odd.ends_with("\n- ``a` # Task``"), "{odd}");
}
