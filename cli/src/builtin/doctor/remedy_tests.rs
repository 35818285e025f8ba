use super::*;

/// A new kernel that allows everything.
fn open() -> KernelFacts {
    KernelFacts { linux: Some((6, 12)), ..KernelFacts::default() }
}

/// A container as docker makes it without options.
fn docker() -> KernelFacts {
    KernelFacts {
        container: Some(Container::Docker),
        filtered: true,
        label: "docker-default (enforce)".to_owned(),
        proc_covered: true,
        ..open()
    }
}

/// One of podman on a machine with SELinux.
fn podman() -> KernelFacts {
    KernelFacts {
        container: Some(Container::Podman),
        label: "system_u:system_r:container_t:s0:c1,c2".to_owned(),
        ..docker()
    }
}

/// What is found for facts, by name: parts of each cause and of what to do about it.
type Case<'a> = (&'a str, KernelFacts, &'a [(&'a str, &'a str)]);

fn check(cases: &[Case<'_>]) {
    for (name, facts, expected) in cases {
        let found = remedies(facts);
        assert_eq!(found.len(), expected.len(), "{name}: {found:?}");
        for (found, (cause, remedy)) in found.iter().zip(*expected) {
            assert!(found.cause.contains(cause) && found.remedy.contains(remedy), "{name}: {found:?}");
        }
    }
}

#[test]
fn each_cause_has_its_way_out() {
    let ubuntu = KernelFacts { apparmor_restricts: true, label: "unconfined".to_owned(), ..open() };
    let debian = KernelFacts { forbidding: vec!["kernel.unprivileged_userns_clone=1".to_owned()], ..open() };
    let two = ["user.max_user_namespaces=15000", "user.max_pid_namespaces=15000"].map(str::to_owned);
    let two = KernelFacts { forbidding: two.to_vec(), ..open() };
    check(&[
        ("nothing known", open(), &[]),
        ("Linux 5.4", KernelFacts { linux: Some((5, 4)), ..open() }, &[("5.4 is older", "newer kernel")]),
        (
            "Ubuntu",
            ubuntu.clone(),
            &[("AppArmor", "--apparmor-profile | sudo tee /etc/apparmor.d/uwf-builtin")],
        ),
        ("Ubuntu, as root", KernelFacts { privileged: true, ..ubuntu.clone() }, &[]),
        (
            "Ubuntu, with the profile",
            KernelFacts { label: "uwf-builtin (unconfined)".to_owned(), ..ubuntu },
            &[],
        ),
        (
            "Debian's setting",
            debian,
            &[(
                "kernel.unprivileged_userns_clone = 0",
                "printf '%s\\n' 'kernel.unprivileged_userns_clone=1' | sudo tee /etc/sysctl.d/60-uwf.conf >/dev/null \
                 && sudo sysctl --system",
            )],
        ),
        (
            "two limits",
            two,
            &[(
                "(user.max_user_namespaces, user.max_pid_namespaces = 0)",
                "'user.max_user_namespaces=15000' 'user.max_pid_namespaces=15000' | sudo",
            )],
        ),
        (
            "systemd",
            KernelFacts { filtered: true, ..open() },
            &[("filters its system calls", "RestrictNamespaces=")],
        ),
    ]);
}

#[test]
fn containers_are_given_what_they_lack_and_no_more() {
    let other = KernelFacts { container: Some(Container::Other), filtered: true, ..open() };
    let restricted = KernelFacts { apparmor_restricts: true, ..docker() };
    check(&[
        (
            "docker",
            docker(),
            &[(
                "container",
                "`docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt \
                 systempaths=unconfined …`",
            )],
        ),
        (
            "docker where the rest was given",
            KernelFacts { filtered: false, label: "unconfined".to_owned(), ..docker() },
            &[("container", "`docker run --security-opt systempaths=unconfined …`")],
        ),
        (
            "docker on Ubuntu",
            restricted,
            &[
                ("AppArmor of the machine around", "on that machine"),
                (
                    "container",
                    "seccomp=unconfined --security-opt apparmor=uwf-builtin --security-opt systempaths",
                ),
            ],
        ),
        (
            "podman",
            podman(),
            &[(
                "container",
                "`podman run --security-opt seccomp=unconfined --security-opt label=disable --security-opt unmask=ALL …`",
            )],
        ),
        ("Kubernetes", other, &[("container", "procMount: Unmasked")]),
    ]);
}
