#!/usr/bin/env bash
# Static programs for a release: packaging/static.sh [x86_64|aarch64 …], both by default. Writes dist/uwf-VERSION-TARGET.tar.gz and
# its checksum, as `cargo binstall` looks for them (`package.metadata.binstall` in Cargo.toml).
#
# `cargo zigbuild` builds for every target on any machine: `pip install ziglang cargo-zigbuild`. Without it a machine builds for
# its own architecture alone, where musl-gcc is installed. PROFILE=release is quicker than the default, dist.
set -euo pipefail
cd "$(dirname "$0")/.."
fail() { printf 'error: %s\n  hint: %s\n' "$1" "$2" >&2; exit 1; }

build() { # build TARGET
  local target=$1 native=$(uname -m)-unknown-linux-musl
  if command -v rustup > /dev/null && ! rustup target list --installed | grep -qx "$target"; then
    fail "the toolchain has no $target" "rustup target add $target"
  fi
  if cargo-zigbuild --version > /dev/null 2>&1; then
    cargo zigbuild --profile "$profile" --locked --package uwf --bins --target "$target"
  elif [[ $target == "$native" ]] && command -v musl-gcc > /dev/null; then
    CC=musl-gcc cargo build --profile "$profile" --locked --package uwf --bins --target "$target"
  else
    fail "nothing here compiles C for $target" "pip install ziglang cargo-zigbuild$([[ $target == "$native" ]] && echo ', or install musl-tools')"
  fi
}

check() { # check PROGRAM TARGET
  if readelf --program-headers "$1" 2> /dev/null | grep -q INTERP; then
    fail "$1 is not static" "a library was linked dynamically: readelf -d $1"
  fi
  if [[ $2 == "$(uname -m)"-* ]]; then "$1" --version; else echo "$1: static, and not run here: it is for ${2%%-*}"; fi
}

profile=${PROFILE:-dist}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Both programs are to know where they are from, though this may be no clone.
export UWF_COMMIT=${UWF_COMMIT:-$(git rev-parse --short=9 HEAD 2> /dev/null || true)}
mkdir -p dist
for arch in "${@:-x86_64 aarch64}"; do
  for arch in $arch; do
    [[ $arch == x86_64 || $arch == aarch64 ]] || fail "no such architecture: $arch" "there are x86_64 and aarch64"
    target=$arch-unknown-linux-musl
    name=uwf-$version-$target
    build "$target"
    rm -rf "dist/$name"
    mkdir "dist/$name"
    for program in uwf uwf-builtin; do
      cp "${CARGO_TARGET_DIR:-target}/$target/$profile/$program" "dist/$name/"
      check "dist/$name/$program" "$target"
    done
    cp LICENSE README.md CHANGELOG.md "dist/$name/"
    tar --create --gzip --owner=0 --group=0 --sort=name --file "dist/$name.tar.gz" --directory dist "$name"
    (cd dist && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
    rm -rf "dist/$name"
  done
done
