#!/bin/sh
# Fails if the generator of the assembly, run in a copy, writes other files than those that are here.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
tile=internal/tile
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$tile"
cp go.mod go.sum "$work"
cp -R "$tile/." "$work/$tile"
(cd "$work" && GOWORK=off $GO generate "./$tile")
diff -r "$tile" "$work/$tile" || {
	echo "generated files are out of date: run go generate ./$tile and commit the result"
	exit 1
}
