#!/bin/sh
# Checks for what the tests need beyond Go and installs it where that can be done
# without asking: on Debian and Ubuntu, as root or with passwordless sudo.
# Everywhere else it says what to install and fails.
set -u

have() { command -v "$1" >/dev/null 2>&1; }

includes() {
	echo "#include <$1>" |
		"${CC:-cc}" ${CGO_CFLAGS:-} -I/usr/include/openblas -I/opt/homebrew/opt/openblas/include \
			-I/usr/local/opt/openblas/include -fsyntax-only -xc - 2>/dev/null
}

missing() {
	have "${CC:-cc}" || echo "a C compiler"
	if have "${CC:-cc}"; then
		includes cblas.h || echo "OpenBLAS with its headers"
		[ "$(uname)" = Darwin ] || includes lapacke.h || echo "LAPACKE with its headers"
	fi
	case $(uname -sm) in
	*" arm64" | *" aarch64" | Darwin*) ;; # arm64 tests run natively, or not at all
	*) have qemu-aarch64 || echo "qemu-aarch64 (to test the arm64 code)" ;;
	esac
}

explain() {
	echo "The tests need, and this machine lacks:"
	echo "$1" | sed 's/^/  - /'
	cat <<'TEXT'
Install with
  Debian, Ubuntu   apt-get install gcc libc6-dev libopenblas-dev liblapacke-dev qemu-user
  Fedora           dnf install gcc openblas-devel lapack-devel qemu-user
  Alpine           apk add gcc musl-dev openblas-dev lapack-dev qemu-aarch64
  macOS, Homebrew  brew install openblas
Libraries elsewhere are found through CGO_CFLAGS and CGO_LDFLAGS.
TEXT
}

if ! have go; then
	echo "Go is missing: install Go 1.26 or later from https://go.dev/dl" >&2
	exit 1
fi
if [ -z "$(missing)" ]; then
	exit 0
fi

root=
if [ "$(id -u)" != 0 ]; then
	root="sudo -n"
	$root true 2>/dev/null || root=none
fi
if have apt-get && [ "$root" != none ]; then
	echo "installing: $(missing | paste -sd, -)"
	log=$(mktemp)
	if ! { $root apt-get update && $root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
		gcc libc6-dev libopenblas-dev liblapacke-dev qemu-user; } >"$log" 2>&1; then
		tail -n 20 "$log" >&2
	fi
	rm -f "$log"
fi

lacks=$(missing)
if [ -n "$lacks" ]; then
	explain "$lacks" >&2
	exit 1
fi
