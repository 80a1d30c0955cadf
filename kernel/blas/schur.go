package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
)

// A schur is an upper Hessenberg matrix H on its way to Schur form: H = Z T Z', with an upper triangular T
// but for blocks of order 2 on its diagonal, one for each pair of complex eigenvalues.
//
// The iterations are implicit double shift QR steps (Francis 1961) with the deflation of Dlahqr of LAPACK.
// The bulge of a step moves by two plane rotations a row. They are applied immediately to a window around the
// bulge; the other rows and columns of H, and Z, take the rotations of a whole window, or of some steps,
// together, by tiles.
type schur struct {
	n, stride int
	h         []float64 // by rows, with a panel of rotations behind each
	whole     bool      // T is wanted, and not only the eigenvalues
	re, im    []float64 // the eigenvalues
	z         *turned   // Z' is multiplied by the rotations; without rows if Z is not wanted
	// first and second are the rotations of a step for each row, the last row first: of rows k+1 and k+2,
	// and of rows k and k+1 after that.
	first, second chainOfRotations
	columns       []float64 // some columns of H, as rows
	side          int       // their stride
	above         []float64 // H with Width rows before it
	memory        *[]float64
}

// A chainOfRotations has the cosines and sines of rotations of neighbouring rows.
type chainOfRotations struct{ c, s []float64 }

const (
	// windowRows is the number of rows of a window around a bulge, and windowWhole the largest order of a
	// matrix that is one window.
	windowRows, windowWhole = 24, 40
	// fewForSchur is the order of a matrix below which gonum needs no more time. Eigen 2 to 10.
	fewForSchur = 8
	// fewForDeflation is the least order of a block where aggressive early deflation saves time. Eigen
	// 100, 300.
	fewForDeflation = 120
	// unitRoundoff is the distance of 1 from the next number.
	unitRoundoff = 0x1p-52
)

// newSchur returns memory for a matrix of order n.
func newSchur(n int) *schur {
	f := &schur{n: n, stride: rowStride(n + tile.RotateWidth), side: rowStride(n + tile.RotateWidth)}
	above := tile.Width * f.stride // rows that the tiles move beside the rows of H
	entries, columns, rotations := above+n*f.stride+tile.RotateWidth, 2*windowRows*f.side, n+1
	if n <= windowWhole {
		columns = 0
	}
	f.memory = borrow[float64](entries + columns + 4*rotations)
	rest := *f.memory
	clear(rest)
	take := func(n int) []float64 {
		taken := rest[:n]
		rest = rest[n:]
		return taken
	}
	f.above, f.columns = take(entries), take(columns)
	f.h = f.above[above:]
	f.first = chainOfRotations{take(rotations), take(rotations)}
	f.second = chainOfRotations{take(rotations), take(rotations)}
	return f
}

// release keeps the memory for another matrix.
func (f *schur) release() { giveBack(f.memory) }

// load copies the Hessenberg matrix in a, without what is below its subdiagonal.
func (f *schur) load(a []float64, lda int) {
	for i := range f.n {
		from := max(i-1, 0)
		copy(f.h[i*f.stride+from:][:f.n-from], a[i*lda+from:])
	}
}

// store copies the matrix to a, with zeros below the subdiagonal.
func (f *schur) store(a []float64, lda int) {
	for i := range f.n {
		from := max(i-1, 0)
		clear(a[i*lda:][:from])
		copy(a[i*lda+from:i*lda+f.n], f.h[i*f.stride+from:])
	}
}

// at returns entry (i, j).
func (f *schur) at(i, j int) float64 { return f.h[i*f.stride+j] }

// set overwrites entry (i, j).
func (f *schur) set(i, j int, v float64) { f.h[i*f.stride+j] = v }

// extent returns the first row and the last column of H that the transformations of a block change.
func (f *schur) extent(lo, hi int) (top, last int) {
	if f.whole {
		return 0, f.n - 1
	}
	return lo, hi
}

// compute finds the eigenvalues of rows and columns lo to hi, from the last one up. It returns 0 or, if one
// is not found, its index plus 1: all eigenvalues behind it are found.
func (f *schur) compute(lo, hi int) (unconverged int) {
	for i := range f.n { // which balancing has set apart
		if i < lo || i > hi {
			f.re[i], f.im[i] = f.at(i, i), 0
		}
	}
	most := 30 * max(10, hi-lo+1) // steps for one eigenvalue; two are usual
	steps, rounds := 0, 0         // since the last eigenvalue
	for i := hi; i >= lo; {
		l := f.split(lo, i)
		switch {
		case l == i:
			f.re[i], f.im[i] = f.at(i, i), 0
			i, steps, rounds = i-1, 0, 0
			continue
		case l == i-1:
			f.pair(i)
			i, steps, rounds = i-2, 0, 0
			continue
		case steps > most:
			f.z.apply()
			return i + 1
		}
		if rounds < mostRounds && i-l+1 >= fewForDeflation {
			found, ok := f.round(l, i)
			i -= found
			if found > 0 {
				steps, rounds = 0, 0
				continue
			}
			if rounds++; ok {
				continue
			}
		}
		steps++
		f.step(l, i, f.shifts(l, i, steps))
	}
	f.z.apply()
	return 0
}

