package fit

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/topology"
)

// Levels of a column add up to 1, which is how they are coded and no mistake in a table; nor is a
// level that only held-out rows have. What is a combination beyond that is in the notes.
func TestNotesAboutLevels(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	text := []string{"task,site,a,twin,place,y"}
	for i := range 200 {
		k, a := r.IntN(3), r.NormFloat64()
		text = append(text, fmt.Sprintf("t%d,%c,%v,%v,%c,%v", i%5, 'p'+k, a, 2*a, 'u'+k, a+float64(k)+r.NormFloat64()))
	}
	text = append(text, "t0,z,1,2,u,3")
	for _, c := range []struct {
		features []string
		want     string // the combinations that are named, or nothing
	}{
		{[]string{"site", "a"}, ""},
		{[]string{"site", "a", "twin"}, `"twin"`},
		{[]string{"site", "a", "place"}, `"place=v", "place=w"`}, // one of the three would be by itself
	} {
		tab, err := dataset.ReadCSV(strings.NewReader(strings.Join(text, "\n")), dataset.TableOptions{
			Task: "task", Target: "y", Features: c.features, Categorical: intersect(c.features, "site", "place")})
		if err == nil {
			err = tab.AssignBlocks(2)
		}
		if err != nil {
			t.Fatal(err)
		}
		config := testConfig(t, 2, -1)
		config.Network = network(t, weights(t, "path", 2, topology.Metropolis))
		config.Train = make([]bool, tab.Rows())
		for i := range 200 {
			config.Train[i] = true
		}
		_, report, err := Fit(t.Context(), tab, config)
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(report.Notes, "\n")
		if strings.Contains(notes, "variation") || strings.Contains(notes, "combinations") != (c.want != "") {
			t.Errorf("%q: notes %s", c.features, notes)
		}
		if c.want != "" && !strings.Contains(notes, "before them: "+c.want+".") {
			t.Errorf("%q: notes %s, want %s", c.features, notes, c.want)
		}
	}
}

func intersect(list []string, with ...string) (both []string) {
	for _, s := range list {
		for _, w := range with {
			if s == w {
				both = append(both, s)
			}
		}
	}
	return both
}
