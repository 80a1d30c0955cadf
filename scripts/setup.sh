#!/bin/sh
# Installs what the tests need beyond Go where that can be done without asking: on
# Debian and Ubuntu, as root or with passwordless sudo. Otherwise it says what to
# install and fails; the tests that need it are skipped.
set -u
cd "$(dirname "$0")" || exit 1

missing() { for need in cc openblas mpi qemu shellcheck nettools; do ./have.sh $need || echo $need; done; }

if ! command -v go >/dev/null; then
	echo "Go is missing: install Go 1.26 or later from https://go.dev/dl" >&2
	exit 1
fi
[ -n "$(missing)" ] || exit 0

root=
[ "$(id -u)" = 0 ] || root="sudo -n"
if command -v apt-get >/dev/null && $root true 2>/dev/null; then
	echo "installing:" $(missing)
	$root apt-get -qq update && $root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
		gcc libc6-dev libopenblas-dev liblapacke-dev libopenmpi-dev openmpi-bin qemu-user shellcheck iproute2 nftables >/dev/null
fi
[ -n "$(missing)" ] || exit 0
cat >&2 <<TEXT
For all tests this machine lacks: $(missing | paste -sd " " -)
  Debian, Ubuntu   apt-get install gcc libc6-dev libopenblas-dev liblapacke-dev libopenmpi-dev openmpi-bin qemu-user shellcheck iproute2 nftables
  Fedora           dnf install gcc openblas-devel lapack-devel openmpi-devel qemu-user ShellCheck iproute-tc nftables
  Alpine           apk add gcc musl-dev openblas-dev lapack-dev openmpi-dev openmpi qemu-aarch64 shellcheck iproute2 nftables
  macOS, Homebrew  brew install openblas open-mpi shellcheck
Libraries elsewhere are found through CGO_CFLAGS and CGO_LDFLAGS.
TEXT
exit 1
