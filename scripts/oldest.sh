#!/bin/sh
# Builds the library alone with the versions of its own go.mod, the oldest gonum that it works with, and runs the short
# tests of the packages that import gonum. Tests of lies and attacks say nothing about a version, and are left out. In
# the workspace of go.work all tests run with the newer gonum of the program.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
export GOWORK=off
echo "with gonum $($GO list -m -f '{{.Version}}' gonum.org/v1/gonum)"
$GO build ./...
users=$($GO list -f '{{.ImportPath}} {{join .Imports " "}}' ./... | sed -n 's,^\([^ ]*\) .*gonum\.org/.*,\1,p')
exec $GO test -short -vet=off -skip 'Lies|Steered|Attack|ManyTables|StrangeTables' "$@" $users
