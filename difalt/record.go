package difalt

import (
	"errors"
	"math"
	"slices"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/blas"
	"github.com/difalt/difalt/kernel/eigen"
	"gonum.org/v1/gonum/floats"
)

// A recorder makes records, and sees to it that the observer gets each of them once.
type recorder struct {
	metrics  *metrics
	observed int  // the last iteration whose record the observer has, -1 before the first
	enough   bool // the observer has returned ErrStop
	last     Record
}

// observe hands the record of the current state to the observer, once: rec if there is one,
// or else that of the groups.
func (s *Solver) observe(rec *Record) error {
	r := &s.records
	if s.o.Observer == nil || r.enough || r.observed >= s.at.iteration {
		return nil
	}
	if r.last = s.record(s.at.groups); rec != nil {
		r.last = *rec
	}
	err := s.o.Observer(&r.last)
	if errors.Is(err, ErrStop) {
		r.enough, err = true, nil
		s.raise(Canceled)
	}
	if err != nil {
		return err
	}
	r.observed = s.at.iteration
	return nil
}

// raise lets all hosted nodes ask the others to end with a status.
func (s *Solver) raise(status Status) {
	for i := range s.hosted {
		s.stop.raise(i, status)
	}
}

// record describes the current U, to which the groups have fitted their b_t.
func (s *Solver) record(groups []*kernel.Group) Record {
	rec := Record{Iteration: s.at.iteration, Compute: s.compute, Traffic: s.traffic()}
	rec.SDFirst, rec.SDMax, rec.SDMean, rec.Disagreement = s.records.metrics.subspaces(s.estimates())
	for _, g := range groups {
		rec.Objective += g.Objective / (s.data.unit.y * s.data.unit.y)
		for _, st := range g.Status {
			if st != 0 {
				rec.Singular++
			}
		}
	}
	for _, g := range s.at.groups {
		if g.Anchored {
			rec.Anchors++
		}
	}
	return rec
}

// SubspaceDistance returns SD_2(u, v) = |(I - u u') v|_2 for u and v with
// orthonormal columns: the sine of the largest angle between a direction in the
// span of v and the span of u. It panics if
// u or v is nil, or they have different numbers of rows.
func SubspaceDistance(u, v *kernel.Basis) float64 {
	if u == nil || v == nil {
		panic("difalt: a basis is nil")
	}
	d, ur := u.Dims()
	vd, vr := v.Dims()
	if d != vd {
		panic("difalt: bases have different numbers of rows")
	}
	return newDistance(d, ur, vr).between(u, v)
}

// distance is the scratch memory for subspace distances.
type distance struct {
	m                 *kernel.Basis
	inner, gram, work []float64
}

// newDistance returns scratch for SD_2(u, v) with u of d x ur and v of d x vr.
func newDistance(d, ur, vr int) *distance {
	return &distance{m: kernel.NewBasis(d, vr), inner: make([]float64, ur*vr), gram: make([]float64, vr*vr), work: make([]float64, 2*vr)}
}

func (k *distance) between(u, v *kernel.Basis) float64 {
	_, vr := v.Dims()
	k.m.CopyFrom(v)
	project(k.m, u, k.inner)
	// The 2-norm is the root of the largest eigenvalue of M'M.
	blas.MulTN(blas.ColumnMajor{Rows: vr, Cols: vr, Stride: vr, Data: k.gram}, k.m.Matrix(), k.m.Matrix())
	return math.Sqrt(max(0, eigen.Largest(k.gram, vr, k.work)))
}

// project computes v = (I - u u') v; inner is scratch for v'u.
func project(v, u *kernel.Basis, inner []float64) {
	_, vr := v.Dims()
	_, ur := u.Dims()
	products := blas.ColumnMajor{Rows: vr, Cols: ur, Stride: vr, Data: inner[:vr*ur]}
	blas.MulTN(products, v.Matrix(), u.Matrix())
	floats.Scale(-1, products.Data)
	blas.AddMulNT(v.Matrix(), u.Matrix(), products)
}

// metrics measures the state of a run.
type metrics struct {
	pool    *kernel.Pool
	truth   *kernel.Basis
	toTruth []*distance // one a worker; nil without truth
	sd      []float64   // of every node

	u     []*kernel.Basis // argument of the running measurement
	diff  []float64       // U_g - U_1 of every node, one after the other
	ld    int
	gram  []float64 // of diff; with many nodes their squared distances from node far
	far   int
	tasks func(worker int)
	pairs func(worker int)
}

