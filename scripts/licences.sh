#!/bin/sh
# licences.sh check   succeeds if docs/licences.md lists the modules that the command is made of, on the systems of a release
# licences.sh FOLDER  copies their licences to FOLDER
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
modules() {
	for os in linux darwin windows freebsd; do
		CGO_ENABLED=0 GOOS=$os $GO list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Dir}}{{end}}{{end}}' ./cmd/difalt
	done | sort -u
}
if [ "${1:?a folder, or check}" = check ]; then
	modules | cut -d' ' -f1 | grep -v '^$' >"${TMPDIR:-/tmp}/difalt-modules.$$"
	trap 'rm -f "${TMPDIR:-/tmp}/difalt-modules.$$"' EXIT
	sed -n 's/^| \([^ ]*\.[^ ]*\) |.*/\1/p' docs/licences.md | sort | diff - "${TMPDIR:-/tmp}/difalt-modules.$$"
	exit
fi
modules | while read -r path dir; do
	mkdir -p "$1/$path"
	find "$dir" -maxdepth 1 -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) -exec cp {} "$1/$path/" \;
	[ ! -d "$dir/licenses" ] || cp -r "$dir/licenses" "$1/$path/"
	[ -n "$(ls "$1/$path")" ] || { echo "licences.sh: $path has none" >&2; exit 1; }
done
