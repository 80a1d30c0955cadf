package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
)

// writeTables writes every table for every seed.
func writeTables(args []string) error {
	flags := flag.NewFlagSet("tables", flag.ExitOnError)
	out := flags.String("out", "", "the folder to write to")
	school := flags.String("school", "", "the School table: columns task, x0 to x27, y (docs/accuracy.md says where it is from)")
	clinics := flags.String("clinics", "examples/clinics.csv", "the table of clinics")
	grunfeld := flags.String("grunfeld", "", "Grunfeld's firms, as peers.py writes them")
	seeds := flags.Int("seeds", 5, "the number of splits and seeds")
	first := flags.Int("first", 1, "the first seed")
	flags.Parse(args)
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	for seed := uint64(*first); seed < uint64(*first+*seeds); seed++ {
		for i, g := range generated {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			if err := g.generate(rng).write(*out, fmt.Sprintf("%s-%d", g.name, seed)); err != nil {
				return err
			}
		}
		if err := writeExisting(*out, seed, *clinics, *school, *grunfeld); err != nil {
			return err
		}
	}
	return nil
}

// writeExisting splits the tables that are files at random; an empty path leaves one out.
func writeExisting(out string, seed uint64, clinics, school, grunfeld string) error {
	for i, e := range []struct {
		name, path string
		train      int
		drop       []string
	}{
		{"clinics", clinics, 0, []string{"patient"}}, {"school", school, half, nil},
		{"school10", school, 10, nil}, {"school20", school, 20, nil}, {"grunfeld", grunfeld, 0, nil},
	} {
		if e.path == "" {
			log.Printf("no file for %s: left out", e.name)
			continue
		}
		t, err := existing(e.path, rand.New(rand.NewPCG(seed, uint64(100+i))), e.train, e.drop...)
		if err != nil {
			return err
		}
		if err := t.write(out, fmt.Sprintf("%s-%d", e.name, seed)); err != nil {
			return err
		}
	}
	return nil
}

// generated are the tables that are drawn at random, in the order of their streams.
var generated = []struct {
	name     string
	generate func(*rand.Rand) *table
}{
	{"intercept", shape{tasks: 60, train: 12, features: 8, intercept: 1.5, shared: 0.4, noise: 1}.generate},
	{"slopes", shape{tasks: 40, train: 40, features: 6, intercept: 1, shared: 0.5, slopes: 0.5, noise: 1.5}.generate},
	{"lowrank-short", shape{tasks: 100, train: 16, features: 30, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1}.generate},
	{"lowrank-long", shape{tasks: 60, train: 40, features: 20, intercept: 1, shared: 0.3, rank: 3, low: 0.5, noise: 1.5}.generate},
	{"noise", shape{tasks: 50, train: 20, features: 10, noise: 1}.generate},
	{"alike", shape{tasks: 40, train: 25, features: 10, shared: 0.5, noise: 1.5}.generate},
	{"clusters", shape{tasks: 60, train: 20, features: 12, clusters: 3, low: 0.6, noise: 1}.generate},
	{"heavy", shape{tasks: 50, train: 25, features: 8, intercept: 1.5, shared: 0.4, rank: 1, low: 0.5, noise: 1, heavy: true}.generate},
	{"wide", shape{tasks: 20, train: 40, features: 1000, factors: 10, intercept: 1, shared: 0.03, rank: 1, low: 0.04, noise: 1}.generate},
	{"tiny", shape{tasks: 8, train: 6, features: 3, intercept: 1, shared: 0.6, slopes: 0.3, noise: 1}.generate},
	{"unbalanced", shape{tasks: 40, train: 1, most: 500, features: 6, intercept: 1, shared: 0.5, rank: 1, low: 0.6, noise: 1.5}.generate},
	{"trend", trend},
	{"uneven-mild", shape{tasks: 50, train: 25, features: 8, intercept: 1, shared: 0.4, rank: 1, low: 0.5, noise: 1, uneven: 0.3}.generate},
	{"uneven-levels", shape{tasks: 60, train: 10, features: 6, intercept: 1, shared: 0.4, noise: 1, uneven: 1}.generate},
	{"uneven-slopes", shape{tasks: 40, train: 40, features: 6, intercept: 1, shared: 0.4, slopes: 0.4, noise: 1, uneven: 0.7}.generate},
	{"uneven-short", shape{tasks: 80, train: 14, features: 16, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1, uneven: 0.7}.generate},
	{"uneven-middle", shape{tasks: 60, train: 20, features: 10, intercept: 1, shared: 0.4, rank: 2, low: 0.5, noise: 1, uneven: 0.7}.generate},
	{"uneven-long", shape{tasks: 40, train: 60, features: 12, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1, uneven: 1}.generate},
}

// trend draws yearly measurements of people who start and grow differently: a person's
// level at the start and growth are correlated. A quarter of the years is held out.
func trend(rng *rand.Rand) *table {
	t := &table{header: []string{taskColumn, "year", "dose", "weight", targetColumn, heldColumn}}
	for k := range 60 {
		level := rng.NormFloat64()
		growth := 0.6*level + 0.8*rng.NormFloat64()
		for i, held := range holdOut(rng, 12, 3) {
			dose, weight := 20+5*rng.NormFloat64(), 75+12*rng.NormFloat64()
			y := 50 + 4*level + (0.8+0.7*growth)*float64(i) + 0.1*dose - 0.05*weight + 2*rng.NormFloat64()
			t.add(fmt.Sprintf("p%02d", k+1), []float64{float64(2010 + i), dose, weight}, y, held)
		}
	}
	return t
}

// holdOut says which of n rows are the k to hold out.
func holdOut(rng *rand.Rand, n, k int) []bool {
	held := make([]bool, n)
	for _, i := range rng.Perm(n)[:k] {
		held[i] = true
	}
	return held
}
