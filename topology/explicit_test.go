package topology

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestFromEdges(t *testing.T) {
	g := must[*Graph](t)(FromEdges(4, [][2]int{{3, 0}, {0, 1}, {2, 1}, {2, 3}}))
	checkSimple(t, g)
	ring := must[*Graph](t)(Ring(4))
	if !slices.EqualFunc(g.adj, ring.adj, slices.Equal) {
		t.Errorf("adjacency %v, want %v", g.adj, ring.adj)
	}
	for _, c := range []struct {
		n     int
		edges [][2]int
		want  []string
	}{
		{0, nil, []string{"edges of 0 nodes", "at least 1"}},
		{3, [][2]int{{0, 1}, {2, 2}}, []string{"edge 2 2", "self loop"}},
		{3, [][2]int{{0, 1}, {1, 2}, {1, 0}}, []string{"edge 1 0 is repeated"}},
		{3, [][2]int{{0, 1}, {0, 1}}, []string{"edge 0 1 is repeated"}},
		{3, [][2]int{{0, 3}}, []string{"edge 0 3", "the 3 nodes are numbered from 0"}},
		{3, [][2]int{{-1, 2}}, []string{"edge -1 2", "numbered from 0"}},
	} {
		_, err := FromEdges(c.n, c.edges)
		wantError(t, err, c.want...)
	}
}

func TestFromAdjacency(t *testing.T) {
	for _, want := range testGraphs(t) {
		a := mat.NewDense(want.Len(), want.Len(), nil)
		for i := range want.Len() {
			for _, j := range want.Neighbors(i) {
				a.Set(i, j, 1)
			}
		}
		if g := must[*Graph](t)(FromAdjacency(a)); !slices.EqualFunc(g.adj, want.adj, slices.Equal) {
			t.Errorf("adjacency %v, want %v", g.adj, want.adj)
		}
	}
	for _, c := range []struct {
		a    *mat.Dense
		want []string
	}{
		{&mat.Dense{}, []string{"0 nodes"}},
		{mat.NewDense(2, 3, nil), []string{"2 x 3", "square"}},
		{mat.NewDense(2, 2, []float64{0, 1, 0, 0}),
			[]string{"not symmetric: 1 in row 0, column 1, but 0 in row 1, column 0"}},
		{mat.NewDense(2, 2, []float64{0, 1, 1, 1}), []string{"self loop at node 1"}},
		{mat.NewDense(2, 2, []float64{0, .5, .5, 0}), []string{"0.5 in row 0, column 1"}},
	} {
		_, err := FromAdjacency(c.a)
		wantError(t, err, c.want...)
	}
}
