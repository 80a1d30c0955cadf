package blas

import (
	"math"

	"github.com/difalt/difalt/internal/rounded"
)

// symmetricSteps finds the eigenvalues of a symmetric tridiagonal matrix by implicit QL and QR steps
// (Dubrulle, Martin and Wilkinson 1968). It takes the steps and rotations of Dsteqr of LAPACK and gonum, so
// that eigenvectors have the same signs as there.
//
// After each next, step takes the step that next has found, and the caller applies its rotations to the rows
// of a matrix that becomes that of the eigenvectors.
type symmetricSteps struct {
	d, e  []float64 // the diagonal, which becomes the eigenvalues, and the entries beside it
	steps int       // taken so far

	// A block has left rows, from first, where eigenvalues are found, to its other end: down (1) by QL steps,
	// or up (-1) by QR steps. rest is the first row of later blocks.
	first, left, way, rest int
	turning                int // the rows that the next step turns
}

// mostSymmetricSteps is the largest number of steps for one eigenvalue, in the mean. Two are usual.
const mostSymmetricSteps = 30

// negligible is the largest size of an entry beside the diagonal that becomes zero, as a multiple of the
// geometric mean of the two diagonal entries next to it.
const negligible = 0x1p-53

// place returns the row at a distance from the first one of the block.
func (t *symmetricSteps) place(k int) int { return t.first + k*t.way }

// beside returns the entry between the rows at the distances k and k+1.
func (t *symmetricSteps) beside(k int) *float64 { return &t.e[t.first+k*t.way+min(t.way, 0)] }

// next returns which rows the rotations of the next step turn, as fields of a sweep; n is 0 when all
// eigenvalues are found.
func (t *symmetricSteps) next() (lo, n int, down bool) {
	for t.left > 0 || t.block() {
		k := 0
		for k+1 < t.left && !t.splits(k) {
			k++
		}
		if k > 0 {
			t.turning = k + 1
			return min(t.first, t.place(k)), k, k == 1 || t.way < 0
		}
		t.find(1)
	}
	return 0, 0, false
}

// find goes on behind the first rows of a block, whose eigenvalues are found.
func (t *symmetricSteps) find(rows int) {
	t.first = t.place(rows)
	t.left -= rows
}

// splits reports whether the entry between the rows at the distances k and k+1 is negligible, and clears it
// then.
func (t *symmetricSteps) splits(k int) bool {
	e, d, next := t.beside(k), t.d[t.place(k)], t.d[t.place(k+1)]
	// This decides nearly always, and loses digits where squares are not normal numbers.
	bound := float64(negligible * negligible * math.Abs(d) * math.Abs(next))
	if float64(*e**e) > bound+safeMin {
		return false
	}
	if math.Abs(*e) > negligible*(math.Sqrt(math.Abs(d))*math.Sqrt(math.Abs(next))) {
		return false
	}
	*e = 0
	return true
}

// block goes on with the next block, and reports whether there is one. It begins at the end with the smaller
// entry.
func (t *symmetricSteps) block() bool {
	first := t.rest
	if first == len(t.d) {
		return false
	}
	t.first, t.way = first, 1
	last := first
	for last+1 < len(t.d) && !t.splits(last-first) {
		last++
	}
	t.rest, t.left = last+1, last+1-first
	if math.Abs(t.d[last]) < math.Abs(t.d[first]) {
		t.first, t.way = last, -1
	}
	return true
}

// converging reports whether more steps may be taken.
func (t *symmetricSteps) converging() bool { return t.steps <= mostSymmetricSteps*len(t.d) }

// step takes the step that next has returned, and sets its cosines and sines.
func (t *symmetricSteps) step(c, s []float64) {
	t.steps++
	if t.turning == 2 {
		lo := min(t.first, t.place(1))
		t.d[lo], t.d[lo+1], c[0], s[0] = own.Dlaev2(t.d[lo], t.e[lo], t.d[lo+1])
		t.e[lo] = 0
		t.find(2)
		return
	}
	d, e, way, rows := t.d, t.e, t.way, t.turning
	before := min(way, 0) // from a row to the entry beside it and the next one
	p, beside := d[t.first], e[t.first+before]
	g := (d[t.first+way] - p) / (2 * beside)
	g = d[t.place(rows-1)] - p + beside/(g+math.Copysign(rounded.Hypot(g, 1), g))
	cosine, sine, p := 1.0, 1.0, 0.0
	for k, row := rows-2, t.place(rows-2); k >= 0; k, row = k-1, row-way {
		f, b := float64(sine*e[row+before]), float64(cosine*e[row+before])
		r := math.Sqrt(float64(f*f) + float64(g*g))
		if r >= 0x1p-450 && r <= 0x1p450 && g != 0 { // the rest of Dlartg is for other sizes
			cosine, r = math.Abs(g)/r, math.Copysign(r, g)
			sine = f / r
		} else {
			cosine, sine, r = own.Dlartg(g, f)
		}
		if k < rows-2 {
			e[row+way+before] = r
		}
		c[k], s[k] = cosine, sine
		g = d[row+way] - p
		r = float64((d[row]-g)*sine) + float64(2*cosine*b)
		p = float64(sine * r)
		d[row+way] = g + p
		g = float64(cosine*r) - b
	}
	d[t.first] -= p
	e[t.first+before] = g
}