// mostPairs is of how many nodes all pairs are compared.
const mostPairs = 1000

// rowBlock is how many rows of the Gram matrix of the differences are computed
// together; it is fixed so that the bits do not depend on the number of workers.
const rowBlock = 16

func newMetrics(pool *kernel.Pool, truth *kernel.Basis, nodes, d, r int) *metrics {
	m := &metrics{pool: pool, truth: truth, sd: make([]float64, nodes)}
	if truth != nil {
		_, tr := truth.Dims()
		for range pool.Workers() {
			m.toTruth = append(m.toTruth, newDistance(d, r, tr))
		}
	}
	m.ld = blas.Stride(blas.Stride(d) * r)
	m.diff = make([]float64, nodes*m.ld)
	m.tasks = func(w int) {
		for i := w; i < len(m.u); i += pool.Workers() {
			if m.truth != nil {
				m.sd[i] = m.toTruth[w].between(m.u[i], m.truth)
			}
			first := m.u[0].Data()
			row := m.diff[i*m.ld:]
			for k, v := range m.u[i].Data() {
				row[k] = v - first[k]
			}
		}
	}
	if m.pairs = m.comparePairs; nodes > mostPairs {
		m.gram, m.pairs = make([]float64, nodes), m.compareFar
	} else {
		m.gram = make([]float64, nodes*nodes)
	}
	return m
}

// comparePairs computes the share of the Gram matrix that belongs to a worker.
func (m *metrics) comparePairs(w int) {
	n, size := len(m.u), len(m.u[0].Data())
	for b := w; b*rowBlock < n; b += m.pool.Workers() {
		i, end := b*rowBlock, min((b+1)*rowBlock, n)
		// Rows i to end, and columns up to end: the lower triangle.
		rows := blas.ColumnMajor{Rows: size, Cols: end - i, Stride: m.ld, Data: m.diff[i*m.ld:]}
		columns := blas.ColumnMajor{Rows: size, Cols: end, Stride: m.ld, Data: m.diff}
		blas.MulTN(blas.ColumnMajor{Rows: end - i, Cols: end, Stride: n, Data: m.gram[i:]}, rows, columns)
	}
}

// compareFar computes the squared distances from node far of the nodes that belong to a worker.
func (m *metrics) compareFar(w int) {
	size := len(m.u[0].Data())
	far := m.diff[m.far*m.ld:][:size]
	for i := w; i < len(m.u); i += m.pool.Workers() {
		sum := 0.0
		for k, v := range m.diff[i*m.ld:][:size] {
			sum += (v - far[k]) * (v - far[k])
		}
		m.gram[i] = sum
	}
}

// disagreement returns the largest distance between two nodes' bases, of which diff is known. Of
// many nodes it is that between the farthest from node 0 and the farthest from that one.
func (m *metrics) disagreement() float64 {
	n, largest := len(m.u), 0.0
	switch {
	case n == 1:
		return 0
	case n > mostPairs:
		m.far = 0
		m.pool.Run(m.pairs)
		if m.far = slices.Index(m.gram, slices.Max(m.gram)); m.far < 0 {
			return math.NaN()
		}
		m.pool.Run(m.pairs)
		return math.Sqrt(slices.Max(m.gram))
	}
	m.pool.Run(m.pairs)
	for i := range n {
		for j := range i {
			largest = max(largest, m.gram[i*n+i]+m.gram[j*n+j]-2*m.gram[j*n+i])
		}
	}
	return math.Sqrt(largest)
}

// subspaces returns SD_2 to the truth of the first node, the largest and the mean,
// or NaN, and the largest Frobenius distance between two nodes' bases; see disagreement.
func (m *metrics) subspaces(u []*kernel.Basis) (first, largest, mean, disagreement float64) {
	m.u = u
	m.pool.Run(m.tasks)
	disagreement = m.disagreement()
	if m.truth == nil {
		nan := math.NaN()
		return nan, nan, nan, disagreement
	}
	for _, v := range m.sd {
		largest = max(largest, v)
		mean += v
	}
	return m.sd[0], largest, mean / float64(len(u)), disagreement
}
