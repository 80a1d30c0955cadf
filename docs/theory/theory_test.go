package main

import (
	"math"
	"testing"
)

func TestSmallest(t *testing.T) {
	for threshold := range 40 {
		got := smallest(33, func(n int) bool {
			if n < 1 || n > 33 {
				t.Fatalf("asks for %d", n)
			}
			return n >= threshold
		})
		want := float64(max(1, threshold))
		if threshold > 33 {
			want = math.Inf(1)
		}
		if got != want {
			t.Errorf("threshold %d: got %v", threshold, got)
		}
	}
}

func TestFitPower(t *testing.T) {
	x := []float64{1, 2, 3, 5}
	y := make([]float64, len(x))
	for i := range x {
		y[i] = 7 * math.Pow(x[i], 2.5)
	}
	if exponent, share := fitPower(x, y); math.Abs(exponent-2.5) > 1e-12 || math.Abs(share-1) > 1e-12 {
		t.Errorf("7 x^2.5 has the exponent %v, explained to %v", exponent, share)
	}
	if exponent, share := fitPower(x, []float64{3, 3, 3, 3}); exponent != 0 || share != 0 {
		t.Errorf("a constant has the exponent %v, explained to %v", exponent, share)
	}
}
