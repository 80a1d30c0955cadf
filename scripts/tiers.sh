#!/bin/sh
# Tests the kernel and the algorithm, with the given flags of go test, once on every CPU tier of this machine other than the
# default one, which all other tests use. It prints "skip:" for a tier that the machine lacks.
set -eu
info=$(go run ./cmd/difalt info)
field() { echo "$info" | sed -n "s/^$1 *//p"; }
default=$(field kernel)
available=$(field available)
[ -n "$default" ]
case $(go env GOARCH) in
amd64) tiers="gonum generic avx2 avx512" ;;
arm64) tiers="gonum generic neon" ;;
*) tiers="gonum generic" ;;
esac
failed=
for tier in $tiers; do
	case " $available " in
	*" $tier "*) ;;
	*)
		echo "skip: no $tier on this machine"
		continue
		;;
	esac
	case $tier in
	"$default") continue ;;
	generic | gonum) packages=./kernel ;; # test-algorithm covers the packages above
	*) packages="./kernel ./difalt" ;;
	esac
	echo "note: DIFALT_KERNEL=$tier: $packages"
	# The test cache does not see an environment variable that is read before the tests start.
	DIFALT_KERNEL=$tier go test -count=1 "$@" $packages || failed="$failed $tier"
done
if [ -n "$failed" ]; then
	echo "failed on:$failed"
	exit 1
fi
