#!/usr/bin/env bash
# Builds the wheel and installs it: tools/wheel.sh PYTHON DIST
# Requirements are not looked at: the environment has them from its lock file.
set -euo pipefail
python=$1 dist=$2
root=$(cd "$(dirname "$0")/.." && pwd)
python=$root/$python
mkdir -p "$dist" && dist=$(cd "$dist" && pwd)

rm -f "$dist"/*.whl
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! (cd "$root/python" && "$python" -m hatchling build -t wheel -d "$dist") >"$log" 2>&1 ||
	! "$python" -m pip install --disable-pip-version-check --no-input --no-deps --no-index --force-reinstall "$dist"/*.whl >>"$log" 2>&1; then
	# A message of ours stands at the end of a Python traceback, and is all that is needed.
	sed -n '/^RuntimeError: /,$p' "$log" | grep . >&2 || cat "$log" >&2
	exit 1
fi
