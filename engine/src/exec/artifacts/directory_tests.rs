//! What a system that lacks something is told to lack.

use super::*;

fn opened(dir: &Path, private: &Path) -> StepDirectory {
    fs::create_dir_all(dir.join("below")).unwrap();
    fs::create_dir_all(private).unwrap();
    fs::write(dir.join("file"), "x").unwrap();
    StepDirectory::open(dir, &[private]).unwrap()
}

#[test]
fn what_cannot_be_told_from_the_files_of_uwf_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let home = place.path().join("uwf");
    let dir = opened(&place.path().join("work"), &home);
    assert!(dir.file("file").is_ok());
    assert!(!dir.is_withheld("below").unwrap());
    let blind = StepDirectory { handles: "/nowhere", ..dir };
    for fault in [blind.file("file").err().unwrap(), blind.is_withheld("below").unwrap_err()] {
        assert!(
            fault.to_string().contains("which files are uwf's own cannot be told: /nowhere cannot be read"),
            "{fault}"
        );
    }
    // Where there is nothing to withhold, nothing need be told.
    let free = StepDirectory { private: Vec::new(), ..blind };
    assert!(free.file("file").is_ok() && !free.is_withheld("below").unwrap());
}

#[test]
fn a_system_without_openat2_is_named() {
    let place = tempfile::tempdir().unwrap();
    let dir = opened(&place.path().join("work"), &place.path().join("uwf"));
    for error in [Errno::NOSYS, Errno::PERM] {
        for fault in [dir.fault(error), dir.unlisted("below", error)] {
            assert!(matches!(fault, ArtifactFault::Unsupported { .. }), "{fault}");
            assert!(fault.to_string().contains("`openat2`"), "{fault}");
        }
    }
    let fault = dir.unlisted("below", Errno::ACCESS).to_string();
    assert!(fault.ends_with("work/below"), "{fault}");
}
