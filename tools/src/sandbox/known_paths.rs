//! Where secrets lie and where programs do: the places that commands see, and those that they do not.
//!
//! Data alone. A home is closed as a whole and opened by name: what a tool keeps there is a secret until it is known to be
//! none. The machine is the other way round: open, but for what is named here.

use crate::words::Words;

/// What commands read of a home: toolchains and programs that were installed below it. None of them holds credentials.
pub(super) const PROGRAMS: Words = Words(
    ".cargo/bin .cargo/env .rustup .nvm .volta .fnm .local/share/fnm .n .npm-global .npm-packages .bun/bin \
     .deno/bin .local/bin .local/lib .local/include .local/pipx .local/share/pipx .local/share/uv \
     .local/share/mise/installs .local/share/mise/shims .local/share/virtualenvs .local/share/pnpm .local/share/man \
     .local/share/terminfo .pyenv .rye .pixi/bin .virtualenvs .conda/envs miniconda3 anaconda3 miniforge3 \
     mambaforge micromamba .asdf .sdkman .jenv .jbang/bin .rbenv .rvm .gem/ruby .phpenv .composer/vendor \
     .config/composer/vendor .goenv .gvm go/bin sdk .dotnet .nimble .elan .ghcup .opam .juliaup .julia/packages \
     .julia/artifacts .swiftly .pub-cache .flutter-sdk Android/Sdk .krew/bin .nix-profile .local/state/nix/profiles \
     .linuxbrew .terminfo .config/git/ignore .config/git/attributes .gitignore .gitignore_global",
);

/// What tools keep there to be quick. Commands may write there as well: onto a layer of the run, which goes with it.
pub(super) const CACHES: Words = Words(
    ".cargo/registry .cargo/git .cache/pip .cache/uv .cache/pypoetry/artifacts .cache/pypoetry/virtualenvs \
     .cache/pdm .cache/pre-commit .cache/go-build .cache/golangci-lint .cache/yarn .cache/pnpm .cache/node \
     .cache/node-gyp .cache/electron .cache/esbuild .cache/typescript .cache/deno .cache/Cypress \
     .cache/ms-playwright .cache/puppeteer .cache/coursier .cache/bazelisk .cache/ccache .cache/sccache .cache/zig \
     .cache/huggingface/hub .cache/torch .cache/matplotlib .cache/fontconfig .npm/_cacache .pnpm-store \
     .yarn/berry/cache .bun/install/cache go/pkg .m2/repository .m2/wrapper .gradle/caches .gradle/wrapper \
     .ivy2/cache .sbt/boot .nuget/packages .cabal/packages .stack/snapshots .hex/packages .mix/archives \
     .bundle/cache .ccache .terraform.d/plugin-cache",
);

/// Where people keep keys and tokens, below their home: what is opened by the settings is opened without these.
pub(super) const SECRETS: Words = Words(
    ".ssh .gnupg .aws .azure .kube .docker .config/gh .config/gcloud .config/git/credentials .config/hub \
     .config/glab-cli .config/containers/auth.json .config/doctl .config/op .config/rclone .config/sops \
     .config/pypoetry/auth.toml .config/google-chrome .config/chromium .mozilla .thunderbird .netrc .npmrc .pypirc \
     .git-credentials .password-store .local/share/keyrings .pgpass .my.cnf .vault-token \
     .terraform.d/credentials.tfrc.json .Xauthority .gem/credentials .cargo/credentials .cargo/credentials.toml \
     .sdkman/etc/config .dotnet/corefx .nuget/NuGet .m2/settings.xml .m2/settings-security.xml \
     .gradle/gradle.properties .local/share/uv/credentials .opam/plugins/opam-publish .pub-cache/credentials.json \
     .rye/config.toml .npm-global/etc/npmrc .npm-packages/etc/npmrc miniconda3/.condarc anaconda3/.condarc \
     miniforge3/.condarc mambaforge/.condarc",
);

/// Directories of the machine that hold sockets, keys or other people's files; commands have others in their place.
pub(super) const CLOSED: Words = Words(
    "/run /var/run /home /root /etc/ssl/private /etc/pki/tls/private /etc/letsencrypt /etc/wireguard /etc/openvpn \
     /etc/ipsec.d /etc/swanctl /etc/kubernetes /etc/rancher /etc/NetworkManager/system-connections /etc/sudoers.d \
     /etc/docker /etc/vault.d /etc/consul.d /etc/nomad.d /etc/ceph /etc/restic /etc/borgmatic /etc/gitlab-runner \
     /sys/kernel/debug /sys/kernel/tracing /sys/fs/bpf /sys/fs/pstore /var/lib/docker /var/lib/containerd \
     /var/lib/containers /var/lib/kubelet /var/lib/rancher /var/lib/NetworkManager /var/lib/gitlab-runner \
     /var/lib/jenkins /var/lib/mysql /var/lib/postgresql /var/lib/redis /var/lib/mongodb /var/lib/vault \
     /var/lib/lxd /var/snap/lxd /var/lib/libvirt /var/lib/sss /var/spool/cron /var/spool/mail /var/mail \
     /var/backups /var/log",
);

/// Single files of the machine.
pub(super) const CLOSED_FILES: Words = Words(
    "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/krb5.keytab /etc/ppp/chap-secrets \
     /etc/ppp/pap-secrets /etc/ipsec.secrets /etc/netrc /etc/fstab.cifs /etc/rclone.conf /etc/msmtprc \
     /etc/exim4/passwd.client /etc/postfix/sasl_passwd /etc/mysql/debian.cnf /etc/boto.cfg /etc/davfs2/secrets \
     /etc/security/opasswd /etc/datadog-agent/datadog.yaml /etc/newrelic-infra.yml /etc/grafana/grafana.ini \
     /etc/environment",
);

/// What is shown of [`CLOSED`]: names of hosts, and where systems keep their programs.
pub(super) const SHOWN: Words = Words(
    "/run/systemd/resolve/resolv.conf /run/systemd/resolve/stub-resolv.conf /run/resolvconf \
     /run/NetworkManager/resolv.conf /run/NetworkManager/no-stub-resolv.conf /run/current-system /run/booted-system \
     /run/opengl-driver /home/linuxbrew/.linuxbrew",
);

/// Directories in which everybody writes; commands have private ones.
pub(super) const SHARED: Words = Words("/tmp /var/tmp");

/// Devices that are streams of nothing or of chance. All others stay closed: to root, disks and memory are devices too,
/// and terminals show what people type.
pub(super) const DEVICES: Words = Words("/dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty");
