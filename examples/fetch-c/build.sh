#!/usr/bin/env bash
# Builds the package into a directory: build.sh OUTPUT
#
# Takes clang 19 with wasi-libc (Debian: clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32), or
# else zig from PyPI (ziglang). CC_WASM names another compiler and its flags.
set -euo pipefail

if [ $# -ne 1 ]; then
  echo "usage: $0 OUTPUT" >&2
  exit 2
fi
mkdir -p "$1"
output=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")"

if [ -n "${CC_WASM:-}" ]; then
  read -ra compiler <<<"$CC_WASM"
elif command -v clang-19 >/dev/null && command -v wasm-ld-19 >/dev/null && [ -e /usr/lib/wasm32-wasi/libc.a ]; then
  compiler=(clang-19 --target=wasm32-wasi)
elif python3 -c 'import ziglang' 2>/dev/null; then
  compiler=(python3 -m ziglang cc -target wasm32-wasi)
else
  echo "error: no C compiler for WASI: apt-get install --no-install-recommends clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32, or pip install ziglang" >&2
  exit 1
fi

# -s: no names and no debug information, and with them no path of this machine.
"${compiler[@]}" -std=gnu11 -O2 -Wall -Wextra -s -o "$output/module.wasm" -I ../greet-c main.c ../greet-c/json.c
cp subako-package.json "$output/subako-package.json"
