package leastsq

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas/blas64"
)

// A decomposition is M = Q W S U', the singular value decomposition of a matrix of n rows and c columns, n >=
// c: Q is a product of reflections, W and U are orthogonal of order c, and S is diagonal.
//
// QR factors with pivoting come first, then rotations of pairs of rows of R until all are orthogonal (Drmac
// and Veselic 2008). The rows of R are closer to that than the columns of M, and as short as c. Small values
// keep their relative precision where columns of M have different units (Demmel and Veselic 1992), and
// numbers are rounded alike on all processors.
type decomposition struct {
	m      blas64.GeneralCols // the reflections, below the diagonal
	scales []float64          // their factors
	pivots []int              // column k of R was column pivots[k] of M
	values []float64          // the diagonal of S, descending
	u, w   []float64          // the columns of U and W, as rows; where values are zero, u has no vector
	row    []float64          // scratch
}

// mostSweeps is a number of passes over all pairs of rows. 3 to 6 are usual.
const mostSweeps = 60

// compute computes the decomposition, and overwrites m. It returns false if the rows do not become
// orthogonal.
func (d *decomposition) compute() bool {
	d.factor()
	d.begin()
	c := d.m.Cols
	rows := blas64.GeneralCols{Rows: c, Cols: c, Stride: c, Data: d.u}
	for range mostSweeps {
		for k := range c { // values are squares of lengths until the end
			x := column(rows, k)
			d.values[k] = tile.InnerProduct(x, x)
		}
		if !sweep(rows, d.values, d.w) {
			d.sort(rows)
			d.restoreOrder(rows)
			return true
		}
	}
	return false
}

// factor computes the factors Q and R of the columns of M. The column whose rest is longest comes first.
func (d *decomposition) factor() {
	m := d.m
	for k := range d.pivots {
		d.pivots[k] = k
	}
	for k := range m.Cols {
		longest, squares := k, -1.0
		for j := k; j < m.Cols; j++ {
			rest := column(m, j)[k:]
			if s := tile.InnerProduct(rest, rest); s > squares {
				longest, squares = j, s
			}
		}
		exchange(column(m, k), column(m, longest))
		d.pivots[k], d.pivots[longest] = d.pivots[longest], d.pivots[k]
		d.reflect(k, squares)
	}
}

// reflect clears column k below the diagonal, given the sum of the squares from there on, and reflects the
// columns behind it.
func (d *decomposition) reflect(k int, squares float64) {
	m := d.m
	x := column(m, k)[k:]
	pivot, rest := x[0], x[1:]
	d.scales[k] = 0
	if len(rest) == 0 || !(squares > 0) || tile.MaxAbs(rest) == 0 {
		clear(rest)
		return
	}
	diagonal := -math.Copysign(math.Sqrt(squares), pivot)
	x[0], d.scales[k] = diagonal, (diagonal-pivot)/diagonal
	tile.Scale(rest, 1/(pivot-diagonal))
	for j := k + 1; j < m.Cols; j++ {
		d.apply(k, column(m, j))
	}
}

// apply reflects a vector as long as the columns of M by reflection k.
func (d *decomposition) apply(k int, y []float64) {
	if d.scales[k] == 0 {
		return
	}
	v := column(d.m, k)[k+1:]
	by := float64(d.scales[k] * (y[k] + tile.InnerProduct(v, y[k+1:])))
	y[k] -= by
	addScaled(y[k+1:], -by, v)
}

// applyQ overwrites a vector y by Q y, or by Q'y if transposed.
func (d *decomposition) applyQ(y []float64, transposed bool) {
	c := d.m.Cols
	for i := range c {
		if transposed {
			d.apply(i, y)
		} else {
			d.apply(c-1-i, y)
		}
	}
}

