package topology

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// validSpecs is what Parse accepts, for its error messages.
const validSpecs = "er:P, ring, path, star, grid, grid:RxC, torus, torus:RxC, complete, exponential"

// Parse returns the graph of the given number of nodes that a short text
// describes:
//
//	er:P                               ErdosRenyi with probability P, from seed
//	ring path star complete exponential
//	grid:RxC torus:RxC                 R rows and C columns; R*C must be nodes
//	grid torus                         the same with R x C as square as can be
//
// Errors name the text, and list what is valid if it is not one of these.
func Parse(spec string, nodes int, seed uint64) (*Graph, error) {
	if nodes < 1 {
		return nil, fmt.Errorf("topology: graph %q of %d nodes: need at least 1", spec, nodes)
	}
	kind, arg, hasArg := strings.Cut(spec, ":")
	switch kind {
	case "grid", "torus":
		rows, cols := squarest(nodes)
		if hasArg {
			var err error
			if rows, cols, err = parseShape(arg, nodes); err != nil {
				return nil, fmt.Errorf("topology: graph %q: %w; valid are %s", spec, err, validSpecs)
			}
		}
		return lattice(kind, rows, cols, kind == "torus")
	case "er":
		p, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, fmt.Errorf("topology: graph %q: %q is not a probability; valid are %s", spec, arg, validSpecs)
		}
		return ErdosRenyi(nodes, p, seed)
	}
	plain := map[string]func(int) (*Graph, error){
		"ring": Ring, "path": Path, "star": Star, "complete": Complete, "exponential": Exponential,
	}
	generate, ok := plain[spec]
	if !ok {
		return nil, fmt.Errorf("topology: unknown graph %q; valid are %s", spec, validSpecs)
	}
	return generate(nodes)
}

// Degree returns about how many neighbours a node has on average in the graph that Parse makes of
// a text, without making it: 0 if the text is none of a graph.
func Degree(spec string, nodes int) float64 {
	others := float64(max(nodes-1, 0))
	switch kind, arg, _ := strings.Cut(spec, ":"); kind {
	case "er":
		if p, err := strconv.ParseFloat(arg, 64); err == nil && p > 0 && p <= 1 {
			return p * others
		}
	case "complete":
		return others
	case "exponential":
		return min(2*float64(bits.Len(uint(others))), others)
	case "grid", "torus":
		return min(4, others)
	case "ring", "path", "star":
		return min(2, others)
	}
	return 0
}

// parseShape reads "RxC".
func parseShape(arg string, nodes int) (rows, cols int, err error) {
	r, c, _ := strings.Cut(arg, "x")
	if rows, err = strconv.Atoi(r); err == nil {
		cols, err = strconv.Atoi(c)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("%q is not of the form RxC", arg)
	}
	// By division, since the product of two large numbers may wrap round.
	if rows < 1 || cols < 1 || nodes%rows != 0 || nodes/rows != cols {
		return 0, 0, fmt.Errorf("%d rows and %d columns do not make %d nodes", rows, cols, nodes)
	}
	return rows, cols, nil
}

// squarest returns the factorisation rows*cols = n, rows <= cols, with the
// smallest difference.
func squarest(n int) (rows, cols int) {
	rows = 1
	for r := 2; r <= n/r; r++ {
		if n%r == 0 {
			rows = r
		}
	}
	return rows, n / rows
}
