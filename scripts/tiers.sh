#!/bin/sh
# Tests the kernel, and the given packages in short, once for every CPU tier that this
# machine has, but for the one that all other tests run on.
set -eu
info=$(go run ./cmd/difalt info)
field() { echo "$info" | sed -n "s/^$1 *//p"; }
default=$(field kernel)
[ -n "$default" ]
failed=
for tier in $(field available); do
	[ "$tier" != "$default" ] || continue
	echo "note: DIFALT_KERNEL=$tier"
	# The test cache knows nothing of what is read before the tests start.
	DIFALT_KERNEL=$tier go test -count=1 ./kernel/... &&
		DIFALT_KERNEL=$tier go test -short -count=1 "$@" || failed="$failed $tier"
done
if [ -n "$failed" ]; then
	echo "failed on:$failed"
	exit 1
fi
