#!/bin/sh
# test-pass.sh DIRECTORY THREAD: 1 if all of these hold, else 0. They are not the fixture's own tests, which may have been changed.
cd "$1" || exit 2
if ! rustc --version > /dev/null 2>&1; then
  for dir in "$(dirname "$(command -v rustc)")"/../../.rustup/toolchains/stable*/bin; do PATH=$dir:$PATH; done
fi
rustc --version > /dev/null 2>&1 || { echo "no rustc here" >&2; exit 3; }
dir=$(mktemp -d) || exit 2
trap 'rm -r "$dir"' EXIT
cp duration.rs "$dir/duration.rs" 2> /dev/null
cat > "$dir/main.rs" << 'END'
#[allow(dead_code)]
mod duration;

/// Prints what the argument comes to.
fn main() {
    match duration::seconds(&std::env::args().nth(1).unwrap()) {
        Ok(seconds) => println!("{seconds}"),
        Err(_) => println!("refused"),
    }
}
END
if ! rustc --edition 2021 "$dir/main.rs" -o "$dir/main" 2> /dev/null; then
  echo '{"score": 0, "data": {"passed": 0, "failed": ["it compiles"]}}'
  exit
fi
passed=0 failed=
check() { # TEXT EXPECTED
  if [ "$("$dir/main" "$1" 2> /dev/null)" = "$2" ]; then
    passed=$((passed + 1))
  else
    failed="$failed\"$1\", "
  fi
}
check 1h30m 5400
check 2d 172800
check 45s 45
check 5x refused
check 90 refused
check 1h30 refused
check h refused
check '' refused
check 99999999999999999999s refused
check 9999999999999999999d refused
[ -z "$failed" ] && score=1 || score=0
printf '{"score": %s, "data": {"passed": %s, "failed": [%s]}}\n' "$score" "$passed" "${failed%, }"
