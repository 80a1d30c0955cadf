#!/bin/sh
# Installs what the peers need: compilers and libraries where apt-get can do so without
# asking, and Python packages into .venv in this folder. Peers that lack something are
# reported as absent, with the reason, when they are measured.
#
# PEERS_PYTHON=/path/to/python uses that interpreter and its packages instead.
set -u
cd "$(dirname "$0")" || exit 1

packages=
for p in gcc g++ pkg-config util-linux libopenblas-dev liblapacke-dev libeigen3-dev python3-venv; do
	dpkg -s $p >/dev/null 2>&1 || packages="$packages $p"
done
root=
[ "$(id -u)" = 0 ] || root="sudo -n"
if [ -n "$packages" ] && command -v apt-get >/dev/null && $root true 2>/dev/null; then
	echo "peers: installing$packages"
	# shellcheck disable=SC2086 # a list of words
	$root apt-get -qq update && $root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq install -y --no-install-recommends $packages >/dev/null
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
