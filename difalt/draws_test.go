package difalt_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A drawing is a drawn problem of the paper's model with tasks of n[t] samples. The singular values of the
// coefficients lie between sqrt(T) and sqrt(T)/kappa.
type drawing struct {
	nodes, d, r  int
	n            []int
	kappa, noise float64
	ridge        float64 // of the run
	x, y         float64 // factors of features and responses
	linear       bool    // the singular values are in arithmetic progression, otherwise in geometric
	seed         uint64
}

// String describes a drawing, with its number of unknowns a sample.
func (s drawing) String() string {
	total := 0
	for _, n := range s.n {
		total += n
	}
	unknowns := s.d*s.r + len(s.n)*s.r
	share := float64(unknowns) / float64(total)
	return fmt.Sprintf("seed %d: d %d T %d n %d-%d r %d kappa %.3g noise %v, %.2f unknowns a sample",
		s.seed, s.d, len(s.n), slices.Min(s.n), slices.Max(s.n), s.r, s.kappa, s.noise, share)
}

// problem draws the data of a drawing.
func (s drawing) problem() *difalt.Problem {
	tasks := len(s.n)
	p := &difalt.Problem{Truth: synth.Orthonormal(s.d, s.r, synth.Stream(s.seed, 0))}
	v := synth.Orthonormal(tasks, s.r, synth.Stream(s.seed, 1))
	for g := range s.nodes {
		lo, hi := g*tasks/s.nodes, (g+1)*tasks/s.nodes
		build := kernel.NewBuilder(s.d, s.n[lo:hi], kernel.Float64)
		for t := lo; t < hi; t++ {
			rng := synth.Stream(s.seed, uint64(2+t))
			row := make([]float64, s.d)
			for i := range s.n[t] {
				y := s.noise * rng.NormFloat64()
				for k := range row {
					row[k] = rng.NormFloat64()
				}
				for j := range s.r {
					sigma := math.Sqrt(float64(tasks))
					if s.r > 1 {
						sigma *= math.Pow(s.kappa, -float64(j)/float64(s.r-1))
					}
					if s.linear {
						sigma = math.Sqrt(float64(tasks)) * (1 - (1-1/s.kappa)*float64(j)/float64(s.r-1))
					}
					for k, u := range p.Truth.Col(j) {
						y += row[k] * u * sigma * v.Col(j)[t]
					}
				}
				for k := range row {
					row[k] *= s.x
				}
				build.SetRow(t-lo, i, row, y*s.y)
			}
		}
		p.Nodes = append(p.Nodes, build.Tasks())
	}
	return p
}

func between(rng *rand.Rand, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }

func logUniform(rng *rand.Rand, lo, hi float64) float64 {
	return lo * math.Pow(hi/lo, rng.Float64())
}

// raggedDrawing draws tasks of different sizes, from one sample on.
func raggedDrawing(seed uint64) drawing {
	rng := synth.Stream(seed, 1<<40)
	s := drawing{nodes: 5, d: between(rng, 12, 40), r: between(rng, 1, 4), kappa: logUniform(rng, 1.3, 100), x: 1, y: 1,
		seed: seed}
	tasks := between(rng, 40, 120)
	s.noise = []float64{0, .01}[rng.IntN(2)]
	lo := between(rng, 1, s.r+1)
	for {
		hi, total := between(rng, 2*s.r+2, 40), 0
		s.n = s.n[:0]
		for range tasks {
			n := between(rng, lo, hi)
			s.n, total = append(s.n, n), total+n
		}
		if float64(total) > 1.6*float64(s.d*s.r+tasks*s.r) {
			return s
		}
	}
}

// fewDrawing draws problems with .5 or .6 unknowns a sample.
func fewDrawing(seed uint64) drawing {
	rng := synth.Stream(seed, 1<<41)
	s := drawing{nodes: 5, d: 30, r: []int{1, 2, 4}[seed%3], kappa: 1.5, x: 1, y: 1, seed: seed}
	ratio, uneven := []float64{.5, .6}[seed/3%2], seed/6%2 == 1
	n := float64(90*s.r) / 60 / ratio
	for t := range 60 {
		size := int(math.Floor(n*float64(t+1)) - math.Floor(n*float64(t)))
		if uneven {
			size = between(rng, int(math.Round(n/2)), int(math.Round(1.5*n)))
		}
		s.n = append(s.n, max(size, 1))
	}
	return s
}

