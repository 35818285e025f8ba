//! Which mounts are made of what is open, on a tree of our own.

use super::*;

struct Tree(tempfile::TempDir);

impl Tree {
    fn new(dirs: &[&str]) -> Tree {
        let dir = tempfile::tempdir().unwrap();
        for name in ["run"].iter().chain(dirs) {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        Tree(dir)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    fn view(&self, access: &AccessPaths) -> View {
        View::make(&Policy::new(self.at("ws"), self.at("run")), access, &[]).unwrap()
    }

    /// Where trees are put, in order, below this tree.
    fn put(&self, view: &View) -> Vec<String> {
        let root = self.at("");
        let puts = view.program.steps.iter().filter_map(|step| match step {
            Operation::Put { at, .. } | Operation::Cover { at, .. } => {
                Some(PathBuf::from(OsStr::from_bytes(at.to_bytes())))
            }
            _ => None,
        });
        puts.filter_map(|at| Some(at.strip_prefix(&root).ok()?.display().to_string())).collect()
    }

    fn both(&self, name: &str) -> (PathBuf, PathBuf) {
        (self.at(name), self.at(name))
    }
}

#[test]
fn what_is_open_in_a_closed_place_is_put_after_its_cover_and_has_a_point_to_be_mounted_on() {
    let tree = Tree::new(&["home/.rustup", "home/.cache/pip", "home/.ssh", "home/src/ws", "etc/keys", "run"]);
    let access = AccessPaths {
        homes: vec![tree.at("home")],
        closed: vec![tree.at("etc/keys"), tree.at("absent")],
        hidden: vec![tree.at("home/.ssh")],
        shown: vec![tree.both("home/.rustup"), tree.both("etc")],
        caches: vec![tree.both("home/.cache/pip")],
        writable: vec![tree.at("home/src/ws")],
        ..AccessPaths::default()
    };
    let view = tree.view(&access);
    assert_eq!(
        tree.put(&view),
        ["etc/keys", "home", "home/.cache/pip", "home/.rustup", "home/src/ws"],
        "neither what is seen anyway nor what lies in a closed place"
    );
    let [private] = &view.private[..] else { panic!("{:?}", view.private) };
    for point in [".cache/pip", ".rustup", "src/ws"] {
        assert!(private.join(point).is_dir(), "{point}");
    }
    assert!(!private.join(".ssh").exists());
}

#[test]
fn everything_is_taken_before_it_is_read_only_that_is_to_be_written() {
    let tree = Tree::new(&["ws", "home/x"]);
    let access = AccessPaths {
        homes: vec![tree.at("home")],
        shown: vec![tree.both("home/x")],
        writable: vec![tree.at("ws")],
        ..AccessPaths::default()
    };
    let steps = tree.view(&access).program.steps;
    let at = |wanted: &str| {
        let taken = |step: &Operation| matches!(step, Operation::Take { path, .. } if path.to_string_lossy().ends_with(wanted));
        steps.iter().position(taken).unwrap()
    };
    let read_only = steps.iter().position(|step| *step == Operation::ReadOnly).unwrap();
    assert!(at("ws") < read_only && at("home/x") > read_only);
}

#[test]
fn what_is_gone_before_it_is_covered_needs_no_cover() {
    let tree = Tree::new(&["home/socket", "ws"]);
    let view = tree.view(&AccessPaths { hidden: vec![tree.at("home/socket")], ..AccessPaths::default() });
    fs::remove_dir(tree.at("home/socket")).unwrap();
    let namespaces = super::super::namespace::Namespaces::make(false, view.program).unwrap();
    assert!(namespaces.mounts, "{namespaces:?}");
}
