package blas

import (
	"math"

	"github.com/difalt/difalt/internal/tile"
	"gonum.org/v1/gonum/blas"
)

// A tridiagonal is a symmetric matrix A that reflections bring to tridiagonal form T = Q'A Q. The upper
// triangle is stored by rows, so that the entries next to the diagonal that a reflection clears are a row.
//
// LAPACK reduces an upper triangle from the last row on, and a lower one from the first row, which decides on
// the signs of eigenvectors. So the rows and columns of an upper triangle are taken in the opposite order.
type tridiagonal struct {
	n, stride int
	mirrored  bool      // rows and columns are in the opposite order
	a         []float64 // on return reflection i, but for its first entry, is behind entry i+1 of row i
	d, e      []float64 // the diagonal of T, and the entries next to it
	tau       []float64
	v, w      []float64 // reflections as rows, and A times them, of one block
	memory    *[]float64
}

// wholeReduction is the largest order of a matrix both of whose triangles are kept up to date. EigenSym 20 to
// 100.
const wholeReduction = 80

// newTridiagonal returns a copy of a triangle of a matrix. An upper one is mirrored if vectors are wanted.
func newTridiagonal(ul blas.Uplo, n int, a []float64, lda int, vectors bool) *tridiagonal {
	stride := rowStride(n)
	t := &tridiagonal{n: n, stride: stride, memory: borrow[float64]((n+2*panelColumns)*stride + n)}
	all := *t.memory
	t.a = all[:n*stride]
	t.v = all[n*stride:][:panelColumns*stride]
	t.w = all[(n+panelColumns)*stride:][:panelColumns*stride]
	t.tau = all[(n+2*panelColumns)*stride:]
	if ul == blas.Upper && !vectors {
		for i := range n {
			copy(t.a[i*stride+i:][:n-i], a[i*lda+i:])
		}
		return t
	}
	tile.Transpose(t.a, stride, a, lda, n, n)
	if t.mirrored = ul == blas.Upper; t.mirrored {
		turnAround(t.a, stride, n)
	}
	return t
}

// turnAround reverses the order of the rows and of the columns of a square matrix.
func turnAround(a []float64, stride, n int) {
	for i := range (n + 1) / 2 {
		row, other := a[i*stride:][:n], a[(n-1-i)*stride:][:n]
		for j, k := 0, n-1; k >= 0; j, k = j+1, k-1 {
			if i == n-1-i && j >= k { // the middle row
				break
			}
			row[j], other[k] = other[k], row[j]
		}
	}
}

// release keeps the memory for another matrix.
func (t *tridiagonal) release() { giveBack(t.memory) }

// reduce computes T in d and e. It takes blocks of reflections: row after row is brought up to date before it
// is reflected, and the rows behind the block when it is complete (Dlatrd of LAPACK).
func (t *tridiagonal) reduce(d, e []float64) {
	t.d, t.e = d, e
	n := t.n
	if n <= wholeReduction {
		t.reduceWhole()
		return
	}
	for first := 0; first < n-1; first += panelColumns {
		end := min(first+panelColumns, n-1)
		for i := first; i < end; i++ {
			t.row(i, i-first)
		}
		Implementation{}.Dsyr2k(
			blas.Upper, blas.Trans, n-end, end-first, -1, t.v[end:], t.stride, t.w[end:], t.stride, 1,
			t.a[end*(t.stride+1):], t.stride,
		)
	}
	d[n-1] = t.a[(n-1)*(t.stride+1)]
}

