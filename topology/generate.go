package topology

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strconv"
	"strings"
)

// maxDraws bounds the redraws of a random graph that is not connected.
const maxDraws = 1000

// erStream keeps the random stream of graphs apart from other uses of a seed.
const erStream = 0x6572646f73 // "erdos"

// ErdosRenyi returns a connected random graph in which every pair of nodes is
// linked with probability p, 0 < p <= 1. A draw that is not connected is thrown
// away and repeated from the same stream, as the experiments of the paper need;
// after 1000 draws it returns an error. The same n, p and seed give the same graph.
func ErdosRenyi(n int, p float64, seed uint64) (*Graph, error) {
	if !(p > 0 && p <= 1) {
		return nil, fmt.Errorf("topology: er graph of %d nodes with p = %v: need 0 < p <= 1", n, p)
	}
	name := fmt.Sprintf("er:%v", p)
	rng := rand.New(rand.NewPCG(seed, erStream))
	for range maxDraws {
		g, err := build(name, n, func(add func(i, j int)) { linkRandomly(n, p, rng, add) })
		if err != nil || g.Connected() {
			return g, err
		}
	}
	return nil, fmt.Errorf("topology: %s of %d nodes: no connected graph in %d draws; they are rare below p = ln(n)/n = %.2g",
		name, n, maxDraws, math.Log(float64(n))/float64(n))
}

// linkRandomly adds every pair of n nodes with probability p.
func linkRandomly(n int, p float64, rng *rand.Rand, add func(i, j int)) {
	if n <= exactNodes { // a draw a pair, so that graphs stay what they were
		for i := range n {
			for j := i + 1; j < n; j++ {
				if rng.Float64() < p {
					add(i, j)
				}
			}
		}
		return
	}
	// A draw an edge: how many pairs to leave out has a geometric distribution (Batagelj and
	// Brandes, Efficient generation of large random networks, 2005).
	for i, j, l := 0, 0, math.Log1p(-p); ; {
		skip := math.Log1p(-rng.Float64()) / l
		if !(skip < float64(n)*float64(n)) {
			return
		}
		for j += 1 + int(skip); j >= n; { // from (i, j) on, along rows j > i
			if i++; i >= n-1 {
				return
			}
			j += i + 1 - n
		}
		add(i, j)
	}
}

// Ring returns the cycle 0, 1, ..., n-1, 0.
func Ring(n int) (*Graph, error) {
	return build("ring", n, func(add func(i, j int)) {
		for i := range n {
			add(i, (i+1)%n)
		}
	})
}

// Path returns the chain 0, 1, ..., n-1.
func Path(n int) (*Graph, error) {
	return build("path", n, func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(i-1, i)
		}
	})
}

// Star returns the graph in which node 0 is linked to all others.
func Star(n int) (*Graph, error) {
	return build("star", n, func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(0, i)
		}
	})
}

// Complete returns the graph in which all nodes are linked.
func Complete(n int) (*Graph, error) {
	return build("complete", n, func(add func(i, j int)) {
		for i := range n {
			for j := range i {
				add(i, j)
			}
		}
	})
}

// Exponential returns the graph in which node i is linked to i +- 2^k mod n for
// every 2^k < n: about 2 log2(n) neighbours, and a spectral gap that shrinks only
// with log2(n).
func Exponential(n int) (*Graph, error) {
	return build("exponential", n, func(add func(i, j int)) {
		for i := range n {
			for hop := 1; hop < n; hop *= 2 {
				add(i, (i+hop)%n)
			}
		}
	})
}

// Grid returns rows x cols nodes, numbered row by row, each linked to the ones
// above, below, left and right of it.
func Grid(rows, cols int) (*Graph, error) {
	return lattice("grid", rows, cols, false)
}

// Torus returns a Grid whose rows and columns close to rings.
func Torus(rows, cols int) (*Graph, error) {
	return lattice("torus", rows, cols, true)
}

func lattice(kind string, rows, cols int, wrap bool) (*Graph, error) {
	name := fmt.Sprintf("%s:%dx%d", kind, rows, cols)
	if rows < 1 || cols < 1 {
		return nil, fmt.Errorf("topology: %s: need at least 1 row and 1 column", name)
	}
	if rows > maxNodes/cols { // by division, since the product may wrap round
		return nil, fmt.Errorf("topology: %s: at most %d nodes", name, maxNodes)
	}
	return build(name, rows*cols, func(add func(i, j int)) {
		for i := range rows {
			for j := range cols {
				if wrap || j+1 < cols {
					add(i*cols+j, i*cols+(j+1)%cols)
				}
				if wrap || i+1 < rows {
					add(i*cols+j, (i+1)%rows*cols+j)
				}
			}
		}
	})
}

// families is the table of the graphs that have no parameter but the number of nodes, with about
// how many neighbours a node has on average among so many others.
var families = []struct {
	name     string
	generate func(nodes int) (*Graph, error)
	degree   func(others float64) float64
}{
	{"ring", Ring, atMost(2)},
	{"path", Path, atMost(2)},
	{"star", Star, atMost(2)},
	{"complete", Complete, atMost(math.Inf(1))},
	{"exponential", Exponential, func(others float64) float64 { return min(2*float64(bits.Len(uint(others))), others) }},
}

func atMost(degree float64) func(float64) float64 {
	return func(others float64) float64 { return min(degree, others) }
}

// Specs lists what Parse reads, for help and error messages: er:P, grid, ring and so on.
func Specs() string {
	specs := "er:P, grid, grid:RxC, torus, torus:RxC"
	for _, f := range families {
		specs += ", " + f.name
	}
	return specs
}

// Parse returns the graph of the given number of nodes that a short text
// describes:
//
//	er:P                               ErdosRenyi with probability P, from seed
//	grid:RxC torus:RxC                 R rows and C columns; R*C must be nodes
//	grid torus                         the same with R x C as square as can be
//	ring path star complete exponential
//
// Errors name the text, and list what is valid if it is not one of these.
func Parse(spec string, nodes int, seed uint64) (*Graph, error) {
	if err := checkNodes(fmt.Sprintf("graph %q", spec), nodes); err != nil {
		return nil, err
	}
	kind, arg, hasArg := strings.Cut(spec, ":")
	switch kind {
	case "grid", "torus":
		rows, cols := squarest(nodes)
		if hasArg {
			var err error
			if rows, cols, err = parseShape(arg, nodes); err != nil {
				return nil, fmt.Errorf("topology: graph %q: %w; valid are %s", spec, err, Specs())
			}
		}
		return lattice(kind, rows, cols, kind == "torus")
	case "er":
		p, err := strconv.ParseFloat(arg, 64)
		if err != nil {
			return nil, fmt.Errorf("topology: graph %q: %q is not a probability; valid are %s", spec, arg, Specs())
		}
		return ErdosRenyi(nodes, p, seed)
	}
	for _, f := range families {
		if f.name == spec {
			return f.generate(nodes)
		}
	}
	return nil, fmt.Errorf("topology: unknown graph %q; valid are %s", spec, Specs())
}

// Degree returns about how many neighbours a node has on average in the graph that Parse makes of
// a text, without making it, and 0 if Parse refuses the text.
func Degree(spec string, nodes int) float64 {
	others := float64(max(nodes-1, 0))
	switch kind, arg, _ := strings.Cut(spec, ":"); kind {
	case "er":
		if p, err := strconv.ParseFloat(arg, 64); err == nil && p > 0 && p <= 1 {
			return p * others
		}
	case "grid", "torus":
		return min(4, others)
	}
	for _, f := range families {
		if f.name == spec {
			return f.degree(others)
		}
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
