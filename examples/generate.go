//go:build ignore

// Generate writes the example tables: clinics.csv and new-clinics.csv with patients of
// many clinics, whose score depends on eight measurements in a way that differs
// from clinic to clinic along two directions; and waiting.csv with patients of the first
// clinics whose scores, in outcomes.csv, come later. Run it with
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

// A clinic is what one has of its own.
type clinic struct {
	name  string
	level float64
	b     [2]float64
}

func main() {
	rng := rand.New(rand.NewPCG(2024, 1))
	known := treated(rng, "clinics.csv", 1, 40, func() int { return 8 + rng.IntN(23) })
	treated(rng, "new-clinics.csv", 41, 43, func() int { return 6 })
	waiting(rand.New(rand.NewPCG(2024, 2)), known)
}

// treated writes the patients of the clinics first to last, with their scores.
func treated(rng *rand.Rand, path string, first, last int, patients func() int) (clinics []clinic) {
	rows := [][]string{header("score")}
	for i := first; i <= last; i++ {
		c := clinic{fmt.Sprintf("C%02d", i), 60 + 4*rng.NormFloat64(), [2]float64{rng.NormFloat64(), rng.NormFloat64()}}
		clinics = append(clinics, c)
		for patient := range patients() {
			row, score := c.patient(rng, patient+1)
			rows = append(rows, append(row, score))
		}
	}
	write(path, rows)
	return clinics
}

// waiting writes three more patients of every clinic, and their scores apart.
func waiting(rng *rand.Rand, clinics []clinic) {
	rows, scores := [][]string{header()}, [][]string{{"clinic", "patient", "score"}}
	for _, c := range clinics {
		for patient := range 3 {
			row, score := c.patient(rng, 101+patient)
			rows = append(rows, row)
			scores = append(scores, []string{row[0], row[1], score})
		}
	}
	write("waiting.csv", rows)
	write("outcomes.csv", scores)
}

func header(more ...string) []string {
	names := []string{"clinic", "patient"}
	for _, k := range features {
		names = append(names, k.name)
	}
	return append(names, more...)
}

// patient draws a patient: the row without the score, and the score.
func (c clinic) patient(rng *rand.Rand, number int) (row []string, score string) {
	row = []string{c.name, strconv.Itoa(number)}
	y := c.level + noise*rng.NormFloat64()
	for _, k := range features {
		z := rng.NormFloat64()
		y += z * (k.effect + c.b[0]*k.directions[0] + c.b[1]*k.directions[1])
		row = append(row, strconv.FormatFloat(k.mean+k.deviation*z, 'f', 1, 64))
	}
	return row, strconv.FormatFloat(y, 'f', 1, 64)
}

func write(path string, rows [][]string) {
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
