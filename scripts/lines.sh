#!/bin/sh
# Counts the lines of Go, without tests, in the tracked files of the given folders
# (the whole module and its generators by default), with and without the files that
# say "Code generated". Comments and empty lines count.
set -eu
cd "$(dirname "$0")/.."
lines() { xargs cat | wc -l; }
files() { git ls-files -- "$@" | grep '\.go$' | grep -v '_test\.go$'; }
[ $# -gt 0 ] || set -- .
generated=$(files "$@" | xargs grep -l '^// Code generated .* DO NOT EDIT\.$' | lines)
all=$(files "$@" | lines)
echo "$((all - generated)) lines of Go without tests; $all with generated code"
