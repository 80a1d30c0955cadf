//go:build ignore

// Generate writes the example tables clinics.csv and new-clinics.csv: patients of
// many clinics, whose score depends on eight measurements in a way that differs
// from clinic to clinic along two directions. Run it with
//
//	go run generate.go
package main

import (
	"encoding/csv"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
)

// A feature is a measurement with its distribution, its effect on the score in the
// average clinic, and how clinics differ in it: along two directions that all
// features share.
type feature struct {
	name            string
	mean, deviation float64
	effect          float64
	directions      [2]float64
}

var features = []feature{
	{"age", 52, 14, -2.0, [2]float64{2.4, 0.2}},
	{"weight", 76, 13, -0.8, [2]float64{1.2, -0.6}},
	{"pressure", 128, 16, -1.5, [2]float64{1.8, 0.4}},
	{"glucose", 98, 18, -1.2, [2]float64{-0.2, 2.0}},
	{"pulse", 71, 9, 0.2, [2]float64{0.4, -0.4}},
	{"smoking", 6, 5, -2.4, [2]float64{0.2, 1.6}},
	{"dose", 20, 6, 3.0, [2]float64{-1.6, 1.4}},
	{"visits", 5, 2, 1.0, [2]float64{0.6, -1.2}},
}

const noise = 4.0

func main() {
	rng := rand.New(rand.NewPCG(2024, 1))
	write("clinics.csv", rng, 1, 40, func() int { return 8 + rng.IntN(23) })
	write("new-clinics.csv", rng, 41, 43, func() int { return 6 })
}

// write writes the patients of the clinics first to last.
func write(path string, rng *rand.Rand, first, last int, patients func() int) {
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	w := csv.NewWriter(f)
	header := []string{"clinic", "patient"}
	for _, k := range features {
		header = append(header, k.name)
	}
	rows := [][]string{append(header, "score")}
	for clinic := first; clinic <= last; clinic++ {
		level := 60 + 4*rng.NormFloat64()
		b := [2]float64{rng.NormFloat64(), rng.NormFloat64()}
		for patient := range patients() {
			row := []string{fmt.Sprintf("C%02d", clinic), strconv.Itoa(patient + 1)}
			score := level + noise*rng.NormFloat64()
			for _, k := range features {
				z := rng.NormFloat64()
				score += z * (k.effect + b[0]*k.directions[0] + b[1]*k.directions[1])
				row = append(row, strconv.FormatFloat(k.mean+k.deviation*z, 'f', 1, 64))
			}
			rows = append(rows, append(row, strconv.FormatFloat(score, 'f', 1, 64)))
		}
	}
	if err := w.WriteAll(rows); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
