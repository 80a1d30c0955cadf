#!/bin/sh
# Tests the given packages once for every CPU tier that this machine has.
set -eu
info=$(go run ./cmd/difalt info)
tiers=$(echo "$info" | sed -n 's/^available *//p')
[ -n "$tiers" ]
echo "note: tiers of this machine: $tiers"
failed=
for tier in $tiers; do
	echo "DIFALT_KERNEL=$tier"
	# The test cache knows nothing of what is read before the tests start.
	DIFALT_KERNEL=$tier go test -count=1 "$@" || failed="$failed $tier"
done
if [ -n "$failed" ]; then
	echo "failed on:$failed"
	exit 1
fi
