#!/usr/bin/env bash
# Shows what uwf does, in a minute after the build and without a key or a network: three roles mend a program, one change is
# sent back, the run is killed in the middle of it and goes on. Everything is in one directory under the temporary directory,
# named at the end. UWF_BIN names a directory with both programs that are built already.
#
# The programs are built as `cargo install --path . --locked` builds them, so that installing compiles nothing again.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n=== %s\n' "$*"; }

# What stands in the way of the strict sandbox, if anything does: said before anybody waits for a build.
in_the_way() {
  [[ $(uname -s) == Linux ]] || { echo "this is $(uname -s), and uwf is for Linux"; return; }
  local major minor
  IFS=. read -r major minor _ < /proc/sys/kernel/osrelease
  minor=${minor%%[!0-9]*}
  ((major > 5 || (major == 5 && minor >= 10))) || echo "Linux $major.$minor is older than 5.10"
  grep -q '^Seccomp:' /proc/self/status || echo "the kernel has no seccomp"
  local setting=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
  if [[ -r $setting && $(< $setting) == 1 && $EUID != 0 ]]; then
    echo "AppArmor keeps user namespaces to programs that have a profile for it"
  elif command -v unshare > /dev/null && ! unshare --user --map-root-user --mount --pid --net --fork true 2> /dev/null; then
    echo "user namespaces, or what they are for, are not allowed here (a container?)"
  fi
}

loudly() {
  printf '\n!!! THE STRICT SANDBOX CANNOT BE HAD HERE.\n' >&2
  printf '!!!   %s\n' "$@" >&2
  printf '%s\n' '!!! Commands of this demo (sh test.sh, in a directory of its own) run with what there is: best-effort.' \
    '!!! `uwf-builtin doctor` tells what is open then, and the shortest way to strict.' '' >&2
  export UWF_BUILTIN_SANDBOX=best-effort
}

obstacles=$(in_the_way)
[[ $obstacles == *"uwf is for Linux"* ]] && { echo "$obstacles" >&2; exit 1; }
if [[ -n $obstacles ]]; then mapfile -t lines <<< "$obstacles"; loudly "${lines[@]}"; fi

bin=${UWF_BIN:-}
if [[ -z $bin ]]; then
  say "build both programs (the longest part; there is a bar on a terminal)"
  cargo build --release --locked --package uwf --bins
  bin=${CARGO_TARGET_DIR:-target}/release
fi
bin=$(cd "$bin" && pwd)
uwf=$bin/uwf
# The kernel has the last word.
if [[ -z ${UWF_BUILTIN_SANDBOX:-} ]] && ! "$bin/uwf-builtin" --version | grep -q '^sandbox  strict'; then
  loudly "$("$bin/uwf-builtin" --version | grep '^sandbox')"
fi

try=$(mktemp -d "${TMPDIR:-/tmp}/uwf-try.XXXXXX")
export UWF_HOME=$try/uwf OCAS_HOME=$try/ocas
examples=$PWD/examples/solve-issue
cp -r "$examples/project" "$try/sum"
cd "$try/sum"
git init --quiet
shown=$([[ -t 2 ]] || echo -v)

say 'the issue: `sh add.sh 1 2 3` prints 3'
sh add.sh 1 2 3
thread=$("$uwf" thread start "$examples/workflow.yaml" --cwd . --format text --prompt '`sh add.sh 1 2 3` prints 3: let it add three numbers and more.')
"$uwf" config set agents.script.command "$bin/uwf-builtin" > /dev/null
"$uwf" config set agents.script.args "[--mock, $examples/interrupted.mock.yaml]" > /dev/null
"$uwf" config set defaultAgent script > /dev/null

say "a plan, a change, and a reviewer who sends it back: uwf thread exec THREAD --until-end"
"$uwf" thread exec "$thread" --until-end --format text $shown &
run=$!
# The second change is made, and its tests are running.
until grep -q '"\$@"' add.sh || ! kill -0 "$run" 2> /dev/null; do sleep 0.1; done
sleep 0.5

say "kill -9, while the second change is tested"
kill -KILL "$run" 2> /dev/null || true
wait "$run" 2> /dev/null || true

say "the same command goes on where it stopped"
"$uwf" thread exec "$thread" --until-end --format text $shown

say "sh add.sh 1 2 3"
sh add.sh 1 2 3

say "what is on record: uwf step list THREAD, uwf thread diff THREAD"
"$uwf" step list "$thread" --format text
"$uwf" thread diff "$thread"
say "and the last step of uwf thread read THREAD"
"$uwf" thread read "$thread" | sed -n '/^## Step 5/,$p'

cat << END

All of it is in $try. Look around:
  export UWF_HOME=$UWF_HOME OCAS_HOME=$OCAS_HOME
  $uwf thread read $thread
Then install both programs (nothing is compiled again), and begin your own:
  cargo install --path . --locked
  uwf init
END
