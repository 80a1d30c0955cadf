#!/bin/sh
# Times rounds of a ring on this machine: over gRPC in turns with an exchange over TLS
# written by hand, and over MPI in turns with a C program's neighbour collective. Prints
# the medians, and the ratio of the medians.
set -eu
cd "$(dirname "$0")/.."
go=${GO:-go}
# Beside other work a ratio says more about the scheduler than about the engine.
[ ! -r /proc/loadavg ] || awk -v n="$(getconf _NPROCESSORS_ONLN)" '
	$1 > n / 2 { printf "note: the load is %s on %d processors: measure again when nothing else runs\n", $1, n }' /proc/loadavg
# -count would run all turns of one before those of the other.
for turn in 1 2 3 4 5 6 7; do
	$go test -run '^$' -bench Round -benchtime 100x ./cmd/difalt/engine/grpc || echo "FAIL in turn $turn"
done | awk '
	function median(list, n, v, i, j, t) {
		n = split(list, v, " ")
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
		return v[int((n + 1) / 2)] / 1000
	}
	/ns\/op/ {
		split($1, part, "/")
		kind = part[4]; sub(/-[0-9]*$/, "", kind)
		what = part[2] " " part[3]
		if (!(what in seen)) { seen[what] = 1; order[++n] = what }
		times[what, kind] = times[what, kind] " " $3
	}
	/^(FAIL|---)/ { print; bad = 1 }
	END {
		for (i = 1; i <= n; i++) {
			tls = median(times[order[i], "tls"]); grpc = median(times[order[i], "grpc"])
			printf "gRPC  %-24s %8.0f us, TLS by hand %8.0f us, ratio %.2f\n", order[i], grpc, tls, grpc / tls
		}
		exit bad || !n
	}'
./scripts/have.sh mpi env CC=mpicc CGO_ENABLED=1 $go test -tags mpi -run '^$' -bench Round -benchtime 1x ./cmd/difalt/engine/mpi | awk '
	/us\/round/ { split($1, part, "/"); sub(/-[0-9]*$/, "", part[3])
		for (i = 2; i < NF; i++) v[$(i + 1)] = $i
		printf "MPI   %-24s %8.0f us, C program   %8.0f us, ratio %.2f\n", part[2] " " part[3], v["us/round"], v["us/round-C"], v["us/round"] / v["us/round-C"] }
	/^(FAIL|---|skip)/ { print; bad = bad || !/^skip/ }
	END { exit bad }'
