#!/usr/bin/env bash
# Generates the wire's Go and Python code from bridge/proto/outrider.proto: tools/generate/generate.sh PYTHON OUT
# OUT is the root that the files are laid under: the work tree to renew them, another folder to compare.
set -euo pipefail
python=$1 out=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
bin=$root/.build/bin protoc=$root/.build/maintain/protoc/data/bin/protoc
mkdir -p "$out" && out=$(cd "$out" && pwd)

"$root/tools/maintain.sh" "$python"
(cd "$root/tools/generate" && go build -o "$bin/" google.golang.org/protobuf/cmd/protoc-gen-go \
	google.golang.org/grpc/cmd/protoc-gen-go-grpc)

# Python names a module by its file, and the module is outrider._wire_pb2: protoc reads the page under that name.
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/outrider" "$out/bridge/wire" "$out/python"
cp "$root/bridge/proto/outrider.proto" "$tmp/outrider/_wire.proto"

"$protoc" --proto_path="$tmp" --python_out="$out/python" --pyi_out="$out/python" outrider/_wire.proto
PATH=$bin:$PATH "$protoc" --proto_path="$root/bridge/proto" \
	--go_out="$out/bridge/wire" --go_opt=paths=source_relative \
	--go-grpc_out="$out/bridge/wire" --go-grpc_opt=paths=source_relative outrider.proto
