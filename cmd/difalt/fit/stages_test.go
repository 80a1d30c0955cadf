package fit

import (
	"context"
	"errors"
	"testing"
)

// A fit that is cancelled at any stage before its iterations ends there: what is under way is left out.
func TestCanceledAtEveryStage(t *testing.T) {
	tab, c := newTruth(3, 4, 1).table(t, 12, 10, 12, 2), testConfig(t, 2, 2)
	c.Train = make([]bool, tab.Rows())
	for i := range c.Train {
		c.Train[i] = i%3 > 0
	}
	c.Options.Workers = 2
	var stages []string
	c.Progress = func(stage string, _, _ int) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
	}
	if _, _, err := Fit(t.Context(), tab, c); err != nil {
		t.Fatal(err)
	}
	for at, stage := range stages {
		if stage == "iterations" {
			if at < 6 {
				t.Errorf("stages %q", stages)
			}
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		seen, later := 0, 0
		c.Progress = func(s string, _, _ int) {
			if ctx.Err() != nil {
				later++
			}
			if seen == 0 || stages[seen-1] != s {
				if seen++; seen == at+1 {
					cancel()
				}
			}
		}
		m, _, err := Fit(ctx, tab, c)
		if !errors.Is(err, context.Canceled) || m != nil {
			t.Errorf("%s: error %v", stage, err)
		}
		if most := 4; later > most {
			t.Errorf("%s: %d more reports of progress, want at most %d", stage, later, most)
		}
		cancel()
	}
	t.Errorf("no iterations after %q", stages)
}