// ridgeDrawing is raggedDrawing with noise and a ridge.
func ridgeDrawing(seed uint64) drawing {
	s := raggedDrawing(seed)
	s.noise, s.ridge = .01, []float64{.05, 1, 10}[seed%3]
	return s
}

// anyDrawing draws settings of all condition numbers; every other one has few samples, and kappa from 30 on.
func anyDrawing(seed uint64) drawing {
	rng := synth.Stream(seed, 1<<42)
	s := drawing{nodes: 5, d: between(rng, 20, 80), r: between(rng, 2, 5), x: 1, y: 1, seed: seed}
	tasks := between(rng, 40, 160)
	s.kappa = logUniform(rng, 1.3, 1000)
	factor := 1.6 + 2.4*rng.Float64()
	if seed%2 == 1 {
		s.kappa, factor = logUniform(rng, 30, 1000), 1.6
	}
	n := int(math.Ceil(factor * float64(s.d*s.r+tasks*s.r) / float64(tasks)))
	s.n = slices.Repeat([]int{n}, tasks)
	return s
}

// An examined is the end of a run of accelerated on a drawing, beside the reference.
type examined struct {
	drawing
	res       *difalt.Result
	sums      int     // iterations to 1e-10 of the truth; math.MaxInt if the run does not come there
	objective float64 // ridge included
	least     float64 // of the reference, from the start of the run
	enough    float64 // objectives below it are zero
}

// reached reports whether the run has the least objective, to .1 per cent.
func (e *examined) reached() bool { return e.objective <= max(e.least*1.001, e.enough) }

// lost reports whether the reference itself does not come to the minimum, which is zero without noise.
func (e *examined) lost() bool { return e.noise == 0 && e.ridge == 0 && e.least > e.enough }

// isFalse reports whether the run claims a minimum that lies well above the least objective.
func (e *examined) isFalse() bool {
	return e.res.Status == difalt.Converged && e.objective > max(e.least*1.01, e.enough)
}

func (e *examined) String() string {
	return fmt.Sprintf("%v: %v after %d, objective %g, reference %g, residual %g", e.drawing, e.res.Status,
		e.res.Iterations,
		e.objective, e.least, e.res.Residual)
}

// examine runs a drawing, and the reference if the minimum is not obvious.
func examine(t *testing.T, s drawing, o difalt.Options) *examined {
	p, e := s.problem(), &examined{drawing: s, sums: math.MaxInt}
	o.Method, o.Rank, o.Ridge, o.Workers = difalt.Accelerated, s.r, s.ridge, 1
	o.Observer = func(r *difalt.Record) error {
		if r.SDMax <= 1e-10 {
			e.sums = min(e.sums, r.Iteration)
		}
		return nil
	}
	e.res = run(t, p, network(t, "complete", s.nodes, 1), o)
	c := newCentralised(p, s.ridge)
	e.enough = 1e-18 * c.yy
	if s.noise == 0 && s.ridge == 0 && e.res.Last.Objective <= e.enough {
		e.objective = e.res.Last.Objective
		return e
	}
	end, _ := factorQ(mat.DenseCopyOf(e.res.U[0]))
	e.objective = c.objective(end)
	e.least, _ = c.levenberg(e.res.Initial.U[0], 300, e.enough/10)
	return e
}

// examineAll runs the drawings of seeds, two at a time.
func examineAll(t *testing.T, draw func(seed uint64) drawing, seeds []uint64, o difalt.Options) []*examined {
	list := make([]*examined, len(seeds))
	slots := make(chan struct{}, 2)
	var wg sync.WaitGroup
	for k, seed := range seeds {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			list[k] = examine(t, draw(seed), o)
		})
	}
	wg.Wait()
	return list
}

