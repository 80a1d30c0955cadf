package fit

import (
	"fmt"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/topology"
)

// Folds of groups need some groups: with a single one there is nothing to cross-validate on, at any
// strength, which is an error and not the end of a grid.
func TestFewGroups(t *testing.T) {
	for groups, want := range map[int]string{1: `column "year" has too few values for 5 folds`, 12: ""} {
		text := []string{"task,year,a,y"}
		for i := range 60 {
			text = append(text, fmt.Sprintf("t%d,%d,%v,%v", i%4, 2000+i/4%groups, i*i%17, i*i%13))
		}
		tab, err := dataset.ReadCSV(strings.NewReader(strings.Join(text, "\n")), dataset.TableOptions{Task: "task", Target: "y", Group: "year"})
		if err == nil {
			err = tab.AssignBlocks(2)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := testConfig(t, 2, -1)
		c.Network = network(t, weights(t, "path", 2, topology.Metropolis))
		switch _, _, err := Fit(t.Context(), tab, c); {
		case want == "" && err != nil:
			t.Error(err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
