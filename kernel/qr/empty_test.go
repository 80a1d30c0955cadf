package qr

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
)

// TestNoRows: R of a matrix without rows is 0, and needs no memory. Update by no rows makes a diagonal that
// is not negative.
func TestNoRows(t *testing.T) {
	r := blas64.GeneralCols{Rows: 2, Cols: 2, Stride: 2, Data: []float64{-1, 7, 3, -4}}
	Update(r, blas64.General{Cols: 2, Stride: 2}, nil)
	if want := []float64{1, 7, -3, 4}; !slices.Equal(r.Data, want) {
		t.Errorf("Update by no rows makes %v, want %v", r.Data, want)
	}
	R(blas64.GeneralCols{Cols: 2, Stride: 1}, r, nil)
	if want := make([]float64, 4); !slices.Equal(r.Data, want) {
		t.Errorf("R of no rows is %v", r.Data)
	}
}
