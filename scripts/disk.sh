#!/bin/sh
# disk.sh FOLDER [SHAPE [PARTS]] compares a run whose samples are in memory with one whose
# samples are in files of FOLDER, in a control group that may have one of PARTS (4) parts of
# the memory that the former took. SHAPE is tasks, samples, features and rank
# (3000x64x2048x16); of much smaller ones a quarter is less than a process takes anyway.
# Needs Linux, and root or a control group of one's own.
set -eu
cd "$(dirname "$0")/.."
folder=${1:?which folder, on the disk to measure?}
shape=${2:-3000x64x2048x16}
parts=${3:-4}
bench=$(mktemp)
trap 'rm -f "$bench"; rmdir "${group:-}" 2>/dev/null || true' EXIT
${GO:-go} test -c -o "$bench" ./bench
run() { "$bench" -test.run '^$' -test.bench Disk -test.benchtime 1x -disk "$shape" "$@"; }
metric() { printf '%s\n' "$1" | awk -v unit="$2" '{ for (i = 2; i <= NF; i++) if ($i == unit) print $(i - 1) }'; }
digest() { printf '%s\n' "$1" | awk '$(NF - 1) == "digest" { print $NF }'; }

echo "samples in memory"
memory=$(run)
printf '%s\n' "$memory"
limit=$(awk -v peak="$(metric "$memory" peak-GB)" -v parts="$parts" 'BEGIN { printf "%.0f", 1e9 * peak / parts }')

own=$(sed -n 's/^[0-9]*:[a-z,]*memory[a-z,]*://p' /proc/self/cgroup)
if [ -n "$own" ]; then # version 1
	group=/sys/fs/cgroup/memory$own/difalt-bench-$$ file=memory.limit_in_bytes
else # version 2, where processes are in leaves only
	group=/sys/fs/cgroup$(dirname "$(sed -n 's/^0:://p' /proc/self/cgroup)")/difalt-bench-$$ file=memory.max
fi
mkdir "$group"
echo "$limit" >"$group/$file"
# What is not on disk must be in memory.
[ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"
echo "samples on disk, in $limit bytes"
disk=$(
	echo 0 >"$group/cgroup.procs"
	run -folder "$folder"
)
printf '%s\n' "$disk"
awk -v a="$(metric "$disk" between-s)" -v b="$(metric "$memory" between-s)" 'BEGIN { printf "an iteration on disk takes %.2f times as long between anchors\n", a / b }'
[ "$(digest "$disk")" = "$(digest "$memory")" ] || { echo "the results differ" >&2; exit 1; }
