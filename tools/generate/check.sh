#!/usr/bin/env bash
# Generates the wire's code into .build/generated and compares it with what is committed: tools/generate/check.sh PYTHON
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/.build/generated

rm -rf "$out"
"$root/tools/generate/generate.sh" "$1" "$out"
stale=0
while read -r file; do
	cmp -s "$out/$file" "$root/$file" || { echo "outrider: $file is not what bridge/proto/outrider.proto generates" >&2; stale=1; }
done < <(cd "$out" && find . -type f -printf '%P\n' | sort)
[ $stale = 0 ] || { echo "outrider: run make generate and commit what it changes" >&2; exit 1; }
