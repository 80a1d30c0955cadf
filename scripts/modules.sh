#!/bin/sh
# Checks the modules of this repository: go.mod and go.sum are complete, the library builds alone, and no go.mod
# has a replacement, which go install would refuse. With "write" it completes go.mod and go.sum.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go} root=$PWD library=github.com/difalt/difalt
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
	[ "$module" = . ] || $GO mod edit -replace "$library=$root" "$work/go.mod"
	(cd "$module" && $GO mod tidy -modfile="$work/go.mod")
	$GO mod edit -dropreplace "$library" "$work/go.mod"
	if [ "${1:-}" = write ]; then
		sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' "$work/go.mod" >"$module/go.mod"
		cp "$work/go.sum" "$module/go.sum"
	else
		diff -B "$module/go.mod" "$work/go.mod"
		grep -v "^$library v" "$module/go.sum" >"$work/go.sum.old" # of a release, as users get it
		diff "$work/go.sum.old" "$work/go.sum"
	fi
done
# go.work names the modules: without one of them an image cannot be built. A repository of its own reads .dockerignore as
# git reads .gitignore; so this works without .git, too.
git init -q "$work/ignored"
cp .dockerignore "$work/ignored/.gitignore"
for module in . cmd/difalt bench/peers; do
	ignored=0
	git -C "$work/ignored" check-ignore --no-index -q "$module/go.mod" || ignored=$?
	[ "$ignored" = 1 ] || {
		echo "$module/go.mod is in .dockerignore, or git fails: exit code $ignored" >&2
		exit 1
	}
done
GOFLAGS='' $GO build ./...
cp go.mod go.sum "$work" # list adds to go.sum
all=$($GO list -m -modfile="$work/go.mod" all | wc -l)
[ "$all" -le 33 ] || {
	echo "a program that embeds the library has $all modules, more than 33" >&2
	exit 1
}
