#!/usr/bin/env bash
# Renews python/*.lock from python/*.in: tools/lock.sh PYTHON [OPTION OF uv pip compile...]
# One lock file serves every supported Python (environment markers), and names no package index.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=$1
shift

"$root/tools/maintain.sh" "$python"
cd "$root/python"
lock() {
	"$root/.build/maintain/bin/uv" pip compile --quiet --universal --python "$python" --python-version 3.10 --generate-hashes \
		--no-emit-index-url --no-emit-find-links --no-header -o "$1.lock" "${@:2}" "$1.in"
}
python=$root/$python
lock requirements-build "$@"
lock requirements -c requirements-build.lock "$@"
lock requirements-maintain "$@"
