#!/bin/sh
# Builds everything for arm64 and runs the tests of the kernel, natively or under
# qemu.
set -eu
export CGO_ENABLED=0 GOARCH=arm64
go build ./...
case $(uname -sm) in
*" arm64" | *" aarch64") go test ./kernel/... ;;
Darwin*) echo "note: built for arm64; not run, for want of qemu-user on macOS" ;;
*) GOOS=linux go test -exec qemu-aarch64 -timeout 20m ./kernel/... ;;
esac
