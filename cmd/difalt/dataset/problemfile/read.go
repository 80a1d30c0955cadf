// Package problemfile reads and writes problems as files: the samples of tasks on nodes, and optionally the
// network and starting points.
package problemfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A File is the content of a problem file: the samples of T tasks with d features on L nodes, and optionally
// the network and starting points.
type File struct {
	// Tasks and Features are T and d. Nodes is L, or 0 if the file assigns no nodes to tasks.
	Tasks, Features, Nodes int
	// Weights and Adjacency are L x L; nil if they are absent.
	Weights, Adjacency *mat.Dense
	// U0 holds the start of every node, Start that of the power iteration, and Truth the basis U*, all with
	// d rows; nil if they are absent.
	U0           []*kernel.Basis
	Start, Truth *kernel.Basis

	x, y   []float64 // N x d and N
	single bool      // x was float32
	task   []int     // of every row
	node   []int     // of every task; nil with Nodes 0
}

// Read reads a problem file: an .npz file with the arrays
//
//	X      N x d, or T x n x d for tasks of n samples each; float64 or float32
//	y      N, or T x n
//	task   N integers from 0 to T-1, or N strings that name the tasks, for an X of two
//	       dimensions only; the rows of a task need not be adjacent
//	node   the node of each task; optional: T integers from 0 to L-1, or T strings, in
//	       the order of the numbers of the tasks, or of the first rows of named ones
//
// and optionally weights or adjacency (L x L), U0 (L x d x r, the starts of the nodes), Ustart (d x r, the
// start of the power iteration) and Ustar (d x r, the truth). The columns of U0 and Ustar must be
// orthonormal. Errors name the file, the array, its shape and type, and the wanted one.
func Read(path string) (*File, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer r.Close()
	f, err := read(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

var arrays = []string{"X", "y", "task", "node", "weights", "adjacency", "U0", "Ustart", "Ustar"}

func read(r *npz.Reader) (*File, error) {
	s := &source{Reader: r}
	for _, name := range s.Names() {
		if !slices.Contains(arrays, name) {
			s.fail("array %q is not part of a problem file: it may hold %q", name, arrays)
		}
	}
	f := s.samples()
	if s.Has("weights") && s.Has("adjacency") {
		s.fail("arrays %q and %q are both there: expected at most one", "weights", "adjacency")
	}
	f.Weights, f.Adjacency = s.square("weights", f.Nodes), s.square("adjacency", f.Nodes)
	f.U0 = s.bases("U0", true, f.Nodes, f.Features)
	for _, u := range s.bases("Ustart", false, f.Features) {
		f.Start = u
	}
	for _, u := range s.bases("Ustar", true, f.Features) {
		f.Truth = u
	}
	return f, s.err
}

// A source reads the arrays of a file. Its first error sticks; later arrays are nil.
type source struct {
	*npz.Reader
	err error
}

func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// shaped returns an array of the given shape; a 0 in it stands for any positive length.
func (s *source) shaped(name string, shape ...int) (a *npz.Array) {
	if s.err == nil {
		for i, n := range shape {
			if n == 0 {
				shape[i] = -1
			}
		}
		a, s.err = s.Shaped(name, shape...)
	}
	return a
}

// numbers returns the numbers of an array, nil after an error.
func (s *source) numbers(a *npz.Array) (v []float64) {
	if s.err == nil {
		v, s.err = a.Float64s()
	}
	return v
}

// finite is numbers without NaN and Inf.
func (s *source) finite(name string, a *npz.Array) []float64 {
	v := s.numbers(a)
	for i, w := range v {
		if math.IsNaN(w) || math.IsInf(w, 0) {
			d := a.Shape[len(a.Shape)-1]
			s.fail("array %q: row %d, column %d is %v", name, i/d, i%d, w)
		}
	}
	return v
}

// samples reads the samples, their tasks and the nodes of these.
func (s *source) samples() *File {
	f := &File{}
	var x *npz.Array
	if s.err == nil {
		x, s.err = s.Array("X")
	}
	switch {
	case s.err != nil:
		return f
	case !x.Float() || len(x.Shape) != 2 && len(x.Shape) != 3:
		s.fail("array %q is %s: expected N x d or T x n x d, float64 or float32", "X", x)
	case x.Len() == 0:
		s.fail("array %q is %s: it has no entries", "X", x)
	case len(x.Shape) == 3 && s.Has("task"):
		s.fail("array %q is there, but X is %s: its first axis is the task", "task", x)
	}
	if s.err != nil {
		return f
	}
	last := len(x.Shape) - 1
	f.Features, f.single = x.Shape[last], x.Float32()
	f.y = s.finite("y", s.shaped("y", slices.Clone(x.Shape[:last])...))
	if f.Tasks = x.Shape[0]; last == 1 {
		f.task, f.Tasks = s.numbered("task", x.Shape[0])
	} else {
		for i := range f.y {
			f.task = append(f.task, i/x.Shape[1])
		}
	}
	if s.Has("node") {
		f.node, f.Nodes = s.numbered("node", f.Tasks)
	}
	f.x = s.finite("X", x)
	return f
}

// numbered reads n integers, or names, which are numbered in the order of first appearance, and returns how
// many numbers there are, from 0. Each of them must occur.
func (s *source) numbered(name string, n int) (list []int, most int) {
	a := s.shaped(name, n)
	if s.err != nil {
		return nil, 0
	}
	if a.Text() {
		var words []string
		words, s.err = a.Strings()
		index := map[string]int{}
		for _, w := range words {
			if _, there := index[w]; !there {
				index[w] = len(index)
			}
			list = append(list, index[w])
		}
		return list, len(index)
	}
	list, s.err = a.Ints()
	there := make([]bool, n)
	for i, k := range list {
		if k < 0 || k >= n {
			s.fail("array %q: entry %d is %d: expected numbers from 0, fewer than the %d entries", name, i, k, n)
			return nil, 0
		}
		there[k] = true
		most = max(most, k+1)
	}
	if k := slices.Index(there[:most], false); k >= 0 {
		s.fail("array %q: no entry is %d, but one is %d", name, k, most-1)
	}
	return list, most
}

// square reads an optional L x L matrix; nodes is L, or 0 if it is not known.
func (s *source) square(name string, nodes int) *mat.Dense {
	if !s.Has(name) {
		return nil
	}
	a := s.shaped(name, nodes, nodes)
	data := s.numbers(a)
	if s.err == nil && a.Shape[0] != a.Shape[1] {
		s.fail("array %q is %s: expected as many columns as rows", name, a)
	}
	if s.err != nil {
		return nil
	}
	return mat.NewDense(a.Shape[0], a.Shape[0], data)
}

// bases reads an optional array of d x r, or of several such, whose shape begins with sizes.
func (s *source) bases(name string, orthonormal bool, sizes ...int) (list []*kernel.Basis) {
	if !s.Has(name) {
		return nil
	}
	a := s.shaped(name, append(sizes, 0)...)
	data := s.numbers(a)
	if s.err != nil {
		return nil
	}
	d, r := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
	if !a.Float() || r > d {
		s.fail("array %q is %s: expected floats, and at most as many columns as the %d features", name, a, d)
		return nil
	}
	for part := range slices.Chunk(data, d*r) {
		u := kernel.BasisOf(mat.NewDense(d, r, part))
		if orthonormal {
			s.checkOrthonormal(name, len(list), u)
		}
		list = append(list, u)
	}
	return list
}

// checkOrthonormal refuses a basis, number k of an array, whose subspace distances would mean nothing. It
// accepts the rounding of float32.
func (s *source) checkOrthonormal(name string, k int, u *kernel.Basis) {
	_, r := u.Dims()
	gram := mat.NewDense(r, r, nil)
	gram.Mul(u.T(), u)
	for i := range r {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if got := gram.At(i, j); !(math.Abs(got-want) < 1e-4) { // also NaN
				s.fail("array %q, basis %d: its columns are not orthonormal: columns %d and %d have the product %.4g, expected %v",
					name, k, j, i, got, want)
			}
		}
	}
}

// NodeOf returns the node of every task in Problem(nodes).
func (f *File) NodeOf(nodes int) []int {
	if f.node != nil {
		return slices.Clone(f.node)
	}
	of := make([]int, f.Tasks)
	for k := range of {
		of[k] = k * max(nodes, 1) / f.Tasks
	}
	return of
}

// Problem packs all samples for the nodes of the file, or for one node if it assigns none, with nodes = 0.
// With nodes > 0, for a file that assigns none, it deals the tasks out in blocks as even as possible.
func (f *File) Problem(nodes int) (*difalt.Problem, error) {
	switch {
	case nodes > 0 && f.Nodes > 0:
		return nil, fmt.Errorf("the file assigns its tasks to %s: the number of nodes must not be given", text.Plural(f.Nodes, "node"))
	case nodes < 0 || nodes > f.Tasks:
		return nil, fmt.Errorf("the number of nodes is %d: expected 1 to %d, the number of tasks", nodes, f.Tasks)
	}
	storage := kernel.Float64
	if f.single {
		storage = kernel.Float32
	}
	of := f.NodeOf(nodes)
	samples := make([][]int, max(f.Nodes, nodes, 1))
	// place is the number of every task on its node, next its next row.
	place, next := make([]int, f.Tasks), make([]int, f.Tasks)
	for k, g := range of {
		place[k] = len(samples[g])
		samples[g] = append(samples[g], 0)
	}
	for _, k := range f.task {
		samples[of[k]][place[k]]++
	}
	var builders []*kernel.Builder
	for _, n := range samples {
		builders = append(builders, kernel.NewBuilder(f.Features, n, storage))
	}
	for i, k := range f.task {
		builders[of[k]].SetRow(place[k], next[k], f.x[i*f.Features:][:f.Features], f.y[i])
		next[k]++
	}
	p := &difalt.Problem{U0: f.U0, Start: f.Start, Truth: f.Truth}
	for _, b := range builders {
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	return p, nil
}
