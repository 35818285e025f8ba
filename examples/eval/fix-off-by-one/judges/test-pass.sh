#!/bin/sh
# test-pass.sh DIRECTORY THREAD: 1 if all of these hold, else 0. They are not the fixture's own tests, which may have been changed.
cd "$1" || exit 2
command -v python3 > /dev/null || { echo "no python3 here" >&2; exit 3; }
passed=0 failed=
check() { # EXPRESSION EXPECTED
  if [ "$(python3 -B -c "from calculator import *; print($1)" 2>&1)" = "$2" ]; then
    passed=$((passed + 1))
  else
    failed="$failed\"$1\", "
  fi
}
check 'add(1, 2)' 3
check 'add(-1, 1)' 0
check 'add(0.5, 0.25)' 0.75
check 'subtract(5, 3)' 2
check 'total([])' 0
check 'total([1, 2, 3, 4])' 10
[ -z "$failed" ] && score=1 || score=0
printf '{"score": %s, "data": {"passed": %s, "failed": [%s]}}\n' "$score" "$passed" "${failed%, }"
