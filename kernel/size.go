package kernel

import "github.com/difalt/difalt/kernel/internal/tile"

// MaxAbs returns the largest absolute values of the features and of the responses, 0
// if there are none and NaN if one of them is NaN.
func (t *Tasks) MaxAbs() (x, y float64) {
	defer t.keep()
	for task := range t.rows {
		if t.storage == Float32 {
			x = max(x, tile.MaxAbs(rowsOf(t, t.x32, task)))
		} else {
			x = max(x, tile.MaxAbs(rowsOf(t, t.x64, task)))
		}
		y = max(y, tile.MaxAbs(t.Y(task)))
	}
	return x, y
}

// SquareSums returns the sums of (xScale x)^2 over all features of all samples and of
// (yScale y)^2 over all responses. With the inverses of what MaxAbs returns, or powers
// of two near them, for scales nothing overflows.
func (t *Tasks) SquareSums(xScale, yScale float64) (x, y float64) {
	defer t.keep()
	for task := range t.rows {
		if t.storage == Float32 {
			x += squareSum(rowsOf(t, t.x32, task), t.stride, xScale)
		} else {
			x += squareSum(rowsOf(t, t.x64, task), t.stride, xScale)
		}
		y += squareSum(t.Y(task), t.rows[task], yScale)
	}
	return x, y
}

// rowsOf returns the samples of a task out of x, the samples of all, with their padding.
func rowsOf[F tile.Float](t *Tasks, x []F, task int) []F {
	t.ahead(task)
	return x[t.first[task]*t.stride:][:t.rows[task]*t.stride]
}

// squareSum returns the sum of (scale v)^2 over rows of n entries. Rows are summed by
// themselves first, which keeps rounding small in long tables.
func squareSum[F tile.Float](x []F, n int, scale float64) float64 {
	sum := 0.0
	for ; len(x) > 0; x = x[n:] {
		s := 0.0
		for _, v := range x[:n] {
			w := scale * float64(v)
			s += w * w
		}
		sum += s
	}
	return sum
}
