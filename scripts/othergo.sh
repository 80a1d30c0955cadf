#!/bin/sh
# Checks that both supported releases of Go serve: with the one that is not in use it vets the library, checks the types
# of the program, and runs the given arguments of go test. The go command downloads the release if it may.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
have=$($GO env GOVERSION)
for release in go1.26.8 go1.27.1; do
	case $have in "${release%.*}"*) continue ;; esac
	if ! GOTOOLCHAIN=$release $GO version >/dev/null 2>&1; then
		echo "skip: no $release on this machine, and none to download"
		continue
	fi
	echo "note: with $release"
	export GOTOOLCHAIN=$release
	$GO vet ./...
	$GO run ./scripts/systems "$($GO env GOOS)/$($GO env GOARCH)" ./cmd/difalt/...
	$GO test "$@"
done
