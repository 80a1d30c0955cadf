package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/dustin/go-humanize"
)

// The terminal and --json say the same numbers, and no line is wider than a terminal.
func TestFitSaysTheSame(t *testing.T) {
	t.Parallel()
	inFull(t)
	for _, flags := range [][]string{
		{"--rank", "2", "--iterations", "30"}, {"--test-fraction", "0"},
		{"--rank", "0", "--test-last", "visits", "--folds-by", "patient"},
		{"--rank", "2", "--iterations", "30", "--method", "accelerated-tracking", "--compress", "int8"},
	} {
		_, words := fitClinics(t, flags...)
		_, asJSON := fitClinics(t, append(flags, "--json")...)
		var r struct {
			Verdict, Status, Method, Agreement string
			Split                              []string
			Iterations                         int
			Step, Residual                     float64
			Statistical                        float64 `json:"statistical_error"`
			Bytes                              uint64
			In                                 uint64 `json:"iteration_bytes"`
			Methods                            []struct {
				Name    string
				Train   jsonTestErrors
				HeldOut jsonTestErrors `json:"held_out"`
			}
			Candidates []struct {
				Rank     int
				Evidence float64 `json:"log_evidence"`
				Expected bool
			}
			Effects    []jsonTestEffect
			Likelihood float64 `json:"log_likelihood"`
			Marginal   float64 `json:"r2_marginal"`
		}
		if err := json.Unmarshal([]byte(asJSON), &r); err != nil {
			t.Fatal(err)
		}
		want := append(r.Split, r.Verdict, fmt.Sprintf("%s in all.", humanize.Bytes(r.Bytes)))
		if r.Status != "" { // which rank 0 has none of
			want = append(want, "method "+r.Method, fmt.Sprintf("%s: %d iterations%s The nodes sent %s in the iterations,",
				r.Status, r.Iterations, stepText(r.Step), humanize.Bytes(r.In)), fmt.Sprintf("training rows: %.2g", r.Residual))
			if r.Statistical < 1 {
				want = append(want, fmt.Sprintf("noise and slopes of single tasks leave %.2g", r.Statistical))
			}
		}
		if slices.Contains(flags, "--folds-by") && len(r.Split) != 2 {
			t.Errorf("%q: said about the split: %q", flags, r.Split)
		}
		for _, m := range r.Methods {
			row := m.Name
			if m.HeldOut.Rows > 0 {
				row += " " + text.Decimal(m.HeldOut.RMSE) + " " + text.Decimal(m.HeldOut.MAE) + " " + text.Decimal(m.HeldOut.Explained)
			}
			want = append(want, row+" "+text.Decimal(m.Train.RMSE)+" "+text.Decimal(m.Train.Explained))
		}
		for _, c := range r.Candidates {
			want = append(want, fmt.Sprintf("%+.1f", c.Evidence))
			if c.Expected != strings.Contains(words, fmt.Sprintf("\n%d, expected ", c.Rank)) {
				t.Errorf("%q: rank %d is expected: %v, but the terminal says\n%s", flags, c.Rank, c.Expected, words)
			}
		}
		for _, e := range r.Effects {
			if e.Effect == "fixed" {
				want = append(want, fmt.Sprintf("%s %s %s", e.Term, text.Decimal(e.Estimate), text.Decimal(e.Error)))
			}
		}
		if len(r.Effects) < 10 {
			t.Errorf("%q: effects are %v", flags, r.Effects)
		}
		want = append(want, fmt.Sprintf("R2 %.3f marginal", r.Marginal), fmt.Sprintf("log likelihood %.1f.", r.Likelihood))
		got := strings.Join(strings.Fields(words), " ")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("%q: the terminal does not say %q:\n%s", flags, part, words)
			}
		}
		for line := range strings.Lines(words) {
			if !strings.Contains(line, "/") && len(line) > 81 {
				t.Errorf("%q: a line of %d characters: %s", flags, len(line)-1, line)
			}
		}
	}
}

type jsonTestEffect struct {
	Effect, Term string
	Estimate     float64
	Error        float64 `json:"std_error"`
}

type jsonTestErrors struct {
	Rows      int
	RMSE, MAE float64
	Explained float64 `json:"explained_variance"`
}

func stepText(step float64) string {
	if step == 0 {
		return ""
	}
	return ", step " + text.Short(step)
}
