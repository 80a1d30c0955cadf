package evidence

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Blocks of columns are the matrix that they are set in.
func TestColumnBlocks(t *testing.T) {
	const w, rank = 150, 3
	if jointly(w, rank) {
		t.Fatal("columns depend on one another")
	}
	l := newInformationSums(w, rank)
	sums := l.loadings.Of(make([]float64, l.Len))
	for i := range sums {
		sums[i] = float64(i + 1)
	}
	want := mat.NewSymDense(w*rank, nil)
	setLoadings(want, w, rank, sums)
	if got := (&columnBlocks{w, rank, sums}); !mat.Equal(got, want) || got.SymmetricDim() != w*rank || !mat.Equal(got.T(), want) {
		t.Error("another matrix")
	}
}
