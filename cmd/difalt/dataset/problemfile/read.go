// Package problemfile reads and writes problems as files: the samples of tasks on nodes,
// and optionally the network and starting points.
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

// A File is the content of a problem file: the samples of T tasks with d features on L
// nodes, and optionally the network and starting points.
type File struct {
	// Tasks and Features are T and d. Nodes is L, or 0 if the file assigns no nodes to tasks.
	Tasks, Features, Nodes int
	// Weights and Adjacency are L x L; nil if they are absent.
	Weights, Adjacency *mat.Dense
	// U0 holds the start of every node, Start that of the power iteration, and Truth the
	// basis U*, all with d rows; nil if they are absent.
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
// and optionally weights or adjacency (L x L), U0 (L x d x r, the
// starts of the nodes), Ustart (d x r, the start of the power iteration) and Ustar (d x r,
// the truth). The columns of U0 and Ustar must be orthonormal. Errors name the file, the
// array, its shape and type, and the wanted one.
func Read(path string) (*File, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer r.Close()
	s := &source{Reader: r}
	f := s.file()
	if s.err != nil {
		return nil, fmt.Errorf("%s: %w", path, s.err)
	}
	return f, nil
}

var arrays = []string{"X", "y", "task", "node", "weights", "adjacency", "U0", "Ustart", "Ustar"}

// A source reads the arrays of a file. Its first error sticks; later arrays are nil.
type source struct {
	*npz.Reader
	err error
}

func (s *source) file() *File {
	for _, name := range s.Names() {
		if !slices.Contains(arrays, name) {
			s.fail("array %q is not part of a problem file: it may hold %q", name, arrays)
		}
	}
	x := s.array("X", "N x d or T x n x d, float64 or float32",
		func(a *npz.Array) bool { return a.Float() && (len(a.Shape) == 2 || len(a.Shape) == 3) })
	if x != nil && x.Len() == 0 {
		s.fail("array %q is %s: it has no entries", "X", x)
	}
	if s.err != nil {
		return nil
	}
	d, rows := x.Shape[len(x.Shape)-1], x.Shape[:len(x.Shape)-1]
	f := &File{single: x.Float32(), Features: d}
	if len(rows) == 2 && s.Has("task") {
		s.fail("array %q is there, but X is %s: its first axis is the task", "task", x)
	}
	f.y = s.finite("y", s.array("y", fmt.Sprintf("the shape %v", rows), shaped(rows...)))
	s.readTasks(f, x)
	s.readNodes(f)
	f.x = s.finite("X", x)
	if s.Has("weights") && s.Has("adjacency") {
		s.fail("arrays %q and %q are both there: expected at most one", "weights", "adjacency")
	}
	f.Weights, f.Adjacency = s.square("weights", f.Nodes), s.square("adjacency", f.Nodes)
	one := fmt.Sprintf("d x r with d = %d and r at most d, float64", d)
	for _, u := range s.bases("Ustart", one, d) {
		f.Start = u
	}
	for _, u := range s.bases("Ustar", one, d) {
		f.Truth = u
		s.checkOrthonormal("Ustar", u)
	}
	f.U0 = s.bases("U0", fmt.Sprintf("L x d x r with L nodes and d = %d, float64", d), f.Nodes, d)
	for g, u := range f.U0 {
		s.checkOrthonormal(fmt.Sprintf("U0[%d]", g), u)
	}
	return f
}

func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// array returns an array that fits the wanted form, nil after an error.
func (s *source) array(name, want string, fits func(a *npz.Array) bool) *npz.Array {
	if s.err != nil {
		return nil
	}
	var a *npz.Array
	if a, s.err = s.Array(name); s.err == nil && !fits(a) {
		s.fail("array %q is %s: expected %s", name, a, want)
	}
	if s.err != nil {
		return nil
	}
	return a
}

// shaped accepts a shape; a 0 in it stands for any positive length.
func shaped(shape ...int) func(a *npz.Array) bool {
	return func(a *npz.Array) bool {
		return slices.EqualFunc(a.Shape, shape, func(n, want int) bool { return n == want || want == 0 && n > 0 })
	}
}

// numbers returns the numbers of an array, nil after an error.
func (s *source) numbers(a *npz.Array) (v []float64) {
	if a != nil && s.err == nil {
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
			return nil
		}
	}
	return v
}

// numbered reads n integers, or names, which are numbered in the order of first appearance,
// and returns how many numbers there are, from 0. Each of them must occur.
func (s *source) numbered(name string, n int, want string) (list []int, most int) {
	a := s.array(name, want, shaped(n))
	switch {
	case a == nil:
		return nil, 0
	case a.Text():
		words, err := a.Strings()
		index := map[string]int{}
		for _, w := range words {
			k, there := index[w]
			if !there {
				k = len(index)
				index[w] = k
			}
			list = append(list, k)
		}
		s.err = err
		return list, len(index)
	}
	list, s.err = a.Ints()
	count := make([]int, n)
	for i, k := range list {
		if k < 0 || k >= n {
			s.fail("array %q: entry %d is %d: expected numbers from 0, fewer than the %d entries", name, i, k, n)
			return nil, 0
		}
		count[k]++
		most = max(most, k+1)
	}
	if k := slices.Index(count[:most], 0); k >= 0 {
		s.fail("array %q: no entry is %d, but one is %d", name, k, most-1)
	}
	return list, most
}

