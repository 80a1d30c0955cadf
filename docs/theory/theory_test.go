package main

import (
	"errors"
	"math"
	"testing"
)

func TestSmallest(t *testing.T) {
	for threshold := 1; threshold <= 40; threshold++ {
		got, err := smallest(3, 33, func(n int) (bool, error) {
			if n < 3 || n > 33 {
				t.Fatalf("asks for %d", n)
			}
			return n >= threshold, nil
		})
		want := float64(max(3, threshold))
		if threshold > 33 {
			want = math.Inf(1)
		}
		if err != nil || got != want {
			t.Errorf("threshold %d: got %v, %v", threshold, got, err)
		}
	}
	broken := errors.New("broken")
	for _, fails := range []int{1, 4, 6} { // at once, while n grows, and between 4 and 8
		if _, err := smallest(1, 9, func(n int) (bool, error) {
			if n == fails {
				return false, broken
			}
			return n >= 7, nil
		}); err != broken {
			t.Errorf("an error at %d is returned as %v", fails, err)
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