// split returns the first row of the block that ends in row i: the entry on the left of it is zero, or
// negligible and set to zero, by the criterion of Ahues and Tisseur (LAPACK Working Note 122, 1997).
func (f *schur) split(lo, i int) int {
	small := safeMin * float64(f.n) / unitRoundoff
	for k := i; k > lo; k-- {
		e := math.Abs(f.at(k, k-1))
		if e <= small {
			f.set(k, k-1, 0)
			return k
		}
		above, diagonal := f.at(k-1, k-1), f.at(k, k)
		size := math.Abs(above) + math.Abs(diagonal)
		if size == 0 {
			if k-2 >= lo {
				size += math.Abs(f.at(k-1, k-2))
			}
			if k+1 <= i {
				size += math.Abs(f.at(k+1, k))
			}
		}
		if e > unitRoundoff*size {
			continue
		}
		beside, apart := math.Abs(f.at(k-1, k)), math.Abs(above-diagonal)
		larger, smaller := max(e, beside), min(e, beside)
		a, b := max(math.Abs(diagonal), apart), min(math.Abs(diagonal), apart)
		sum := a + larger
		if smaller*(larger/sum) <= max(small, unitRoundoff*(b*(a/sum))) {
			f.set(k, k-1, 0)
			return k
		}
	}
	return lo
}

// pair stores the eigenvalues of the block of order 2 that ends in row i, and brings it to standard form.
func (f *schur) pair(i int) {
	a, b, c, d, re0, im0, re1, im1, cs, sn := own.Dlanv2(f.at(i-1, i-1), f.at(i-1, i), f.at(i, i-1), f.at(i, i))
	f.re[i-1], f.im[i-1], f.re[i], f.im[i] = re0, im0, re1, im1
	f.set(i-1, i-1, a)
	f.set(i-1, i, b)
	f.set(i, i-1, c)
	f.set(i, i, d)
	top, last := f.extent(i-1, i)
	upper, lower := f.h[(i-1)*f.stride+i+1:][:last-i], f.h[i*f.stride+i+1:][:last-i]
	for j, x := range upper {
		y := lower[j]
		upper[j], lower[j] = float64(cs*x)+float64(sn*y), float64(cs*y)-float64(sn*x)
	}
	for k := top; k < i-1; k++ {
		row := (*[2]float64)(f.h[k*f.stride+i-1:])
		row[0], row[1] = float64(cs*row[0])+float64(sn*row[1]), float64(cs*row[1])-float64(sn*row[0])
	}
	if f.z.n > 0 {
		cosines, sines := f.z.begin(i-1, 1, true)
		cosines[0], sines[0] = cs, sn
	}
}

// doubleShift are two shifts: real ones, or a pair of complex ones.
type doubleShift struct{ re0, im0, re1, im1 float64 }

// shifts returns the eigenvalues of the last two rows and columns of the block from l to i. If they are real,
// it returns twice the one that is closer to the last entry. Every tenth step without an eigenvalue takes
// others.
func (f *schur) shifts(l, i, steps int) doubleShift {
	const exceptional = 10
	h11, h12, h21, h22 := f.at(i-1, i-1), f.at(i-1, i), f.at(i, i-1), f.at(i, i)
	if steps%exceptional == 0 {
		k, size := i, math.Abs(f.at(i, i-1))+math.Abs(f.at(i-1, i-2))
		if steps%(2*exceptional) != 0 {
			k, size = l, math.Abs(f.at(l+1, l))+math.Abs(f.at(l+2, l+1))
		}
		h11 = float64(0.75*size) + f.at(k, k)
		h12, h21, h22 = -0.4375*size, size, h11
	}
	size := math.Abs(h11) + math.Abs(h12) + math.Abs(h21) + math.Abs(h22)
	if size == 0 {
		return doubleShift{}
	}
	h11, h12, h21, h22 = h11/size, h12/size, h21/size, h22/size
	half := float64((h11 + h22) / 2)
	det := float64((h11-half)*(h22-half)) - float64(h12*h21)
	root := math.Sqrt(math.Abs(det))
	if det >= 0 {
		re, im := float64(half*size), float64(root*size) // rounded before they are added elsewhere
		return doubleShift{re, im, re, -im}
	}
	re := half + root
	if math.Abs(half-root-h22) < math.Abs(re-h22) {
		re = half - root
	}
	re = float64(re * size)
	return doubleShift{re, 0, re, 0}
}

// begin returns the row m where the bulge of two shifts begins in the block from l to i. It also returns the
// multiple of the first column of (H - s0)(H - s1) there: below two small entries of the subdiagonal, if
// there are.
func (f *schur) begin(l, i int, s doubleShift) (m int, v [3]float64) {
	for m = i - 2; ; m-- {
		d, below := f.at(m, m), f.at(m+1, m)
		size := math.Abs(d-s.re1) + math.Abs(s.im1) + math.Abs(below)
		below /= size
		v[0] = float64(below*f.at(m, m+1)) + float64((d-s.re0)*((d-s.re1)/size)) - float64(s.im0*(s.im1/size))
		v[1] = below * (d + f.at(m+1, m+1) - s.re0 - s.re1)
		v[2] = below * f.at(m+2, m+1)
		sum := math.Abs(v[0]) + math.Abs(v[1]) + math.Abs(v[2])
		v[0], v[1], v[2] = v[0]/sum, v[1]/sum, v[2]/sum
		if m == l {
			return m, v
		}
		around := math.Abs(f.at(m-1, m-1)) + math.Abs(d) + math.Abs(f.at(m+1, m+1))
		if math.Abs(f.at(m, m-1))*(math.Abs(v[1])+math.Abs(v[2])) <= unitRoundoff*math.Abs(v[0])*around {
			return m, v
		}
	}
}