// readTasks reads the tasks of the rows.
func (s *source) readTasks(f *File, x *npz.Array) {
	if len(x.Shape) == 2 {
		f.task, f.Tasks = s.numbered("task", x.Shape[0], fmt.Sprintf("one entry per row of X, which is %s", x))
		return
	}
	for i := range f.y {
		f.task = append(f.task, i/x.Shape[1])
	}
	f.Tasks = x.Shape[0]
}

// readNodes reads the nodes of the tasks.
func (s *source) readNodes(f *File) {
	if s.Has("node") {
		f.node, f.Nodes = s.numbered("node", f.Tasks, fmt.Sprintf("one entry for each of the %d tasks", f.Tasks))
	}
}

// checkOrthonormal refuses a basis whose subspace distances would mean nothing. It accepts
// the rounding of float32.
func (s *source) checkOrthonormal(name string, u *kernel.Basis) {
	const tolerance = 1e-4
	_, r := u.Dims()
	for i := range r {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			got := mat.Dot(mat.NewVecDense(len(u.Col(i)), u.Col(i)), mat.NewVecDense(len(u.Col(j)), u.Col(j)))
			if !(math.Abs(got-want) < tolerance) { // also NaN
				s.fail("array %q: its columns are not orthonormal: columns %d and %d have the product %.4g, expected %v", name, j, i, got, want)
			}
		}
	}
}

// square reads an optional L x L matrix; nodes is L, or 0 if it is not known.
func (s *source) square(name string, nodes int) *mat.Dense {
	if !s.Has(name) {
		return nil
	}
	fits := shaped(nodes, nodes)
	a := s.array(name, fmt.Sprintf("L x L, with L = %d nodes", nodes), func(a *npz.Array) bool { return fits(a) && a.Shape[0] == a.Shape[1] })
	if data := s.numbers(a); s.err == nil {
		return mat.NewDense(a.Shape[0], a.Shape[0], data)
	}
	return nil
}

// bases reads an optional array of d x r, or of several such, whose shape begins with sizes.
func (s *source) bases(name, want string, sizes ...int) (list []*kernel.Basis) {
	if !s.Has(name) {
		return nil
	}
	d, last := sizes[len(sizes)-1], len(sizes)
	fits := shaped(append(sizes, 0)...)
	a := s.array(name, want, func(a *npz.Array) bool { return fits(a) && a.Float() && a.Shape[last] <= d })
	if data := s.numbers(a); s.err == nil {
		for part := range slices.Chunk(data, d*a.Shape[last]) {
			list = append(list, kernel.BasisOf(mat.NewDense(d, a.Shape[last], part)))
		}
	}
	return list
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

// Problem packs all samples for the nodes of the file, or for one node if it assigns none,
// with nodes = 0. With nodes > 0, for a file that assigns none, it deals the tasks out in
// blocks as even as possible.
func (f *File) Problem(nodes int) (*difalt.Problem, error) {
	tasks, d := f.Tasks, f.Features
	switch {
	case nodes > 0 && f.Nodes > 0:
		return nil, fmt.Errorf("the file assigns its tasks to %s: the number of nodes must not be given", text.Plural(f.Nodes, "node"))
	case nodes < 0 || nodes > tasks:
		return nil, fmt.Errorf("the number of nodes is %d: expected 1 to %d, the number of tasks", nodes, tasks)
	}
	of, l := f.NodeOf(nodes), f.Nodes
	if l == 0 {
		l = max(nodes, 1)
	}
	storage := kernel.Float64
	if f.single {
		storage = kernel.Float32
	}
	samples := make([][]int, l)
	place, next := make([]int, tasks), make([]int, tasks) // of every task: its number on its node, and its next row
	for k, g := range of {
		place[k] = len(samples[g])
		samples[g] = append(samples[g], 0)
	}
	for _, k := range f.task {
		samples[of[k]][place[k]]++
	}
	var builders []*kernel.Builder
	for _, n := range samples {
		builders = append(builders, kernel.NewBuilder(d, n, storage))
	}
	for i, k := range f.task {
		builders[of[k]].SetRow(place[k], next[k], f.x[i*d:][:d], f.y[i])
		next[k]++
	}
	p := &difalt.Problem{U0: f.U0, Start: f.Start, Truth: f.Truth}
	for _, b := range builders {
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	return p, nil
}
