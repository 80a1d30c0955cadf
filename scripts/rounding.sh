#!/bin/sh
# Fails where the compiler for arm64 would round a product and the sum that it is added to once, in code of
# the library: results would have other bits there than on amd64. The compiler prints such places if asked,
# and so do packages that were built before.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
export CGO_ENABLED=0 GOOS=linux GOARCH=arm64

# fused prints the places in packages: of functions that were inlined, those in the source of the function.
fused() {
	$GO build -gcflags=-d=fmahash=vy "$@" 2>&1 |
		sed -n 's# \[bisect-match.*##; s#.*; ##; s#^\./##; /^[^ ]*\.go:[0-9]*:[0-9]*$/p' | sort -u
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'package sum\n\nfunc Of(x, y, z float64) float64 { return x*y + z }\n' >"$work/sum.go"
[ "$(fused "$work/sum.go")" ] || { echo "this compiler does not tell where it rounds once" && exit 1; }

for tags in "" purego; do # with the tiles of arm64, and without
	$GO build -tags "$tags" ./...
	# internal/measure counts operations.
	places=$(fused -tags "$tags" ./... | grep -Ev '^/|^internal/measure/' || true)
	[ -z "$places" ] || {
		echo "$places"
		echo "products and sums above are rounded once on arm64 and twice on amd64: write float64(x*y) + z"
		exit 1
	}
done
