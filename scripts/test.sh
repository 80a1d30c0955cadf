#!/bin/sh
# Runs the named make targets one after the other, prints how long each took, and
# closes with a count. The output of a target is shown only when it fails. All
# are run, whatever fails; the exit status is 0 if all passed.
set -u
log=$(mktemp)
trap 'rm -f "$log"' EXIT
trap 'exit 130' INT TERM
passed=0 failed=0
for target in "$@"; do
	start=$(date +%s)
	if ${MAKE:-make} --no-print-directory --silent "$target" >"$log" 2>&1; then
		passed=$((passed + 1)) verdict=ok
	else
		failed=$((failed + 1)) verdict=FAIL
	fi
	printf '%-5s %4d s  %s\n' "$verdict" $(($(date +%s) - start)) "$target"
	if [ "$verdict" = FAIL ]; then
		grep -v 'no test files' "$log" | tail -n 80 | sed 's/^/        /'
	else
		sed -n 's/^note: /              /p' "$log"
	fi
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