// TestReachesMinimum runs accelerated, in int8 and float64, on drawn problems of several kinds from the start
// where a dense method of Levenberg and Marquardt reaches the least objective, and counts how many reach it
// in 500 iterations. A run that does not must not say Converged.
func TestReachesMinimum(t *testing.T) {
	for _, c := range []struct {
		name        string
		draw        func(uint64) drawing
		short, long int     // problems
		share       float64 // that have to arrive in the long form
		codec       consensus.Codec
		saddles     []uint64 // seeds of problems whose run comes to a saddle point first
	}{
		{"ragged", raggedDrawing, 10, 120, .95, consensus.Int8, nil},
		{"ragged, float64", raggedDrawing, 0, 120, .95, consensus.Float64, nil},
		{"few samples", fewDrawing, 6, 120, .9, consensus.Int8, nil},
		{"few samples, float64", fewDrawing, 0, 120, .9, consensus.Float64, nil},
		{"any", anyDrawing, 6, 400, .97, consensus.Int8, []uint64{7195}},
		{"any, float64", anyDrawing, 0, 400, .98, consensus.Float64, nil},
		{"ridge", ridgeDrawing, 6, 120, .95, consensus.Int8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			number, most := c.short, 0
			switch {
			case longtest.Enabled():
				number, most = c.long, int(float64(c.long)*(1-c.share)+.5)
			case testing.Short():
				number = c.short / 2
			}
			seeds := slices.Clone(c.saddles)
			for k := range number {
				seeds = append(seeds, uint64(7000+k))
			}
			slices.Sort(seeds)
			arrived, missed := 0, 0
			for _, e := range examineAll(t, c.draw, slices.Compact(seeds), difalt.Options{Codec: c.codec}) {
				switch {
				case e.isFalse():
					t.Errorf("a false end: %v", e)
				case e.reached():
					arrived++
				case !e.lost():
					missed++
					t.Log(e)
				}
			}
			if t.Logf("%d arrive, %d miss the minimum", arrived, missed); missed > most {
				t.Errorf("%d miss the minimum, want at most %d", missed, most)
			}
		})
	}
}

// TestSums counts the sums of d r numbers, those of the start included, until U is within 1e-10 of the truth:
// the median of some draws of the setting of docs/results.md.
func TestSums(t *testing.T) {
	number, codecs := 5, []consensus.Codec{consensus.Int8, consensus.Float64}
	switch {
	case longtest.Enabled():
		number = 21
	case testing.Short():
		codecs = codecs[:1]
	}
	for _, c := range []struct {
		kappa float64
		most  int
	}{{1.5, 26}, {10, 31}, {100, 43}, {1000, 54}} {
		for _, codec := range codecs {
			var list []int
			for seed := range number {
				s := drawing{nodes: 5, d: 100, r: 4, n: slices.Repeat([]int{30}, 200), kappa: c.kappa, x: 1, y: 1,
					linear: true, seed: uint64(500 + seed)}
				e := examine(t, s, difalt.Options{Codec: codec, Tolerance: 1e-12})
				list = append(list, e.sums+startSums(t, s))
			}
			slices.Sort(list)
			if t.Logf("kappa %v, %v: %v", c.kappa, codec, list); list[number/2] > c.most {
				t.Errorf("kappa %v, %v: %d sums in the median, want at most %d", c.kappa, codec, list[number/2], c.most)
			}
		}
	}
}

// startSums returns the number of power iterations of the start.
func startSums(t *testing.T, s drawing) int {
	p := s.problem()
	start := func(iterations int) []float64 {
		o := difalt.Options{Method: difalt.Accelerated, Rank: s.r, PowerIterations: iterations}
		i, err := difalt.Initialize(t.Context(), p, network(t, "complete", s.nodes, 1), o)
		if err != nil {
			t.Fatal(err)
		}
		return i.U[0].Data()
	}
	for k := 2; k < 4; k++ {
		if slices.Equal(start(0), start(k)) {
			return k
		}
	}
	return 4
}
