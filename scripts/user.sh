#!/bin/sh
# Runs go test with the given arguments where a user may be: in a folder with a space and letters beyond ASCII, with
# TMPDIR elsewhere, with files that nobody else may read, and not as root. Root hands over to nobody; then the caches of
# modules and builds are copies, by links where the file system has them, since root's own are closed to others.
set -eu
cd "$(dirname "$0")/.."
GO=${GO:-go}
umask 022
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT
here="$work/of a usér" # for a name in messages, too
mkdir "$here" "$here/home" "$here/temporary files" "$here/check out"

# All files that git has or would add, without those that are deleted; or simply all.
files() {
	if git rev-parse -q --git-dir >/dev/null 2>&1; then git ls-files -co --exclude-standard; else find . -type f; fi
}
files | while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done |
	tar -cf - -T - | (cd "$here/check out" && tar -xf -)

# tests runs the tests. Its variables come from the environment: su takes one command.
cat >"$here/tests" <<'END'
#!/bin/sh
set -eu
umask 077
export HOME="$HERE/home" TMPDIR="$HERE/temporary files"
cd "$HERE/check out"
exec "$GO" test "$@"
END
chmod 755 "$here/tests" "$work"
HERE=$here
GO=$(command -v "$GO")
export HERE GO
if [ "$(id -u)" != 0 ]; then
	echo "note: as $(id -un)"
	"$here/tests" "$@"
	exit
fi

# linked copies a folder by links, if the file system has them. Only its folders belong to nobody then: a link shares the
# owner with root's file, and stays read-only.
linked() { # FROM TO
	cp -al "$1" "$2" 2>/dev/null || { rm -rf "$2" && cp -R "$1" "$2"; }
	find "$2" -type d -exec chown nobody {} +
}
linked "$($GO env GOMODCACHE)" "$here/modules"
linked "$($GO env GOCACHE)" "$here/builds"
find "$here/builds" -name '*-a' -delete # small files, which the go command writes again
(cd "$($GO env GOCACHE)" && find . -name '*-a' | tar -cf - -T -) | (cd "$here/builds" && tar -xf -)
find "$here/builds" -name '*-a' -exec chown nobody {} +
chown nobody "$here" "$here/home" "$here/temporary files"
chown -R nobody "$here/check out"
export GOMODCACHE="$here/modules" GOCACHE="$here/builds"
echo "note: as nobody"
# shellcheck disable=SC2016 # the shell of nobody expands this
su -s /bin/sh nobody -c '"$HERE/tests" "$@"' -- sh "$@"