// reduceWhole is reduce for a small matrix: both triangles are brought up to date after every reflection.
func (t *tridiagonal) reduceWhole() {
	n, a := t.n, t.a
	for i := range n {
		for j := range i {
			a[i*t.stride+j] = a[j*t.stride+i]
		}
	}
	for i := range n - 1 {
		t.d[i] = a[i*(t.stride+1)]
		x := a[i*t.stride+i+1:][:n-1-i]
		t.e[i], t.tau[i] = own.reflector(x)
		if t.tau[i] == 0 {
			continue
		}
		v, w, rest := t.v[:len(x)], t.w[:len(x)], a[(i+1)*(t.stride+1):]
		copy(v, x)
		v[0] = 1
		tile.RowDots(w, rest, t.stride, v, len(x), len(x))
		tile.Scale(w, t.tau[i])
		tile.AddScaled(w, v, -t.tau[i]/2*tile.InnerProduct(w, v))
		minus := t.v[t.stride:][:2*len(x)] // -v and -w, in pairs
		for k, of := range v {
			minus[2*k], minus[2*k+1] = -of, -w[k]
		}
		tile.AddOuterPairs(rest, t.stride, minus, w, v, len(x), len(x))
	}
	t.d[n-1] = a[(n-1)*(t.stride+1)]
}

// reflector computes the reflection I - tau v v' that leaves only the first entry of x, beta. It overwrites x
// behind the first entry by v, whose first entry is 1.
func (*solvers) reflector(x []float64) (beta, tau float64) {
	alpha, rest := x[0], x[1:]
	squares := 0.0
	if len(rest) > 0 {
		squares = tile.InnerProduct(rest, rest)
	}
	norm := squares + float64(alpha*alpha)
	if !safeReflection(squares, norm) {
		return own.Dlarfg(len(x), alpha, rest, 1)
	}
	beta = -math.Copysign(math.Sqrt(norm), alpha)
	tile.Scale(rest, 1/(alpha-beta))
	return beta, (beta - alpha) / beta
}

// row reflects row i, where the block has known reflections already.
func (t *tridiagonal) row(i, known int) {
	row := t.a[i*t.stride+i:][:t.n-i]
	var ofV, ofW [panelColumns]float64
	if known > 0 {
		for k := range known {
			ofV[k], ofW[k] = -t.v[k*t.stride+i], -t.w[k*t.stride+i]
		}
		tile.AddRows(row, t.w[i:], t.stride, ofV[:], known, len(row))
		tile.AddRows(row, t.v[i:], t.stride, ofW[:], known, len(row))
	}
	t.d[i] = row[0]
	x := row[1:]
	v, w := t.v[known*t.stride+i+1:][:len(x)], t.w[known*t.stride+i+1:][:len(x)]
	t.e[i], t.tau[i] = own.reflector(x)
	copy(v, x)
	v[0] = 1
	if t.tau[i] == 0 {
		clear(w)
		return
	}
	Implementation{}.Dsymv(blas.Upper, len(x), 1, t.a[(i+1)*(t.stride+1):], t.stride, v, 1, 0, w, 1)
	if known > 0 {
		tile.RowDots(ofW[:], t.w[i+1:], t.stride, v, known, len(x))
		tile.RowDots(ofV[:], t.v[i+1:], t.stride, v, known, len(x))
		for k := range known {
			ofV[k], ofW[k] = -ofV[k], -ofW[k]
		}
		tile.AddRows(w, t.v[i+1:], t.stride, ofW[:], known, len(x))
		tile.AddRows(w, t.w[i+1:], t.stride, ofV[:], known, len(x))
	}
	tile.Scale(w, t.tau[i])
	tile.AddScaled(w, v, -t.tau[i]/2*tile.InnerProduct(w, v))
}

// generate sets the rows of a matrix to the columns of Q.
func (t *tridiagonal) generate(rows []float64, stride int) {
	n := t.n
	for i := range n {
		clear(rows[i*stride:][:n])
	}
	rows[0] = 1
	for i := range n - 1 {
		copy(rows[(i+1)*stride+i+1:][:n-1-i], t.a[i*t.stride+i+1:])
	}
	q := orthogonal{a: rows[stride+1:], lda: stride, tau: t.tau[:n-1], length: n - 1, k: n - 1, byRows: true}
	q.generate(n - 1)
}
