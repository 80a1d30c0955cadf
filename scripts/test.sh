#!/bin/sh
# Runs the named make targets one after the other, prints how long each took, and
# closes with a count. All are run, whatever fails; the exit status is 0 if none
# failed. The output of a target is shown when it fails, and its lines "note: ..."
# always. One that prints a line "skip: ..." did not check everything and counts as
# skipped.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0 skipped=0
for target in "$@"; do
	start=$(date +%s)
	if ! ${MAKE:-make} --no-print-directory --silent "$target" >"$log" 2>&1; then
		failed=$((failed + 1)) verdict=FAIL
	elif grep -q '^skip: ' "$log"; then
		skipped=$((skipped + 1)) verdict=skip
	else
		passed=$((passed + 1)) verdict=ok
	fi
	printf '%-5s %4d s  %s\n' "$verdict" $(($(date +%s) - start)) "$target"
	if [ "$verdict" = FAIL ]; then
		grep -v 'no test files' "$log" | tail -n 80 | sed 's/^/        /'
	else
		sed -n -e 's/^note: /              /p' -e 's/^skip: /              /p' "$log"
	fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
