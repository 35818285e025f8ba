#!/bin/sh
# test-pass.sh DIRECTORY THREAD: 1 if all of these hold, else 0. They are not the fixture's own tests, which may have been changed.
cd "$1" || exit 2
dir=$(mktemp -d) || exit 2
trap 'rm -r "$dir"' EXIT
mkdir "$dir/one" "$dir/a b" "$dir/none" || exit 2
printf 12345 > "$dir/one/plain.txt"
printf 1234567 > "$dir/one/two words.txt"
printf 12 > "$dir/one/a  b *.txt"
printf 1 > "$dir/a b/x"
passed=0 failed=
check() { # NAME DIRECTORY EXPECTED
  if [ "$(sh sizes.sh "$dir/$2" 2> /dev/null)" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed="$failed\"$1\", "
  fi
}
check 'blanks in names' one '7 two words.txt
5 plain.txt
2 a  b *.txt'
check 'a blank in the name of the directory' 'a b' '1 x'
check 'an empty directory' none ''
[ -z "$failed" ] && score=1 || score=0
printf '{"score": %s, "data": {"passed": %s, "failed": [%s]}}\n' "$score" "$passed" "${failed%, }"