// addSolution adds sum_k f(s_k) (u_k'y) v_k for the values s_k that a filter takes, where u_k and v_k are the
// left and right singular vectors of M, or those of M' if transposed. It overwrites y.
func (d *decomposition) addSolution(b, y []float64, f filter, transposed bool) {
	c := d.m.Cols
	if !transposed {
		d.applyQ(y, true)
	}
	for k, s := range d.values[:min(f.rank, c)] {
		if s == 0 {
			break
		}
		from, to := d.w[k*c:][:c], d.u[k*c:][:c]
		if transposed {
			from, to = to, from
		}
		rounded.AddScaled(b[:c], float64(f.factor(s)*rounded.Dot(from, y[:c])), to)
	}
	if transposed {
		d.applyQ(b, false)
	}
}

// begin sets u to the rows of R and w to the unit matrix.
func (d *decomposition) begin() {
	c := d.m.Cols
	for k := range c {
		row, unit := d.u[k*c:][:c], d.w[k*c:][:c]
		clear(row[:k])
		for j := k; j < c; j++ {
			row[j] = d.m.Data[j*d.m.Stride+k]
		}
		clear(unit)
		unit[k] = 1
	}
}

// sort sets values to the lengths of the rows, and brings these into descending order.
func (d *decomposition) sort(rows blas64.GeneralCols) {
	c := rows.Cols
	for k := range c {
		d.values[k] = rounded.Norm(column(rows, k))
	}
	for k := range c {
		largest := k
		for l := k + 1; l < c; l++ {
			if d.values[l] > d.values[largest] {
				largest = l
			}
		}
		d.values[k], d.values[largest] = d.values[largest], d.values[k]
		exchange(column(rows, k), column(rows, largest))
		exchange(d.w[k*c:][:c], d.w[largest*c:])
	}
}

// restoreOrder divides the rows by their lengths, and brings their entries into the order of the columns of
// M.
func (d *decomposition) restoreOrder(rows blas64.GeneralCols) {
	ordered := d.row
	for k, length := range d.values {
		if length == 0 {
			continue
		}
		row := column(rows, k)
		for j, v := range row {
			ordered[d.pivots[j]] = v / length
		}
		copy(row, ordered)
	}
}

// sweep rotates each pair of columns of m, whose squared lengths are in squares, and of rows of left. It
// returns false if all pairs were orthogonal to rounding; it has rotated them closer to it then.
func sweep(m blas64.GeneralCols, squares, left []float64) (rotated bool) {
	c, tol := m.Cols, 0x1p-52*math.Sqrt(float64(m.Rows))
	for i := range c {
		x, top := column(m, i), left[i*c:][:c]
		for j := i + 1; j < c; j++ {
			y, xx, yy := column(m, j), squares[i], squares[j]
			xy := tile.InnerProduct(x, y)
			lengths := math.Sqrt(max(xx, 0)) * math.Sqrt(max(yy, 0))
			if math.Abs(xy) <= tol/8*lengths {
				continue
			}
			zeta := (yy - xx) / (2 * xy)
			t := math.Copysign(1/(math.Abs(zeta)+rounded.Hypot(1, zeta)), zeta)
			if t == 0 { // squares of y have underflown: y is negligible beside x
				continue
			}
			rotated = rotated || math.Abs(xy) > tol*lengths
			cosine := 1 / math.Sqrt(1+float64(t*t))
			sine := cosine * t
			tile.PlaneRotation(x, y, cosine, -sine) // x = c x - s y, y = s x + c y
			tile.PlaneRotation(top, left[j*c:][:c], cosine, -sine)
			squares[i] = remaining(x, xx-float64(t*xy), cosine*cosine*xx)
			squares[j] = remaining(y, yy+float64(t*xy), sine*sine*xx)
		}
	}
	return rotated
}

// remaining returns the squared length of a difference of two vectors, which is estimated, given those of the
// vectors. It clears a difference that is below its rounding.
func remaining(x []float64, estimate, before float64) float64 {
	const rounding, exact = 0x1p-50, 0x1p-20
	if estimate > exact*before {
		return estimate
	}
	squares := tile.InnerProduct(x, x)
	if squares <= rounding*rounding*before {
		clear(x)
		return 0
	}
	return squares
}

// exchange exchanges x and as many entries of y.
func exchange(x, y []float64) {
	y = y[:len(x)]
	for k, v := range x {
		x[k], y[k] = y[k], v
	}
}
