package mixed

import (
	"fmt"
	"slices"

	"github.com/difalt/difalt/internal/dense"
	"github.com/difalt/difalt/internal/npz"
)

// writeCovariances writes the arrays of the covariances of tasks with p columns.
func (k *Tasks) writeCovariances(out *npz.Writer, p int) {
	if k.Covariances == nil {
		return
	}
	packed, reduced := 0, 0 // tasks, and rows of the other tasks
	for t := range k.Covariances {
		if c := &k.Covariances[t]; c.Packed != nil {
			packed++
		} else {
			reduced += len(c.Shares)
		}
	}
	if packed > 0 {
		t := -1 // of the last row
		out.Rows("covariance", []int{packed, dense.Triangle(p)}, false, func(dst []float64, _ int) {
			for t++; k.Covariances[t].Packed == nil; t++ {
			}
			copy(dst, k.Covariances[t].Packed)
		})
	}
	if k.Strengths == nil {
		return
	}
	rows, factors := make([]int, len(k.Covariances)), make([]float64, len(k.Covariances))
	shares := make([]float64, 0, reduced)
	for t := range k.Covariances {
		c := &k.Covariances[t]
		rows[t], factors[t], shares = len(c.Shares), c.MeanFactor, append(shares, c.Shares...)
		if c.Packed != nil {
			rows[t] = -1
		}
	}
	out.Ints("covariance_rows", rows)
	t, i := 0, 0 // the next row is row i of task t, or the first of a later one
	out.Rows("root", []int{reduced, p}, false, func(dst []float64, _ int) {
		for ; i == len(k.Covariances[t].Shares); t, i = t+1, 0 {
		}
		copy(dst, k.Covariances[t].Root[i*p:][:p])
		i++
	})
	out.Float64s("shares", []int{len(shares)}, shares)
	out.Float64s("mean_factor", []int{len(factors)}, factors)
	out.Float64s("strength_variance", []int{p}, k.Strengths.Variances)
}

// readCovariances reads what writeCovariances wrote.
func (k *Tasks) readCovariances(r *npz.Reader, p int) (err error) {
	t := len(k.Names)
	rows := slices.Repeat([]int{-1}, t)
	if k.Strengths != nil {
		a, err := r.Array("covariance_rows", t)
		if err == nil {
			rows, err = a.Ints()
		}
		if err != nil {
			return err
		}
	} else if !r.Has("covariance") {
		return nil
	}
	packed, reduced := 0, 0
	for i, n := range rows {
		switch {
		case n == -1:
			packed++
		case n < 0 || n > p:
			const format = "array %q: entry %d is %d: it must be from -1 to %d"
			return fmt.Errorf(format, "covariance_rows", i, n, p)
		default:
			reduced += n
		}
	}
	var full, root, shares, factors []float64
	if packed > 0 {
		if full, err = readFloats(r, "covariance", packed, dense.Triangle(p)); err != nil {
			return err
		}
	}
	if k.Strengths != nil {
		for _, a := range []array{
			{"root", &root, []int{reduced, p}, noLimits}, {"shares", &shares, []int{reduced}, noLimits},
			{"mean_factor", &factors, []int{t}, noLimits},
			{"strength_variance", &k.Strengths.Variances, []int{p}, noLimits},
		} {
			if *a.data, err = readFloats(r, a.name, a.shape...); err != nil {
				return err
			}
		}
	}
	k.Covariances = make([]Covariance, t)
	for i, n := range rows {
		c := &k.Covariances[i]
		if factors != nil {
			c.MeanFactor = factors[i]
		}
		if n < 0 {
			size := dense.Triangle(p)
			c.Packed, full = full[:size:size], full[size:]
			continue
		}
		c.Root, root = root[:n*p:n*p], root[n*p:]
		c.Shares, shares = shares[:n:n], shares[n:]
	}
	return nil
}
