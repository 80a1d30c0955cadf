package fit

import (
	"bytes"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// TestRoundingIsNotSeen fits one table with targets that differ in their last digits, as results of another processor do: what tasks
// differ by is the same to three digits.
func TestRoundingIsNotSeen(t *testing.T) {
	text, err := os.ReadFile("../../../examples/clinics.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	target := len(rows[0]) - 1
	if rows[0][target] != "score" {
		t.Fatalf("the last column is %q", rows[0][target])
	}
	rng := rand.New(rand.NewPCG(1, 2))
	var first Candidate
	for k := range 16 {
		var changed bytes.Buffer
		w := csv.NewWriter(&changed)
		for i, row := range rows {
			row = append([]string(nil), row...)
			if v, err := strconv.ParseFloat(row[target], 64); err == nil && i > 0 && k > 0 {
				row[target] = strconv.FormatFloat(v*(1+1e-12*rng.NormFloat64()), 'g', -1, 64)
			}
			if err := w.Write(row); err != nil {
				t.Fatal(err)
			}
		}
		w.Flush()
		tab, err := dataset.ReadCSV(&changed, dataset.TableOptions{Task: "clinic", Target: "score", Drop: []string{"patient"}})
		if err != nil {
			t.Fatal(err)
		}
		assigned(t, tab, 10)
		c := testConfig(t, 10, 0)
		c.Owners = false
		if c.Train, err = tab.Split(dataset.Split{TestFraction: 0.25, Seed: 1}); err != nil {
			t.Fatal(err)
		}
		_, r, err := Fit(t.Context(), tab, c)
		if err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = r.Chosen
			continue
		}
		for a, v := range r.Chosen.Axes {
			if want := first.Axes[a]; r.Chosen.Rank != first.Rank || math.Abs(v/want-1) > 1e-3 {
				t.Errorf("change %d: rank %d with axes %v, without it %d with %v", k, r.Chosen.Rank, r.Chosen.Axes, first.Rank, first.Axes)
				break
			}
		}
	}
}
