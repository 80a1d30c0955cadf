#!/bin/sh
# release.sh VERSION            makes a release
# release.sh VERSION --dry-run  tries it, and leaves this repository as it is
# release.sh VERSION --notes    prints the notes of a release
#
# Makes the release VERSION (v1.2.3) from the head of this repository: one commit and two tags, and in dist the packages
# of scripts/packages, signed with the key SIGN if that is set. It prints the command that publishes them. The commit
# dates the section of CHANGELOG.md, writes version and day to CITATION.cff, and sets the version that the program
# requires, in go.work too.
#
# Everything is made and tried in a clone: the program is installed, and the library embedded, from the tags as a user
# would, and the sources of the tag build without a network. Only then are commit and tags fetched into this repository.
# The tags start the release workflow, which builds the packages again and publishes them.
#
# Modules and builds come from the caches of this machine; what was downloaded of the tags is removed from them.
set -eu
cd "$(dirname "$0")/.."
repository=$PWD
GO=${GO:-go}
usage() {
	echo "usage: release.sh VERSION [--dry-run | --notes]; VERSION is v1.2.3 or v1.2.3-rc.1" >&2
	exit 2
}
[ $# -ge 1 ] || usage
version=$1
printf '%s\n' "$version" | grep -Eq '^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$' || usage
case ${2:-} in '' | --dry-run | --notes) ;; *) usage ;; esac
fail() {
	echo "release.sh: $*" >&2
	exit 1
}
number=${version#v}
module=github.com/difalt/difalt
tags="$version cmd/difalt/$version"
notes() { sed -n "/^## $number (/,/^## /{/^## /!p;}" CHANGELOG.md; }
notes | grep -q . || fail "CHANGELOG.md has no notes below \"## $number (unreleased)\""
if [ "${2:-}" = --notes ]; then
	notes
	exit
fi
grep -q "^## $number (unreleased)\$" CHANGELOG.md || fail "CHANGELOG.md does not say \"## $number (unreleased)\""
if [ -n "$(git status --porcelain --untracked-files=no)" ]; then
	[ "${2:-}" = --dry-run ] || fail "uncommitted changes: commit or drop them first"
	echo "note: uncommitted changes are not tried"
fi
for tag in $tags; do
	git rev-parse -q --verify "refs/tags/$tag" >/dev/null && fail "the tag $tag exists"
done
sign=${SIGN:-}
if [ "${2:-}" != --dry-run ]; then
	[ -z "$(ls dist 2>/dev/null)" ] || fail "dist is not empty: remove it"
	[ -z "$sign" ] || sign=$(realpath "$sign")
fi

work=$(mktemp -d)
modules=$($GO env GOMODCACHE)

# forget removes what was downloaded from the tags: it holds for this clone only.
forget() {
	for folder in "$module" "$module/cmd/difalt"; do
		rm -rf "$modules/$folder@$version" "$modules/cache/download/$folder/@v/"*
	done
	grep -ls "https://$module\$" "$modules/cache/vcs/"*.info | while IFS= read -r info; do
		rm -rf "${info%.info}" "$info" "${info%.info}.lock"
	done
}
trap 'forget; rm -rf "$work"' EXIT
git clone -q "file://$repository" "$work/clone"
# A home of its own with settings for git alone, which every version reads.
mkdir "$work/home"
cat >"$work/home/.gitconfig" <<-END
	[user]
		name = $(git config user.name || echo difalt)
		email = $(git config user.email || echo difalt@localhost)
	[url "file://$work/clone"]
		insteadOf = https://$module
END
GOCACHE=$($GO env GOCACHE) GOENV=$($GO env GOENV)
# The tags come from the clone; other modules from the cache of this machine.
proxy=file://$modules/cache/download,$($GO env GOPROXY)
export GOCACHE GOENV GOMODCACHE="$modules" HOME="$work/home" XDG_CONFIG_HOME="$work/home" GOPRIVATE="$module" GOPROXY="$proxy"
export GOWORK=off GOFLAGS=-modcacherw
# The go command would reuse its index of the imports of a version, which an earlier dry run made of other sources.
export GODEBUG=goindex=0
forget

# quietly runs the go command in a folder, and prints its output if it fails.
quietly() {
	folder=$1
	shift
	(cd "$folder" && $GO "$@") >"$work/log" 2>&1 || fail "go $*: $(cat "$work/log")"
}

# tag moves both tags to the head of the clone.
tag() {
	for tag in $tags; do
		git tag -f "$tag" >/dev/null
	done
	forget
}

cd "$work/clone"
day=$(date -u +%Y-%m-%d)
sed -i.old "s/^## $number (unreleased)\$/## $number ($day)/" CHANGELOG.md
awk -v number="$number" -v day="$day" '/^date-released: / { next }
	/^version: / { print "version: " number; print "date-released: " day; next } { print }' CITATION.cff >CITATION.cff.new
mv CITATION.cff.new CITATION.cff
grep -qx "version: $number" CITATION.cff || fail "CITATION.cff has no version"
sed -i.old "s#^replace $module v[^ ]* =>#replace $module $version =>#" go.work
grep -q "^replace $module $version => ./\$" go.work || fail "go.work does not replace $module"
find . -name '*.old' -exec rm {} +
for m in cmd/difalt bench/peers; do
	(cd $m && $GO mod edit -require="$module@$version")
done
git commit -q -a -m "release: $version"
tag
# go.sum of a nested module holds the hash of the library, which does not contain that module.
for m in cmd/difalt bench/peers; do
	quietly $m mod tidy
done
git commit -q -a --amend --no-edit
tag

echo "install $module/cmd/difalt@$version"
GOBIN="$work/bin" quietly "$work" install "$module/cmd/difalt@$version"
[ "$("$work/bin/difalt" --version)" = "difalt version $version" ] || fail "$("$work/bin/difalt" --version), not $version"
"$work/bin/difalt" simulate --trials 1 --out "$work/out" >"$work/log" 2>&1 || fail "difalt simulate: $(cat "$work/log")"
oldest=$(sed -n 's,^.*gonum\.org/v1/gonum \(v[^ ]*\).*,\1,p' "$work/clone/go.mod")
echo "embed $module@$version in a program that has gonum $oldest"
mkdir "$work/embed"
cd "$work/embed"
cat >main.go <<-END
	package main

	import (
		"context"
		"math"

		"$module/difalt"
		"$module/kernel"
		"$module/kernel/blas"
		"gonum.org/v1/gonum/mat"
	)

	// Two tasks of which each response is the first feature.
	func main() {
		blas.Use()
		x := mat.NewDense(4, 2, []float64{1, 2, -1, 1, 2, -1, 3, 1})
		y := mat.Col(nil, 0, x)
		tasks, err := kernel.NewTasks([]mat.Matrix{x, x}, [][]float64{y, y})
		if err != nil {
			panic(err)
		}
		model, err := difalt.Fit(context.Background(), tasks, 1)
		if err != nil {
			panic(err)
		}
		if p := model.Predict(nil, 1, []float64{5, 7})[0]; math.Abs(p-5) > 1e-6 {
			panic(p)
		}
	}
END
quietly . mod init example.org/embed
quietly . get "gonum.org/v1/gonum@$oldest"
quietly . get "$module/kernel@$version"
quietly . mod tidy
quietly . run .
has=$($GO list -m -f '{{.Version}}' gonum.org/v1/gonum)
[ "$has" = "$oldest" ] || fail "go get of $version raises gonum from $oldest to $has"
echo "build the sources of $version without a network"
cd "$work/clone"
for folder in cmd/difalt bench/peers .; do
	GOWORK='' GOPROXY=off quietly $folder list -deps ./...
done
GOWORK='' GOPROXY=off quietly cmd/difalt build -buildvcs=true -o "$work/bin/built" .
[ "$("$work/bin/built" --version)" = "difalt version $version" ] || fail "$("$work/bin/built" --version), not $version"
[ -z "$(git status --porcelain)" ] || fail "the release does not hold: $(git status --porcelain)"

if [ "${2:-}" = --dry-run ]; then
	echo "$version can be released"
	exit
fi
echo "build the packages of $version without a network"
GOWORK='' GOPROXY=off $GO run ./scripts/packages -version "$version" -out "$repository/dist" ${sign:+-sign "$sign"}
cd "$repository"
git fetch -q "$work/clone" "HEAD:refs/heads/release-$version"
for tag in $tags; do
	git fetch -q "$work/clone" "refs/tags/$tag:refs/tags/$tag"
done
echo "made the branch release-$version and the tags $tags; to publish them:"
echo "git push --atomic origin release-$version:main $tags"
