#!/bin/sh
# Runs the named make targets, prints how long each took and how long its processes computed, and
# closes with a count. All are run, whatever fails; the exit status is 0 if none failed. The output of a target is shown
# when it fails, and its lines "note: ..." always. One that prints a line "skip: ..." did
# not check everything and counts as skipped. NOT_RUN is a note above the count.
#
# Two run at a time (TEST_LANES), in the order of their names here: many wait for processes. Checks come
# before tests, since check-release changes the cache of modules that test-user copies.
set -u

# one runs a target, and leaves its verdict in a file of that name.
one() {
	folder=$1 target=$2 log=$1/$2.log start=$(date +%s)
	if ! ${MAKE:-make} --no-print-directory --silent "$target" >"$log" 2>&1; then
		verdict=FAIL
	elif grep -q '^skip: ' "$log"; then
		verdict=skip
	else
		verdict=ok
	fi
	times >"$log.times" # of this shell, and then of all that it has run
	computed=$(awk 'NR == 2 { split($1 "s" $2, t, /[ms]/); printf "%d", 60*t[1] + t[2] + 60*t[4] + t[5] }' "$log.times")
	echo "$verdict" >"$folder/$target"
	{
		printf '%-5s %4d s %5d CPU s  %s\n' "$verdict" $(($(date +%s) - start)) "$computed" "$target"
		if [ "$verdict" = FAIL ]; then
			grep -v 'no test files' "$log" | tail -n 80 | sed 's/^/        /'
		else
			sed -n -e 's/^note: /              /p' -e 's/^skip: /              /p' "$log"
		fi
	} >"$log.report"
	cat "$log.report"
}

if [ "$1" = --one ]; then
	one "$2" "$3"
	exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
for kind in check test; do
	for target in "$@"; do
		case $target in $kind-*) echo "$target" ;; esac
	done | xargs -r -P "${TEST_LANES:-2}" -n 1 "$0" --one "$folder"
done

count() { grep -lx "$1" "$folder"/check-* "$folder"/test-* 2>/dev/null | grep -vc '\.log'; }
passed=$(count ok) failed=$(count FAIL) skipped=$(count skip)
[ $((passed + failed + skipped)) = $# ] || failed=$(($# - passed - skipped))
[ -z "${NOT_RUN:-}" ] || echo "note: $NOT_RUN"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
