#!/usr/bin/env bash
# Puts what only maintainers need (protoc, uv) into .build/maintain, from its lock file: tools/maintain.sh PYTHON
# The copy of the lock file inside says what is there; nothing happens when it is the same.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
lock=$root/python/requirements-maintain.lock into=$root/.build/maintain

if ! cmp -s "$lock" "$into/lock"; then
	rm -rf "$into"
	"$1" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --require-hashes --only-binary :all: \
		--target "$into" -r "$lock"
	cp "$lock" "$into/lock"
fi
