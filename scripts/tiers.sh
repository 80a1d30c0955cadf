#!/bin/sh
# Tests what a CPU tier can change, with the given flags of go test, once for every tier
# that this machine has, but for the one that all other tests run on. The tests of the
# tiles take every tier by themselves, and what stands above the kernel in portable Go is
# tested by make test-purego.
set -eu
info=$(go run ./cmd/difalt info)
field() { echo "$info" | sed -n "s/^$1 *//p"; }
default=$(field kernel)
[ -n "$default" ]
failed=
for tier in $(field available); do
	case $tier in
	"$default") continue ;;
	generic) packages=./kernel ;;
	*) packages="./kernel ./consensus/... ./difalt" ;;
	esac
	echo "note: DIFALT_KERNEL=$tier: $packages"
	# The test cache knows nothing of what is read before the tests start.
	DIFALT_KERNEL=$tier go test -count=1 "$@" $packages || failed="$failed $tier"
done
if [ -n "$failed" ]; then
	echo "failed on:$failed"
	exit 1
fi
