#!/bin/sh
# Installs what the peers need: compilers and libraries by apt-get where that can be
# done without asking, and Python packages into .venv in this folder. What cannot
# be installed is named, and the peers that need it are reported as absent.
#
# PEERS_PYTHON=/path/to/python uses that interpreter and its packages instead.
set -u
cd "$(dirname "$0")" || exit 1

have() { command -v "$1" >/dev/null 2>&1; }

includes() { echo "#include <$1>" | "${2:-cc}" -I/usr/include/eigen3 -I/usr/include/openblas -fsyntax-only -x"${3:-c}" - 2>/dev/null; }

missing() {
	have cc || echo gcc
	have c++ || echo g++
	have pkg-config || echo pkg-config
	have taskset || echo util-linux
	includes cblas.h || echo libopenblas-dev
	includes lapacke.h || echo liblapacke-dev
	includes Eigen/Dense c++ c++ || echo libeigen3-dev
	[ -n "${PEERS_PYTHON:-}" ] || python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

packages=$(missing | tr '\n' ' ')
if [ -n "$packages" ]; then
	root=
	[ "$(id -u)" = 0 ] || root="sudo -n"
	if have apt-get && $root true 2>/dev/null; then
		echo "peers: installing $packages"
		log=$(mktemp)
		# shellcheck disable=SC2086 # a list of words
		if ! { $root apt-get update && $root env DEBIAN_FRONTEND=noninteractive \
			apt-get install -y --no-install-recommends $packages; } >"$log" 2>&1; then
			tail -n 5 "$log" >&2
		fi
		rm -f "$log"
	fi
	packages=$(missing | tr '\n' ' ')
	[ -z "$packages" ] || echo "peers: missing, install them to measure all peers (names as on Debian): $packages" >&2
fi

[ -n "${PEERS_PYTHON:-}" ] && exit 0
[ -x .venv/bin/python ] || python3 -m venv .venv || exit 0
# One at a time: a package without a wheel for this machine must not keep the
# others out.
for package in numpy numba jax mkl; do
	.venv/bin/python -c "import importlib.metadata as m; m.version('$package')" 2>/dev/null ||
		.venv/bin/python -m pip install --quiet --disable-pip-version-check "$package" ||
		echo "peers: pip cannot install $package" >&2
done
