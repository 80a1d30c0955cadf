#!/bin/sh
# Builds everything for arm64 and runs the tests of the kernel, natively or under
# qemu.
set -eu
export CGO_ENABLED=0 GOARCH=arm64
go build ./...
case $(uname -m) in
arm64 | aarch64) go test ./kernel/... ;;
*) GOOS=linux ./scripts/have.sh qemu go test -exec qemu-aarch64 -timeout 20m ./kernel/... ;;
esac
