//! Includes of real files: what leads out of the directory, goes round or is no text, and how large one may be.

use std::os::unix::fs::symlink;

use super::files::Files;

#[test]
fn what_leads_out_or_round_is_refused() {
    let files = Files::new();
    let outside = Files::new();
    outside.write("secret.md", "secret");
    files.write("w/loop.yaml", "a: !include loop.yaml\n");
    files.write("w/ping.yaml", "!include sub/pong.yaml");
    files.write("w/sub/pong.yaml", "- !include ping.yaml");
    symlink("../ping.yaml", files.path("w/sub/ping.yaml")).unwrap();
    files.write("w/inside.md", "inside");
    files.write("up.md", "secret");
    symlink(outside.path("secret.md"), files.path("w/absolute.md")).unwrap();
    symlink("../up.md", files.path("w/relative.md")).unwrap();
    symlink("inside.md", files.path("w/inner.md")).unwrap();
    symlink(outside.root(), files.path("w/directory")).unwrap();
    std::fs::write(files.path("w/binary"), b"\xff").unwrap();
    files.write(
        "w/w.yaml",
        "name: !include inner.md\n\
         roles:\n\
         - !include ../up.md\n\
         - !include /etc/passwd\n\
         - !include absolute.md\n\
         - !include relative.md\n\
         - !include directory/secret.md\n\
         - !include sub\n\
         - !include missing.md\n\
         - !include binary\n\
         - !include [inside.md]\n\
         - !inculde inside.md\n\
         - !include w.yaml\n\
         - !include loop.yaml\n\
         - !include ping.yaml\n\
         - !include ''\n",
    );
    let problems = files.problems("w/w.yaml");
    assert!(!problems.contains("secret\n"));
    insta::assert_snapshot!(problems);
}

#[test]
fn an_included_file_has_a_bound() {
    let files = Files::new();
    files.write("big.md", &"x".repeat((4 << 20) + 1));
    files.write("big.yaml", "name: !include big.md\n");
    assert!(files.problems("big.yaml").contains("larger than 4194304 bytes"));
}
