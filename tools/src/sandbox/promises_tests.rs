use super::*;
use crate::sandbox::Level;

/// All there is on a new kernel.
fn all() -> Enforced {
    Enforced {
        landlock: Some(7),
        seccomp: true,
        mounts: true,
        processes: Processes::Namespace,
        network: Network::Namespace,
        ..Enforced::nothing(Level::Strict)
    }
}

/// Where user namespaces are not to be had.
fn without_namespaces() -> Enforced {
    Enforced { mounts: false, processes: Processes::Found, network: Network::Seccomp, ..all() }
}

fn unkept(enforced: &Enforced) -> Vec<Promise> {
    let kept = enforced.promises().into_iter();
    kept.filter(|kept| !kept.held).map(|kept| kept.promise).collect()
}

#[test]
fn which_promises_are_kept_by_which_mechanisms() {
    use Promise::{
        FilesOutside, ModesOutside, Network as Net, ProcessesEnd, ProcessesOutside, Secrets, SharedMemory,
        Sockets, SystemCalls,
    };
    let namespaces = [ModesOutside, ProcessesEnd, SharedMemory];
    let old_namespaces = [ModesOutside, ProcessesEnd, ProcessesOutside, SharedMemory];
    let no_landlock = |enforced| Enforced { landlock: None, ..enforced };
    let cgroup = Enforced { processes: Processes::Cgroup, ..all() };
    let found = Enforced { processes: Processes::Found, ..all() };
    let open = |enforced| Enforced { network: Network::Open, ..enforced };
    for (name, enforced, expected) in [
        ("all", all(), &[][..]),
        ("Linux 5.10 with namespaces", no_landlock(all()), &[]),
        ("the network is allowed", open(all()), &[]),
        ("that, without Landlock", open(no_landlock(all())), &[]),
        ("a control group in place of a process namespace", cgroup.clone(), &[]),
        ("that, without scopes", Enforced { landlock: Some(5), ..cgroup }, &[ProcessesOutside]),
        ("neither", found, &[ProcessesEnd]),
        ("no namespaces", without_namespaces(), &namespaces),
        ("that, on Linux 6.2", Enforced { landlock: Some(3), ..without_namespaces() }, &old_namespaces),
        (
            "that, on Linux 5.13",
            Enforced { landlock: Some(1), ..without_namespaces() },
            &[FilesOutside, ModesOutside, ProcessesEnd, ProcessesOutside, SharedMemory],
        ),
        (
            "that, on Linux 5.10",
            no_landlock(without_namespaces()),
            &[FilesOutside, ModesOutside, Secrets, ProcessesEnd, ProcessesOutside, SharedMemory],
        ),
        ("no filters", Enforced { seccomp: false, ..all() }, &[SystemCalls]),
        (
            "no filters, no Landlock and the network",
            Enforced { seccomp: false, ..open(no_landlock(all())) },
            &[Sockets, SystemCalls],
        ),
        (
            "nothing",
            Enforced { network: Network::None, ..Enforced::nothing(Level::BestEffort) },
            &[
                FilesOutside,
                ModesOutside,
                Secrets,
                ProcessesEnd,
                ProcessesOutside,
                SharedMemory,
                Net,
                Sockets,
                SystemCalls,
            ],
        ),
    ] {
        assert_eq!(unkept(&enforced), expected, "{name}");
    }
}

#[test]
fn names_are_stable_and_every_wall_that_keeps_a_promise_is_named() {
    let json = serde_json::to_value(all().promises()).unwrap();
    let found: Vec<String> = json.as_array().unwrap().iter().map(ToString::to_string).collect();
    let line = |promise: &str, by: &str| format!(r#"{{"by":[{by}],"held":true,"promise":"{promise}"}}"#);
    let expected = [
        line("files-outside", r#""mounts","landlock""#),
        line("modes-outside", r#""mounts""#),
        line("secrets", r#""mounts","landlock""#),
        line("processes-end", r#""process-namespace""#),
        line("processes-outside", r#""process-namespace","landlock""#),
        line("shared-memory", r#""ipc-namespace","mounts","landlock""#),
        line("network", r#""network-namespace""#),
        line("sockets", r#""mounts","network-namespace","landlock""#),
        line("system-calls", r#""seccomp""#),
    ];
    for (found, expected) in found.iter().zip(&expected) {
        let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(parsed(found), parsed(expected));
    }
    assert_eq!(found.len(), expected.len());
    let by = |enforced: Enforced, promise: Promise| {
        enforced.promises().into_iter().find(|kept| kept.promise == promise).map(|kept| kept.by)
    };
    assert_eq!(by(without_namespaces(), Promise::Sockets), Some(vec![Mechanism::Seccomp]));
    assert_eq!(by(without_namespaces(), Promise::Network), Some(vec![Mechanism::Seccomp]));
    let open = Enforced { network: Network::Open, ..all() };
    assert_eq!(by(open.clone(), Promise::Network), None);
    assert_eq!(by(open, Promise::Sockets), Some(vec![Mechanism::Mounts, Mechanism::Landlock]));
}

#[test]
fn what_is_missing_names_the_cause_once_and_what_follows() {
    let why = |mechanism| match mechanism {
        Mechanism::Seccomp => Some("seccomp: absent".to_owned()),
        Mechanism::ControlGroup | Mechanism::Landlock => None,
        _ => Some("namespaces: refused".to_owned()),
    };
    let enforced = Enforced { seccomp: false, network: Network::None, ..without_namespaces() };
    let broken = enforced.broken(why);
    assert_eq!(broken.len(), 2, "{broken:?}");
    assert!(broken[0].starts_with("namespaces: refused; so modes, owners and times"), "{broken:?}");
    assert!(broken[0].contains("the network can be reached") && broken[1].starts_with("seccomp: absent; so"));
    assert!(all().broken(why).is_empty());
}
