#!/bin/sh
# Runs the library's short tests alone, with the versions of its own go.mod: the oldest gonum that it works with. In the
# workspace of go.work the same tests run with the newer gonum of the program.
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off
echo "with gonum $(go list -m -f '{{.Version}}' gonum.org/v1/gonum)"
exec go test -short -vet=off "$@" ./...
