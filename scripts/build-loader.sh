#!/usr/bin/env bash
# Builds the loader to deploy: one file that needs no other, linked statically and not relocated at
# its start, which saves half of the page faults of a cold start. Prints where it is and how large.
#
#   scripts/build-loader.sh
#
# `cargo build --release -p subako-loader` makes the same program, linked dynamically and optimised
# for speed alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

triple=x86_64-unknown-linux-gnu
if [ "$(uname -sm)" != "Linux x86_64" ]; then
  echo "error: this builds for Linux on x86-64, and this is $(uname -sm): use cargo build --release -p subako-loader" >&2
  exit 2
fi

# With an explicit target, the flags are for the program alone: procedural macros are libraries
# that the compiler loads, and cannot be static.
RUSTFLAGS="-C target-feature=+crt-static -C relocation-model=static --cfg rustix_use_libc --cfg getrandom_backend=\"linux_getrandom\"" \
  cargo build --locked --profile deploy --target "$triple" --package subako-loader --bin subako-loader "$@"

target=${CARGO_TARGET_DIR:-target}
program=$target/$triple/deploy/subako-loader
# A static program asks for no interpreter, and one that is not relocated is of the type EXEC.
if readelf --program-headers --wide "$program" | grep -q INTERP; then
  echo "error: $program is not static" >&2
  exit 1
fi
if ! readelf --file-header --wide "$program" | grep -q 'Type:.*EXEC'; then
  echo "error: $program is relocated at its start" >&2
  exit 1
fi
size=$(stat --format %s "$program")
awk -v program="$program" -v size="$size" \
  'BEGIN { printf "%s: static, %d bytes (%.2f MiB)\n", program, size, size / 1048576 }'
