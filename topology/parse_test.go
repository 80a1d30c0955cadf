package topology

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		spec  string
		nodes int
		want  string
	}{
		{"er:1", 4, "er:1 (4 nodes, 6 edges)"},
		{"ring", 5, "ring (5 nodes, 5 edges)"},
		{"path", 5, "path (5 nodes, 4 edges)"},
		{"star", 5, "star (5 nodes, 4 edges)"},
		{"complete", 5, "complete (5 nodes, 10 edges)"},
		{"exponential", 5, "exponential (5 nodes, 10 edges)"},
	} {
		g, err := Parse(c.spec, c.nodes, 1)
		if err != nil {
			t.Error(err)
		} else if got := g.String(); got != c.want {
			t.Errorf("%s: got %q, want %q", c.spec, got, c.want)
		}
	}
	g, want := must[*Graph](t)(Parse("er:0.5", 20, 9)), must[*Graph](t)(ErdosRenyi(20, .5, 9))
	if !slices.EqualFunc(g.adj, want.adj, slices.Equal) {
		t.Error("Parse and ErdosRenyi with the same seed differ")
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		spec  string
		nodes int
		want  []string
	}{
		{"", 5, []string{`unknown graph ""`, Specs()}},
		{"wheel", 5, []string{`unknown graph "wheel"`, Specs()}},
		{"Ring", 5, []string{`unknown graph "Ring"`, Specs()}},
		{"ring:5", 5, []string{`unknown graph "ring:5"`, Specs()}},
		{"er:", 5, []string{`graph "er:"`, "not a probability", Specs()}},
		{"er:half", 5, []string{`"half" is not a probability`, Specs()}},
		{"er:1.5", 5, []string{"p = 1.5", "0 < p <= 1"}},
		{"er:NaN", 5, []string{"p = NaN"}},
		{"er:0.0001", 50, []string{"er:0.0001 of 50 nodes", "1000 draws"}},
		{"ring", 0, []string{`graph "ring" of 0 nodes`, "at least 1"}},
	} {
		_, err := Parse(c.spec, c.nodes, 1)
		wantError(t, err, c.want...)
	}
}
