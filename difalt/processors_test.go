package difalt_test

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/kernel"
)

// TestSameBitsOnProcessors: runs of a fixed seed end with the hashes of testdata/bits.txt on every processor
// with FMA, but for the instruction sets that a line names.
func TestSameBitsOnProcessors(t *testing.T) {
	net := network(t, "ring", 4, 0)
	problems := map[string]*difalt.Problem{
		"tasks":        uniform(4, 6, 20, 40, 3, kernel.Float64),
		"tiny tasks":   uniform(4, 24, 12, 16, 2, kernel.Float64),
		"float32":      uniform(4, 6, 20, 40, 3, kernel.Float32),
		"many samples": uniform(4, 3, 300, 12, 2, kernel.Float64),
		"rank 9":       uniform(4, 12, 24, 30, 9, kernel.Float64),
	}
	tiertest.Hashes(t, "testdata/bits.txt", func() map[string]string {
		all := map[string]string{}
		for name, p := range problems {
			_, r := p.Truth.Dims()
			for _, method := range difalt.Methods() {
				o := difalt.Options{Method: method, Rank: r, Iterations: 30, PowerIterations: 10, Seed: 5, Workers: 1}
				all[name+" "+method.String()] = bitsOf(run(t, p, net, o))
			}
			o := difalt.Options{Method: difalt.Accelerated, Rank: r, Iterations: 60, Ridge: .1,
				Codec: consensus.Float64, Seed: 5}
			all[name+" ridge"] = bitsOf(run(t, p, net, o))
		}
		return all
	})
}

// uniform returns tasks y = x'U b with noise, of numbers that all processors draw alike.
func uniform(nodes, tasks, n, d, r int, storage kernel.Storage) *difalt.Problem {
	rng := rand.New(rand.NewPCG(21, 22))
	number := func() float64 { return 2*rng.Float64() - 1 }
	p := &difalt.Problem{Truth: kernel.NewBasis(d, r)}
	for j := range r {
		for i := range d {
			p.Truth.Set(i, j, number())
		}
	}
	p.Truth.Orthonormalize(nil, nil)
	for range nodes {
		samples := make([]int, tasks)
		for t := range samples {
			samples[t] = n
		}
		b, row := kernel.NewBuilder(d, samples, storage), make([]float64, d)
		for t := range samples {
			coefficients := make([]float64, r)
			for j := range coefficients {
				coefficients[j] = number()
			}
			for i := range n {
				y := float64(.01 * number())
				for k := range row {
					row[k] = float64(float32(number()))
					for j, c := range coefficients {
						y += float64(c * float64(row[k]*p.Truth.At(k, j)))
					}
				}
				b.SetRow(t, i, row, y)
			}
		}
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	return p
}

// bitsOf returns the hash of a result.
func bitsOf(res *difalt.Result) string {
	h := fnv.New64a()
	add := func(numbers ...float64) {
		for _, v := range numbers {
			if v != v {
				v = math.NaN()
			}
			h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
	}
	add(float64(res.Status), float64(res.Iterations), res.Residual, res.StatisticalError)
	for i, u := range res.U {
		add(u.Data()...)
		add(res.B[i]...)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
