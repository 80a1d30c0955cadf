#!/bin/sh
# licences.sh check   succeeds if docs/licences.md lists the modules that the command is made of, on the systems of a
#                     release, and if their licences can be collected
# licences.sh FOLDER  copies the licences of all that is in the command to FOLDER: of Go, of every module, of packages
#                     that have one of their own, and of the works of others that gonum contains
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The module, the folder of the module and the folder of every package that a release contains.
for os in linux darwin windows freebsd; do
	# shellcheck disable=SC2016 # a template of Go
	CGO_ENABLED=0 GOOS=$os $GO list -deps \
		-f '{{$p := .}}{{with .Module}}{{if not .Main}}{{.Path}}|{{.Dir}}|{{$p.Dir}}{{end}}{{end}}' ./cmd/difalt >"$work/$os"
done
cat "$work/linux" "$work/darwin" "$work/windows" "$work/freebsd" | grep . | sort -u >"$work/packages"
cut -d'|' -f1 "$work/packages" | sort -u >"$work/modules"

# licences prints the names of licences in a folder, without the folders in it.
licences() {
	find "$1" -maxdepth 1 -type f \
		\( -iname '*licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'patents*' \) ! -name '*.go'
}

# copy copies the licences of a folder, and of folders in it that are named for them.
copy() { # FROM TO
	{
		licences "$1"
		find "$1" -maxdepth 1 -type d \( -iname '*licen[cs]es*' \) -exec find {} -type f \;
	} | while IFS= read -r file; do
		mkdir -p "$2"
		cp "$file" "$2/"
	done
}

collect() {
	copy "$($GO env GOROOT)" "$1/go"
	while IFS='|' read -r path module folder; do
		# The package itself, and all folders above it up to that of the module.
		while :; do
			copy "$folder" "$1/$path${folder#"$module"}"
			[ "$folder" != "$module" ] || break
			folder=$(dirname "$folder")
		done
	done <"$work/packages"
}

# verify fails if a module has no licence, or if a work is missing whose licence asks to be reproduced.
verify() {
	for path in go $(cat "$work/modules"); do
		[ -n "$(find "$1/$path" -maxdepth 1 -type f 2>/dev/null)" ] || {
			echo "licences.sh: $path has none" >&2
			return 1
		}
	done
	for text in 'go/LICENSE|The Go Authors' 'go/PATENTS|Google' \
		'gonum.org/v1/gonum/Cephes-LICENSE|Stephen L. Moshier' 'gonum.org/v1/gonum/Boost-LICENSE|Boost Software License' \
		'github.com/klauspost/compress/zstd/internal/xxhash/LICENSE.txt|Caleb Spare' \
		'github.com/parquet-go/parquet-go/encoding/thrift/LICENSE|Permission is hereby granted'; do
		grep -q "${text#*|}" "$1/${text%%|*}" || {
			echo "licences.sh: ${text%%|*} does not say \"${text#*|}\"" >&2
			return 1
		}
	done
}

if [ "${1:?a folder, or check}" != check ]; then
	collect "$1"
	verify "$1"
	exit
fi
sed -n 's/^| \([^ ]*\.[^ ]*\) |.*/\1/p' docs/licences.md | sort | diff - "$work/modules"
collect "$work/all"
verify "$work/all"
