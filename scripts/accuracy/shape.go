package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
)

// A shape says how tasks are drawn: y = 3 + a_t + x'(shared + own_t + low rank_t) + noise.
// Standard deviations are those of single entries.
type shape struct {
	tasks, features int
	train, most     int     // rows of a task to train on: train, or log-uniform from train to most
	factors         int     // that many common factors explain most of the features
	intercept       float64 // standard deviation of a_t
	shared          float64 // of the shared slopes
	slopes          float64 // of own_t, all independent
	rank, clusters  int     // low rank_t lies in so many directions, or is one of so many vectors
	low             float64 // of low rank_t
	noise           float64
	uneven          float64 // standard deviation of the logarithm of a task's own noise, about that of noise
	law             law
}

// A law is how what the strengths above leave open is drawn.
type law int

const (
	normal law = iota
	heavy      // noise has Student's t distribution with 3 degrees of freedom
	growth     // levels and slopes over years, in place of all strengths: see drawGrowth
)

// heldRows is the number of rows of a task held out of drawn tables: many, so that
// errors say little about chance.
const heldRows = 40

// A population is a shape with what all of its tasks share.
type population struct {
	shape
	rng                          *rand.Rand
	shared, loadings, directions []float64
	drawn                        int // tasks
}

// A task is what one task has of its own.
type task struct {
	level, noise float64
	slopes       []float64
}

func (s shape) population(rng *rand.Rand) *population {
	p := &population{shape: s, rng: rng}
	p.shared = p.normals(s.features, s.shared)
	p.loadings = p.normals(s.features*s.factors, 1)
	p.directions = p.normals(s.features*max(s.rank, s.clusters), s.low)
	return p
}

func (p *population) normals(n int, deviation float64) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = deviation * p.rng.NormFloat64()
	}
	return v
}

func (p *population) task() task {
	t := task{level: 3 + p.intercept*p.rng.NormFloat64(), noise: p.noise, slopes: p.normals(p.features, p.slopes)}
	b := p.normals(p.rank, 1)
	for i := range b {
		b[i] /= math.Sqrt(float64(p.rank))
	}
	if p.clusters > 0 {
		b = make([]float64, p.clusters)
		b[p.drawn%p.clusters] = 1
	}
	for j := range t.slopes {
		t.slopes[j] += p.shared[j]
		for i, v := range b {
			t.slopes[j] += v * p.directions[i*p.features+j]
		}
	}
	if p.uneven > 0 {
		t.noise *= math.Exp(p.uneven * p.rng.NormFloat64())
	}
	p.drawn++
	return t
}

// sample draws a row of a task: features, the expected target, and the target.
func (p *population) sample(t task) (x []float64, mean, y float64) {
	x = p.normals(p.features, 1)
	mean = t.level
	f := p.normals(p.factors, 1)
	for j := range x {
		for c, v := range f {
			x[j] += v * p.loadings[c*p.features+j]
		}
		mean += x[j] * t.slopes[j]
	}
	e := p.rng.NormFloat64()
	if p.law == heavy {
		square := 0.0
		for range 3 {
			v := p.rng.NormFloat64()
			square += v * v
		}
		e /= math.Sqrt(square / 3)
	}
	return x, mean, mean + t.noise*e
}

// size says how many tasks there are, and their rows for training and features.
func (s shape) size() string {
	rows := strconv.Itoa(s.train)
	if s.most > 0 {
		rows = fmt.Sprintf("%d to %d", s.train, s.most)
	}
	return fmt.Sprintf("%d x %s, %d", s.tasks, rows, s.features)
}

// generate draws a table.
func (s shape) generate(rng *rand.Rand) *table {
	if s.law == growth {
		return s.drawGrowth(rng)
	}
	t, p := newTable(s.features), s.population(rng)
	for k := range s.tasks {
		n := s.train
		if s.most > 0 {
			n = int(math.Round(float64(s.train) * math.Pow(float64(s.most)/float64(s.train), float64(k)/float64(s.tasks-1))))
		}
		own := p.task()
		for i := range n + heldRows {
			x, _, y := p.sample(own)
			t.add(fmt.Sprintf("t%03d", k+1), x, y, i >= n)
		}
	}
	return t
}

// drawGrowth draws yearly measurements of people who start and grow differently: a person's
// level at the start and growth are correlated. A quarter of the years is held out.
func (s shape) drawGrowth(rng *rand.Rand) *table {
	t := &table{header: []string{taskColumn, "year", "dose", "weight", targetColumn, heldColumn}}
	for k := range s.tasks {
		level := rng.NormFloat64()
		growth := 0.6*level + 0.8*rng.NormFloat64()
		years := s.train * 4 / 3
		held := make([]bool, years)
		for _, i := range rng.Perm(years)[:years-s.train] {
			held[i] = true
		}
		for i := range years {
			dose, weight := 20+5*rng.NormFloat64(), 75+12*rng.NormFloat64()
			y := 50 + 4*level + (0.8+0.7*growth)*float64(i) + 0.1*dose - 0.05*weight + 2*rng.NormFloat64()
			t.add(fmt.Sprintf("p%02d", k+1), []float64{float64(2010 + i), dose, weight}, y, held[i])
		}
	}
	return t
}
