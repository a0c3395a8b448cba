#!/usr/bin/env bash
# Makes the work tree's virtual environment from lock files, in their order: tools/venv.sh PYTHON VENV LOCK...
# Every file that pip takes must match a hash in its lock file, also the tools of packages published as source only:
# they come from the first lock file, and no build may fetch others. pip's own words are shown only when it fails.
set -euo pipefail
python=$1 venv=$2
shift 2

if ! command -v "$python" >/dev/null; then
	echo "outrider: no $python on PATH; install Python 3.10 or later, or name one: make PYTHON=/path/to/python3" >&2
	exit 1
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
	echo "outrider: $("$python" --version 2>&1) is below Python 3.10; name a later one: make PYTHON=/path/to/python3" >&2
	exit 1
fi

# An environment of another Python, or half of one, is made again from nothing.
if [ -e "$venv" ] && [ "$("$venv/bin/python" -m pip --version 2>/dev/null | sed 's/.*(//')$("$venv/bin/python" -V 2>/dev/null)" != \
	"$("$python" -c 'import sys; print("python %d.%d)" % sys.version_info[:2])')$("$python" -V)" ]; then
	rm -rf "$venv"
fi
echo "outrider: setting up $venv: $("$python" --version), $(cat "$@" | grep -c '==') pinned packages"
"$python" -m venv "$venv"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for lock in "$@"; do
	if ! "$venv/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps --no-build-isolation \
		--require-hashes -r "$lock" >"$log" 2>&1; then
		tail -n 20 "$log" >&2
		echo "outrider: $venv could not be filled from $lock; the lines above are pip's own" >&2
		exit 1
	fi
done
