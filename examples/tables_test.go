// Package examples has tables to try the program on: clinics.csv and new-clinics.csv with patients
// of many clinics, whose score depends on eight measurements in a way that differs from
// clinic to clinic along two directions; and waiting.csv with patients of the first clinics
// whose scores, in outcomes.csv, come later. This writes them again:
//
//	go test ./examples -write
package examples

import (
	"bytes"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// A feature is a measurement with its mean, standard deviation and distribution, its effect
// on the score in the average clinic, and its part in the two directions along which
// clinics differ. Effects are per standard deviation.
type feature struct {
	name            string
	mean, deviation float64
	distribution    distribution
	effect          float64
	directions      [2]float64
}

// A distribution draws possible values only: amounts and counts are never negative.
type distribution int

const (
	normal distribution = iota // within 2.4 standard deviations
	amount                     // Gamma
	count                      // negative binomial, or Poisson if the variance is the mean
)

var features = []feature{
	{"age", 52, 14, normal, -2.0, [2]float64{2.4, 0.2}},
	{"weight", 76, 13, normal, -0.8, [2]float64{1.2, -0.6}},
	{"pressure", 128, 16, normal, -1.5, [2]float64{1.8, 0.4}},
	{"glucose", 98, 18, normal, -1.2, [2]float64{-0.2, 2.0}},
	{"pulse", 71, 9, normal, 0.2, [2]float64{0.4, -0.4}},
	{"smoking", 6, 5, count, -2.4, [2]float64{0.2, 1.6}}, // cigarettes a day
	{"dose", 20, 6, amount, 3.0, [2]float64{-1.6, 1.4}},
	{"visits", 5, math.Sqrt(5), count, 1.0, [2]float64{0.6, -1.2}},
}

// draw returns a value as it is written.
func (k *feature) draw(rng *rand.Rand) float64 {
	gamma := func(mean, variance float64) float64 {
		return distuv.Gamma{Alpha: mean * mean / variance, Beta: mean / variance, Src: rng}.Rand()
	}
	m, variance := k.mean, k.deviation*k.deviation
	switch k.distribution {
	case amount:
		return math.Round(10*gamma(m, variance)) / 10
	case count:
		if variance > m*(1+1e-9) { // Poisson of a mean that is Gamma
			m = gamma(m, variance-m)
		}
		return distuv.Poisson{Lambda: max(m, 1e-9), Src: rng}.Rand()
	}
	for {
		if z := rng.NormFloat64(); math.Abs(z) <= 2.4 {
			return math.Round(10*(m+k.deviation*z)) / 10
		}
	}
}

const noise = 4.0

// A clinic is what one has of its own.
type clinic struct {
	name  string
	level float64
	b     [2]float64
}

var writes = flag.Bool("write", false, "write the tables")

// The tables are what this draws.
func TestTables(t *testing.T) {
	rng := rand.New(rand.NewPCG(2024, 1))
	tables := map[string][][]string{}
	var clinics []clinic
	clinics, tables["clinics.csv"] = treated(rng, 1, 40, func() int { return 8 + rng.IntN(23) })
	_, tables["new-clinics.csv"] = treated(rng, 41, 43, func() int { return 6 })
	tables["waiting.csv"], tables["outcomes.csv"] = waiting(rand.New(rand.NewPCG(2024, 2)), clinics)
	for name, rows := range tables {
		var b bytes.Buffer
		checkPossible(t, name, rows)
		if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
			t.Fatal(err)
		}
		if *writes {
			if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if there, err := os.ReadFile(name); err != nil || !bytes.Equal(there, b.Bytes()) {
			t.Errorf("%s is not what is drawn: %v", name, err)
		}
	}
}

// checkPossible asserts that no measurement of a patient is negative, that counts are
// integers, and that all features occur.
func checkPossible(t *testing.T, name string, rows [][]string) {
	t.Helper()
	for _, row := range rows[1:] {
		for j, k := range features {
			if len(row) < 2+len(features) {
				break // scores only
			}
			v, err := strconv.ParseFloat(row[2+j], 64)
			if err != nil || v < 0 || k.distribution == count && v != math.Trunc(v) || k.distribution == normal && v == 0 {
				t.Errorf("%s: %s of patient %s of clinic %s is %s", name, k.name, row[1], row[0], row[2+j])
			}
		}
	}
}

// treated draws the clinics first to last and their patients, with their scores.
func treated(rng *rand.Rand, first, last int, patients func() int) (clinics []clinic, rows [][]string) {
	rows = [][]string{header("score")}
	for i := first; i <= last; i++ {
		c := clinic{fmt.Sprintf("C%02d", i), 60 + 4*rng.NormFloat64(), [2]float64{rng.NormFloat64(), rng.NormFloat64()}}
		clinics = append(clinics, c)
		for patient := range patients() {
			row, score := c.patient(rng, patient+1)
			rows = append(rows, append(row, score))
		}
	}
	return clinics, rows
}

// waiting draws three more patients of every clinic, and their scores apart.
func waiting(rng *rand.Rand, clinics []clinic) (rows, scores [][]string) {
	rows, scores = [][]string{header()}, [][]string{{"clinic", "patient", "score"}}
	for _, c := range clinics {
		for patient := range 3 {
			row, score := c.patient(rng, 101+patient)
			rows = append(rows, row)
			scores = append(scores, []string{row[0], row[1], score})
		}
	}
	return rows, scores
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
		v := k.draw(rng)
		y += (v - k.mean) / k.deviation * (k.effect + c.b[0]*k.directions[0] + c.b[1]*k.directions[1])
		row = append(row, strconv.FormatFloat(v, 'f', -1, 64))
	}
	return row, strconv.FormatFloat(y, 'f', 1, 64)
}
