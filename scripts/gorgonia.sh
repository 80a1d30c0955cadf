#!/bin/sh
# Runs the example of kernel/blas below gorgonia.org/tensor, in a module of its own: the library does not require tensor.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp kernel/blas/testdata/gorgonia_test.go "$work"
root=$PWD
cd "$work"
export GOWORK=off GOFLAGS=-mod=mod
go mod init example
# The version of go4.org that tensor requires refuses Go 1.26.
go mod edit -replace "github.com/difalt/difalt=$root" -require gorgonia.org/tensor@v0.9.24 \
	-require go4.org/unsafe/assume-no-moving-gc@v0.0.0-20231121144256-b99613f794b6
go mod tidy
go test -v .
