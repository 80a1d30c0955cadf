package blas

import (
	"cmp"
	"math"
	"slices"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// Rows and columns of a matrix may have different units. Reflections then lose digits of the small ones,
// unless the large ones come first: the errors of singular values are relative to the largest value, and not
// to each. Sorted rows and columns keep digits of all values (Cox and Higham 1998, for QR factors). That is a
// matter of moving numbers, so that matrices in one unit, which stay as they are, take no more time.

// unitsApart is the least ratio of sizes that counts as a difference of units, not as chance.
const unitsApart = 1 << 10

// units has the order of rows and columns in an svd: entry i of a list is the row that becomes row i. A list
// is nil if nothing moves.
type units struct {
	rows                 []int // of a tall T
	reducedRows, columns []int // of the matrix that becomes bidiagonal
}

// sort brings the rows and columns of the matrix that becomes bidiagonal into descending order, given their
// sizes, if they have units.
func (u *units) sort(m blas64.General, rows, columns []float64) {
	u.reducedRows, u.columns = descending(rows), descending(columns)
	exchangeRows(m, u.reducedRows)
	exchangeColumns(m, u.columns, columns)
}

// haveUnits reports whether rows or columns have units and are not in descending order, given the sizes of
// rows.
func haveUnits(m blas64.General, rows []float64) bool {
	return descending(rows) != nil || descending(columnSizes(make([]float64, m.Cols), m)) != nil
}

// descending returns the order of descending sizes, or nil if no size is much larger than one before it.
// Zeros have no unit.
func descending(sizes []float64) []int {
	least, apart := math.Inf(1), false
	for _, size := range sizes {
		if size > 0 {
			apart = apart || size/unitsApart > least
			least = min(least, size)
		}
	}
	if !apart {
		return nil
	}
	order := make([]int, len(sizes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sizes[j], sizes[i]) })
	return order
}

// rowSizes sets sizes to the largest entries of rows, and columnSizes sets them to those of columns, without
// signs.
func rowSizes(sizes []float64, m blas64.General) []float64 {
	sizes = sizes[:m.Rows]
	for i := range sizes {
		if row := m.Data[i*m.Stride:][:m.Cols]; len(row) == 1 {
			sizes[i] = math.Abs(row[0])
		} else {
			sizes[i] = tile.MaxAbs(row)
		}
	}
	return sizes
}

func columnSizes(sizes []float64, m blas64.General) []float64 {
	sizes = sizes[:m.Cols]
	clear(sizes)
	for i := range m.Rows {
		for j, v := range m.Data[i*m.Stride:][:m.Cols] {
			sizes[j] = max(sizes[j], math.Abs(v))
		}
	}
	return sizes
}

// exchangeRows brings rows into an order, and restoreRows brings the first rows back. exchangeColumns is
// exchangeRows for columns, and overwrites memory.
func exchangeRows(m blas64.General, order []int) {
	for i := range order {
		swapRows(m, i, partner(order, i))
	}
}

func restoreRows(m blas64.General, order []int) {
	for i := len(order) - 1; i >= 0; i-- {
		swapRows(m, i, partner(order, i))
	}
}

func exchangeColumns(m blas64.General, order []int, memory []float64) {
	if order == nil {
		return
	}
	before := memory[:len(order)]
	for i := range m.Rows {
		row := m.Data[i*m.Stride:][:len(order)]
		copy(before, row)
		for j, from := range order {
			row[j] = before[from]
		}
	}
}

// partner returns the place of the vector that becomes vector i, after those before i have been exchanged.
func partner(order []int, i int) int {
	at := order[i]
	for at < i {
		at = order[at]
	}
	return at
}

func swapRows(m blas64.General, i, j int) {
	if i == j {
		return
	}
	x, y := m.Data[i*m.Stride:][:m.Cols], m.Data[j*m.Stride:][:m.Cols]
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}
