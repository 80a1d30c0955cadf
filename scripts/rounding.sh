#!/bin/sh
# Fails where the compiler for arm64 would round a product and the sum that it is added to once, in code of
# the library: results would have other bits there than on amd64. The compiler prints such places if asked,
# and so do packages that were built before.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
export CGO_ENABLED=0 GOOS=linux GOARCH=arm64

# fused prints the places in packages. Where a function was inlined, it is the place in the source of the
# function, or the call of a function that is not in this repository.
fused() {
	$GO build -gcflags=-d=fmahash=vy "$@" 2>&1 |
		sed -n 's# \[bisect-match.*##; /triggered/d; s#; /.*##; s#.*; ##; s#^\./##; /^[^ ]*\.go:[0-9]*:[0-9]*$/p' | sort -u
}

# The compiler must tell each kind of place: in one statement, in two, in a generic function of another
# package, and after a function that was inlined.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/product"
cat >"$work/go.mod" <<-'END'
	module sum
	go 1.26
END
cat >"$work/product/product.go" <<-'END'
	package product

	func Of(x, y float64) float64 { return x * y }

	func Plus[F float32 | float64](x, y, z F) F {
		s := x * y
		return s + z
	}
END
cat >"$work/sum.go" <<-'END'
	package sum

	import "sum/product"

	func One(x, y, z float64) float64 { return x*y + z }

	func Two(x, y, z float64) float64 {
		s := x * y
		z /= 3
		return s + z
	}

	func Generic(x, y, z float64) float64 { return product.Plus(x, y, z) }

	func Inlined(x, y, z float64) float64 { return product.Of(x, y) - z }
END
found=$(cd "$work" && GOWORK=off fused ./... | cut -d: -f1,2 | tr '\n' ' ')
[ "$found" = "product/product.go:7 sum.go:10 sum.go:15 sum.go:5 " ] || {
	echo "this compiler tells other places where it rounds once: $found"
	exit 1
}

for tags in "" purego; do # with the tiles of arm64, and without
	$GO build -tags "$tags" ./...
	# internal/measure counts operations. docs/kernel.md lists spectral gaps among results with other bits.
	places=$(fused -tags "$tags" ./... | grep -Ev '^internal/measure/|^topology/gamma\.go' || true)
	[ -z "$places" ] || {
		echo "$places"
		echo "products and sums above are rounded once on arm64 and twice on amd64: write float64(x*y) + z"
		exit 1
	}
done
