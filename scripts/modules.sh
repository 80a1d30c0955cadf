#!/bin/sh
# Checks the modules of this repository: go.mod and go.sum are complete, the library builds alone, and no go.mod
# has a replacement, which go install would refuse. With "write" it completes go.mod and go.sum.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go} root=$PWD
export GOWORK=off GOFLAGS=-mod=mod
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for module in . cmd/difalt bench/peers; do
	# go mod tidy does not read go.work: it gets the library by a replacement in a copy.
	cp "$module/go.mod" "$work/go.mod"
	cp "$module/go.sum" "$work/go.sum"
	if grep -q '^replace' "$module/go.mod"; then
		echo "$module/go.mod has a replacement: go install would refuse it" >&2
		exit 1
	fi
	[ "$module" = . ] || printf '\nreplace github.com/difalt/difalt => %s\n' "$root" >>"$work/go.mod"
	(cd "$module" && $GO mod tidy -modfile="$work/go.mod")
	sed -i.old '/^replace github.com\/difalt\/difalt => /d' "$work/go.mod"
	if [ "${1:-}" = write ]; then
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$work/go.mod" >"$module/go.mod"
		cp "$work/go.sum" "$module/go.sum"
	else
		diff -B "$module/go.mod" "$work/go.mod"
		grep -v '^github.com/difalt/difalt v' "$module/go.sum" >"$work/go.sum.old" # of a release, as users get it
		diff "$work/go.sum.old" "$work/go.sum"
	fi
done
for module in . cmd/difalt bench/peers; do # go.work names them, so that an image cannot be built without one
	if git -c core.excludesFile=.dockerignore check-ignore --no-index -q "$module/go.mod"; then
		echo "$module/go.mod is in .dockerignore" >&2
		exit 1
	fi
done
GOFLAGS='' $GO build ./...
cp go.mod go.sum "$work" # list adds to go.sum
all=$($GO list -m -modfile="$work/go.mod" all | wc -l)
[ "$all" -le 33 ] || {
	echo "a program that embeds the library has $all modules, more than 33" >&2
	exit 1
}
