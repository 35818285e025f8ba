#!/bin/sh
# test-pass.sh DIRECTORY THREAD: 1 if all of these hold, else 0. They are not the fixture's own tests, which may have been changed.
cd "$1" || exit 2
command -v node > /dev/null || { echo "no node here" >&2; exit 3; }
passed=0 failed=
check() { # TITLE EXPECTED
  if [ "$(TITLE=$1 node -e 'process.stdout.write(require("./slug.js").slug(process.env.TITLE))' 2> /dev/null)" = "$2" ]; then
    passed=$((passed + 1))
  else
    failed="$failed\"$1\", "
  fi
}
check 'Hello World' hello-world
check 'Crème  brûlée!' creme-brulee
check ' Ångström, 2nd edition ' angstrom-2nd-edition
check 'a--b' a-b
check '?!' ''
[ -z "$failed" ] && score=1 || score=0
printf '{"score": %s, "data": {"passed": %s, "failed": [%s]}}\n' "$score" "$passed" "${failed%, }"
