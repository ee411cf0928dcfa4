#!/bin/sh
# dcc report and --explain=json: the JSON keeps its schema and says what
# --explain says, a page holds it whole, hostile text ends nothing early, times
# of a profile stand where they belong, and bad ones are errors.
src=${DCC_SRC:-$(cd "$(dirname "$0")/.." && pwd)}
dcc=${DCC_BIN:-$src/build/dcc}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work" || exit 1
exec python3 "$src/tests/report.py" "$dcc" "$src"
