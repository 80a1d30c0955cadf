#!/bin/sh
# Fails if regenerating the assembly changes a file. The files that are there are
# put back.
set -eu
tile=internal/tile
saved=$(mktemp -d)
cp -pR $tile/. "$saved"
restore() {
	cp -pR "$saved"/. $tile/
	rm -rf "$saved"
}
trap restore EXIT
GOWORK=off go generate ./$tile
diff -r "$saved" $tile || {
	echo "generated files are out of date: run go generate ./$tile and commit the result"
	exit 1
}
