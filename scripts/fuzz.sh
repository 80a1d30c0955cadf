#!/bin/sh
# Runs every fuzz target of the module for the given time.
set -eu
for package in $(go list work); do
	for target in $(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true); do
		echo "$package $target"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 5x "$package"
	done
done
