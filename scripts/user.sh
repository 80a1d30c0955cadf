#!/bin/sh
# Runs go test with the given arguments where a user may be: in a folder with a space and letters beyond ASCII, with
# TMPDIR elsewhere, with files that nobody else may read, and not as root. Root builds the tests, with its own caches,
# and hands their programs over to nobody, but for tests that run the go command: nobody cannot read the caches.
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

# go test calls run in the folder of a package, with the program of its tests and their arguments. The variables come
# from the environment: su takes one command.
cat >"$work/run" <<'END'
#!/bin/sh
set -eu
umask 077
export TMPDIR="$HERE/temporary files"
if [ "$(id -u)" != 0 ] || grep -qs 'exec.Command("go"' ./*.go; then
	exec "$@"
fi
chmod a+rx "$(dirname "$(dirname "$1")")" # the temporary folder of the go command
# shellcheck disable=SC2016 # the shell of nobody expands this
exec su -s /bin/sh nobody -c 'HOME="$HERE/home" && export HOME && exec "$@"' -- sh "$@"
END
chmod 755 "$work/run" "$work"
if [ "$(id -u)" = 0 ]; then
	chown -R nobody "$here"
	echo "note: as nobody"
else
	echo "note: as $(id -un)"
fi
export HERE="$here"
cd "$here/check out"
# Without -trimpath the go command would build all packages again for this folder.
$GO test -count=1 -trimpath -exec "$work/run" "$@"
