#!/bin/sh
# Runs the tests of gonum's packages mat, stat and optimize, and of those below them, or of the packages in GONUM, with
# kernel/blas registered: in a copy of gonum a file that calls blas.Use joins each of these packages.
set -eu
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
gonum=gonum.org/v1/gonum
cp -R "$(go list -m -f '{{.Dir}}' $gonum)" "$work/gonum" # the newer one, of the program
export GOWORK=off
chmod -R u+w "$work/gonum"
cp go.mod go.sum "$work"
go mod edit -replace "$gonum=$work/gonum" "$work/go.mod"
export GOFLAGS=-mod=mod # modules that only gonum's packages need join the copy
packages=$(go list -modfile="$work/go.mod" -f '{{if .TestGoFiles}}{{.Name}}:{{.ImportPath}}{{end}}' \
	$(for package in ${GONUM:-mat stat/... optimize/...}; do echo "$gonum/$package"; done))
for package in $packages; do
	folder=${package#*:"$gonum/"}
	printf 'package %s\n\nimport "github.com/difalt/difalt/kernel/blas"\n\nfunc init() { blas.Use() }\n' "${package%%:*}" \
		>"$work/gonum/$folder/difalt_test.go"
done
# TorgersonScaling of a centred matrix depends on the sign that rounding gives to an eigenvalue of zero, ExampleSVD_SolveTo
# on the last of 16 digits, and ExampleGSVD on the order of the values, which LAPACK leaves open.
go test -modfile="$work/go.mod" -vet=off -timeout 1h -skip '^(TestTorgersonScaling|ExampleSVD_SolveTo|ExampleGSVD)$' "$@" $(echo "$packages" | sed 's/^[^:]*://')
