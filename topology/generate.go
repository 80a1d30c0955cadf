package topology

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/difalt/difalt/internal/rounded"
)

const (
	// maxDraws bounds the draws of a random graph.
	maxDraws = 1000
	// mostIsolated is the expected number of nodes without a neighbour above which no graph is drawn: every
	// node has one with a chance of about e^-30.
	mostIsolated = 30
)

// erStream separates the random numbers of graphs from other uses of a seed.
const erStream = 0x6572646f73 // "erdos"

// ErdosRenyi returns a connected random graph; every pair of nodes is linked with probability p, 0 < p <= 1.
// It discards draws that are not connected, as the experiments of the paper do. It returns an error after
// 1000 draws, or before the first if no draw would be connected. The graph depends on n, p and seed alone.
func ErdosRenyi(n int, p float64, seed uint64) (*Graph, error) {
	if !(p > 0 && p <= 1) {
		return nil, fmt.Errorf("topology: er graph of %d nodes with p = %v: need 0 < p <= 1", n, p)
	}
	name := fmt.Sprintf("er:%v", p)
	if err := checkSize(name, n, p*pairs(n)); err != nil {
		return nil, err
	}
	rare := fmt.Sprintf("connected graphs are rare below p = ln(n)/n = %.2g", rounded.Log(float64(n))/float64(n))
	if isolated := float64(n) * rounded.Power(1-p, n-1); n > 1 && isolated > mostIsolated {
		return nil, fmt.Errorf("topology: %s of %d nodes: about %.0f nodes would have no neighbour; %s",
			name, n, isolated, rare)
	}
	rng := rand.New(rand.NewPCG(seed, erStream))
	for range maxDraws {
		g, err := build(name, n, p*pairs(n), func(add func(i, j int)) { linkRandomly(n, p, rng, add) })
		if err != nil || g.Connected() {
			return g, err
		}
	}
	return nil, fmt.Errorf("topology: %s of %d nodes: no connected graph in %d draws; %s", name, n, maxDraws, rare)
}

// pairs returns the number of pairs of n nodes.
func pairs(n int) float64 { return float64(n) * float64(n-1) / 2 }

// linkRandomly adds every pair of n nodes with probability p.
func linkRandomly(n int, p float64, rng *rand.Rand, add func(i, j int)) {
	if n <= 512 { // one draw for every pair
		for i := range n {
			for j := i + 1; j < n; j++ {
				if rng.Float64() < p {
					add(i, j)
				}
			}
		}
		return
	}
	// One draw for every edge: the number of pairs to skip has a geometric distribution (Batagelj and
	// Brandes, Efficient generation of large random networks, 2005).
	for i, j, l := 0, 0, rounded.Log1p(-p); ; {
		skip := rounded.Log1p(-rng.Float64()) / l
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
	return build("ring", n, float64(n), func(add func(i, j int)) {
		for i := range n {
			add(i, (i+1)%n)
		}
	})
}

// Path returns the chain 0, 1, ..., n-1.
func Path(n int) (*Graph, error) {
	return build("path", n, float64(n), func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(i-1, i)
		}
	})
}

// Star returns the graph with an edge from node 0 to every other node.
func Star(n int) (*Graph, error) {
	return build("star", n, float64(n), func(add func(i, j int)) {
		for i := 1; i < n; i++ {
			add(0, i)
		}
	})
}

// Complete returns the graph with an edge between every two nodes.
func Complete(n int) (*Graph, error) {
	return build("complete", n, pairs(n), func(add func(i, j int)) {
		for i := range n {
			for j := range i {
				add(i, j)
			}
		}
	})
}

// Exponential returns the graph that links node i to i +- 2^k mod n for every 2^k < n: about 2 log2(n)
// neighbours, and a spectral gap that shrinks with log2(n) only.
func Exponential(n int) (*Graph, error) {
	return build("exponential", n, float64(n)*rounded.Log2(max(float64(n), 2)), func(add func(i, j int)) {
		for i := range n {
			for hop := 1; hop < n; hop *= 2 {
				add(i, (i+hop)%n)
			}
		}
	})
}

// families lists the graphs whose only parameter is the number of nodes.
var families = []struct {
	name     string
	generate func(nodes int) (*Graph, error)
}{
	{"ring", Ring}, {"path", Path}, {"star", Star}, {"complete", Complete}, {"exponential", Exponential},
}

// Specs lists the texts that Parse accepts, for help and error messages.
func Specs() string {
	specs := "er:P"
	for _, f := range families {
		specs += ", " + f.name
	}
	return specs
}

// Parse returns the graph of the given number of nodes that a short text describes: er:P for ErdosRenyi
// with probability P and the seed, or ring, path, star, complete or exponential. Errors name the text, and
// list the valid ones.
func Parse(spec string, nodes int, seed uint64) (*Graph, error) {
	if err := checkSize(fmt.Sprintf("graph %q", spec), nodes, 0); err != nil {
		return nil, err
	}
	if p, ok := strings.CutPrefix(spec, "er:"); ok {
		probability, err := strconv.ParseFloat(p, 64)
		if err != nil {
			return nil, fmt.Errorf("topology: graph %q: %q is not a probability; valid are %s", spec, p, Specs())
		}
		return ErdosRenyi(nodes, probability, seed)
	}
	for _, f := range families {
		if f.name == spec {
			return f.generate(nodes)
		}
	}
	return nil, fmt.Errorf("topology: unknown graph %q; valid are %s", spec, Specs())
}
