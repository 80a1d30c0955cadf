#!/bin/sh
# have.sh NEED             succeeds if this machine has NEED: cc, openblas, mpi, qemu, shellcheck, nettools
#                          (programs for networks of its own) or netns (and may make such networks)
# have.sh NEED COMMAND...  runs the command if so, and otherwise says that it is skipped
set -eu
PATH=$PATH:/usr/sbin:/sbin # where programs for networks are

compiles() {
	echo "#include <$1>" |
		"${CC:-cc}" ${CGO_CFLAGS:-} -I/usr/include/openblas -I/opt/homebrew/opt/openblas/include \
			-I/usr/local/opt/openblas/include -fsyntax-only -xc - 2>/dev/null
}

has() {
	case $1 in
	cc) compiles stdlib.h ;;
	openblas) compiles cblas.h && { [ "$(uname)" = Darwin ] || compiles lapacke.h; } ;;
	mpi) # a wrapper adds its flags to what is not only checked
		command -v mpirun >/dev/null && echo "#include <mpi.h>" | mpicc -xc -c -o /dev/null - 2>/dev/null ;;
	qemu) # not needed where arm64 is native
		case $(uname -m) in
		arm64 | aarch64) ;;
		*) command -v qemu-aarch64 >/dev/null ;;
		esac ;;
	nettools) # of Linux only
		[ "$(uname)" != Linux ] || { command -v ip && command -v tc && command -v nft; } >/dev/null ;;
	netns) [ "$(uname)" = Linux ] && has nettools && unshare --net nft add table inet difalt 2>/dev/null ;;
	shellcheck) command -v shellcheck >/dev/null ;;
	*) echo "have.sh: $1 is unknown" >&2 && exit 2 ;;
	esac
}

need=$1
shift
if has "$need"; then
	exec "${@:-true}"
fi
[ $# -gt 0 ] || exit 1
echo "skip: no $need on this machine for: $*"
