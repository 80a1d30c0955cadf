package mixed

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// A lattice is a basis of integer vectors, by rows, which reduce shortens (Lenstra, Lenstra and Lovász
// 1982).
type lattice struct {
	rows, orthogonal [][]float64
	factors          [][]float64 // of earlier orthogonal rows in a row
	squares          []float64   // of the lengths of orthogonal rows
}

func newLattice(rows [][]float64) *lattice {
	l := &lattice{rows: rows, squares: make([]float64, len(rows))}
	for range rows {
		l.orthogonal = append(l.orthogonal, make([]float64, len(rows[0])))
		l.factors = append(l.factors, make([]float64, len(rows)))
	}
	return l
}

// project sets the part of row k that is orthogonal to the earlier ones.
func (l *lattice) project(k int) {
	copy(l.orthogonal[k], l.rows[k])
	for j := range k {
		l.factors[k][j] = floats.Dot(l.rows[k], l.orthogonal[j]) / l.squares[j]
		floats.AddScaled(l.orthogonal[k], -l.factors[k][j], l.orthogonal[j])
	}
	l.squares[k] = floats.Dot(l.orthogonal[k], l.orthogonal[k])
}

// shorten subtracts multiples of the earlier rows from row k.
func (l *lattice) shorten(k int) {
	for range 100 { // rounding leaves something to do
		l.project(k)
		done := true
		for j := k - 1; j >= 0; j-- {
			q := math.Round(l.factors[k][j])
			if q == 0 {
				continue
			}
			done = false
			floats.AddScaled(l.rows[k], -q, l.rows[j])
			floats.AddScaled(l.factors[k][:j], -q, l.factors[j][:j])
			l.factors[k][j] -= q
		}
		if done {
			return
		}
	}
}

func (l *lattice) reduce() {
	const bound = .99
	l.project(0)
	for k := 1; k < len(l.rows); {
		l.shorten(k)
		if l.squares[k] >= (bound-square(l.factors[k][k-1]))*l.squares[k-1] {
			k++
			continue
		}
		l.rows[k], l.rows[k-1] = l.rows[k-1], l.rows[k]
		l.project(k - 1)
		k = max(k-1, 1)
	}
}

// smallIntegers returns whole numbers near the given ones whose sum of products with the rows of a is sums,
// to so many binary digits; nil where reduction finds none.
func smallIntegers(a [][]float64, sums, near []float64, digits int) []float64 {
	n := len(a)
	last := slices.Clone(sums)
	for i, row := range a {
		floats.AddScaled(last, -near[i], row)
	}
	floats.Scale(-1, last)
	equations := append(slices.Clone(a), last)
	basis := make([][]float64, n+1) // whole numbers, and behind them what they leave of the sums
	for i := range basis {
		basis[i] = make([]float64, n+1+len(sums))
		basis[i][i] = 1
	}
	for digit := 8; digit <= digits; digit += 6 { // so that all numbers stay small
		for _, row := range basis {
			left := make([]float64, len(sums))
			for j, equation := range equations {
				floats.AddScaled(left, row[j], equation)
			}
			for k, v := range left {
				row[n+1+k] = math.Round(math.Ldexp(v, digit))
			}
		}
		newLattice(basis).reduce()
	}
	for _, row := range basis {
		if math.Abs(row[n]) == 1 {
			out := slices.Clone(row[:n])
			floats.Scale(row[n], out)
			return floats.AddTo(out, out, near)
		}
	}
	return nil
}
