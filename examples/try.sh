#!/usr/bin/env bash
# Runs one role on a copy of this repository, with a scripted model: no key, no network. Everything it writes is in
# one directory under the temporary directory, which it names at the end. UWF_BIN names a directory with both programs
# that are built already.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${UWF_BIN:-}
if [[ -z $bin ]]; then
  cargo build --quiet --bins
  bin=$PWD/${CARGO_TARGET_DIR:-target}/debug
  [[ ${CARGO_TARGET_DIR:-} == /* ]] && bin=$CARGO_TARGET_DIR/debug
fi

try=$(mktemp -d "${TMPDIR:-/tmp}/uwf-try.XXXXXX")
export UWF_HOME=$try/uwf OCAS_HOME=$try/ocas
# Not a clone: git refuses to read a repository that belongs to somebody else.
mkdir "$try/copy"
tar --create --exclude=./.git --exclude=target --exclude=node_modules --exclude=corpus --exclude=fuzz/artifacts . | tar --extract --directory "$try/copy" --no-same-owner
git -C "$try/copy" init --quiet
git -C "$try/copy" add --all

"$bin/uwf-builtin" run examples/solve-issue/workflow.yaml --role developer \
  --prompt "Note our crates in the changelog." --cwd "$try/copy" \
  --mock examples/solve-issue/developer.mock.yaml --format text

printf '\n--- what changed in %s/copy\n' "$try"
git -C "$try/copy" --no-pager diff
printf '\n--- what is on record\n'
thread=$("$bin/uwf" thread list --all --format json | sed -n 's/.*"thread": *"\([0-9A-Z]*\)".*/\1/p')
"$bin/uwf" thread read "$thread"
