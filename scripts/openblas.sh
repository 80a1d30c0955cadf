#!/bin/sh
# Runs a command that can use another OpenBLAS. Usage: scripts/openblas.sh LIBRARY COMMAND...
#
# LIBRARY is a shared OpenBLAS with LAPACKE and integers of 32 bits, whose names may have a prefix: the one in
# the wheel scipy-openblas32 of Python has scipy_cblas_dgemm. A folder receives libopenblas.so.0 and
# liblapacke.so.3, which jump from the plain names to those of LIBRARY. The command finds the folder in
# DIFALT_OPENBLAS, and uses it if it is in LD_LIBRARY_PATH. Without LIBRARY the command runs alone.
set -eu

library=$1
shift
if [ -z "$library" ]; then
	echo "skip: no second OpenBLAS; OPENBLAS=LIBRARY names one (scripts/openblas.sh)"
	exec "$@"
fi
if ! [ -f "$library" ]; then
	echo "openblas.sh: no file $library" >&2
	exit 1
fi
library=$(realpath "$library")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

names=$(nm -D --defined-only "$library" | awk '$2 == "T" { print $3 }')
prefix=$(echo "$names" | sed -n 's/cblas_dgemm$/-/p' | head -n 1)
if [ -z "$prefix" ] || ! echo "$names" | grep -q "^${prefix%-}LAPACKE_dgetrf\$"; then
	echo "openblas.sh: $library has no LAPACKE with integers of 32 bits" >&2
	exit 1
fi
if [ "$prefix" = - ]; then
	ln -s "$library" "$folder/libopenblas.so.0"
	ln -s "$library" "$folder/liblapacke.so.3"
else
	echo "$names" | awk -v prefix="${prefix%-}" 'index($0, prefix) == 1 {
		name = substr($0, length(prefix) + 1)
		printf "__asm__(\".globl %s\\n.type %s, @function\\n%s: jmp *%s@GOTPCREL(%%rip)\\n\");\n", name, name, name, $0
	}' >"$folder/names.c"
	for so in libopenblas.so.0 liblapacke.so.3; do
		"${CC:-cc}" -shared -o "$folder/$so" -Wl,-soname,$so -Wl,-rpath,"$(dirname "$library")" \
			"$folder/names.c" "$library"
	done
fi
DIFALT_OPENBLAS=$folder "$@"
