#!/bin/sh
# release.sh VERSION            makes a release
# release.sh VERSION --dry-run  tries it, and leaves this repository as it is
# release.sh VERSION --notes    prints the notes of a release
#
# Makes the release VERSION (v1.2.3) from the head of this repository: one commit and two tags, and prints the command that
# publishes them. The commit dates the section of CHANGELOG.md, sets the version that the program requires, and drops the
# replacement of go.work. Everything is made and tried in a clone: the program is installed, and the library embedded, from
# the tags as a user would, with module caches of their own. Only then are commit and tags fetched into this repository.
# The tags start the release workflow: binaries, checksums, lists of contents (SBOM), notes and the container image.
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

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git clone -q "file://$repository" "$work/clone"
name=$(git config user.name || echo difalt) email=$(git config user.email || echo difalt@localhost)
export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_1=user.name GIT_CONFIG_VALUE_1="$name" \
	GIT_CONFIG_KEY_2=user.email GIT_CONFIG_VALUE_2="$email" \
	GIT_CONFIG_KEY_0="url.file://$work/clone.insteadOf" GIT_CONFIG_VALUE_0="https://$module"
# The tags come from the clone, into a module cache of its own; other modules from the cache of this machine.
proxy=file://$($GO env GOMODCACHE)/cache/download,$($GO env GOPROXY)
export GOPRIVATE="$module" GOPROXY="$proxy" GOWORK=off GOMODCACHE="$work/modules" GOFLAGS="-modcacherw -trimpath"

# quietly runs the go command in a folder, and prints its output if it fails.
quietly() {
	folder=$1
	shift
	(cd "$folder" && $GO "$@") >"$work/log" 2>&1 || fail "go $*: $(cat "$work/log")"
}

# tag moves both tags to the head of the clone, and forgets what was downloaded from them.
tag() {
	for tag in $tags; do
		git tag -f "$tag" >/dev/null
	done
	rm -rf "$work/modules/cache/vcs" "$work/modules/cache/download/github.com/difalt" "$work/modules/github.com/difalt"
}

cd "$work/clone"
sed -i.old "s/^## $number (unreleased)\$/## $number ($(date -u +%Y-%m-%d))/" CHANGELOG.md
sed -i.old "/^replace /d; /^\/\/ Until /d" go.work
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
"$work/bin/difalt" --version | grep -F "$number" || fail "difalt --version does not contain $number"
"$work/bin/difalt" simulate --trials 1 --out "$work/out" >"$work/log" 2>&1 || fail "difalt simulate: $(cat "$work/log")"
echo "embed $module@$version"
mkdir "$work/embed"
cd "$work/embed"
cat >main.go <<-END
	package main

	import "$module/kernel"

	func main() { kernel.NewPool(1).Close() }
END
quietly . mod init example.org/embed
quietly . get "$module/kernel@$version"
quietly . run .
cd "$work/clone"
[ -z "$(git status --porcelain)" ] || fail "the release does not hold: $(git status --porcelain)"

if [ "${2:-}" = --dry-run ]; then
	echo "$version can be released"
	exit
fi
cd "$repository"
git fetch -q "$work/clone" "HEAD:refs/heads/release-$version"
for tag in $tags; do
	git fetch -q "$work/clone" "refs/tags/$tag:refs/tags/$tag"
done
echo "made the branch release-$version and the tags $tags; to publish them:"
echo "git push --atomic origin release-$version:main $tags"
