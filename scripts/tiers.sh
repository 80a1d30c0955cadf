#!/bin/sh
# tiers.sh PACKAGE TIERS FLAGS... tests a package, with flags of go test, on those of some CPU tiers that are not
# the default one, which all other tests use. It prints "skip:" for a tier of this processor's kind that the
# machine lacks.
set -eu
package=$1 tiers=$2
shift 2
info=$(go run ./cmd/difalt info)
field() { echo "$info" | sed -n "s/^$1 *//p"; }
default=$(field kernel)
available=$(field available)
[ -n "$default" ]
case $(go env GOARCH) in
amd64) other="neon" ;;
arm64) other="avx2 avx512" ;;
*) other="avx2 avx512 neon" ;;
esac
failed=
for tier in $tiers; do
	case " $default $other " in
	*" $tier "*) continue ;;
	esac
	case " $available " in
	*" $tier "*) ;;
	*)
		echo "skip: no $tier on this machine"
		continue
		;;
	esac
	echo "note: DIFALT_KERNEL=$tier: $package"
	# The test cache does not see an environment variable that is read before the tests start.
	DIFALT_KERNEL=$tier go test -count=1 "$@" "$package" || failed="$failed $tier"
done
if [ -n "$failed" ]; then
	echo "failed on:$failed"
	exit 1
fi
