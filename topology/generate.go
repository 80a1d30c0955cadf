package topology

import (
	"fmt"
	"math"
	"math/rand/v2"
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
