// Package problemfile reads and writes problems as files: the samples of tasks on nodes, and optionally the
// network and starting points.
package problemfile

import (
	"cmp"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/cmd/difalt/internal/place"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// A File is the content of a problem file without X, which Problem reads: T tasks with d features on L nodes,
// and optionally the network and starting points.
type File struct {
	// Tasks and Features are T and d. Nodes is L, or 0 if the file assigns no nodes to tasks.
	Tasks, Features, Nodes int
	// Weights and Adjacency are L x L; nil if they are absent.
	Weights, Adjacency *mat.Dense
	// U0 holds the start of every node, Start the start of the power iteration, and Truth the basis U*. All
	// have d rows; nil if they are absent.
	U0           []*kernel.Basis
	Start, Truth *kernel.Basis

	path  string
	shape []int // of X
	y     []float64
	task  []int // of every row
	node  []int // of every task; nil with Nodes 0
}

// IsName reports whether a path has the name of a problem file, rather than the name of a table.
func IsName(path string) bool { return strings.EqualFold(filepath.Ext(path), ".npz") }

// Read reads a problem file: an .npz file with the arrays
//
//	X      N x d, or T x n x d for tasks of n samples each; float64 or float32
//	y      N, or T x n
//	task   N integers from 0 to T-1, or N strings that name the tasks, for an X of two
//	       dimensions only; the rows of a task need not be adjacent
//	node   optional: the nodes of the tasks, T integers from 0 to L-1, or T strings. Named
//	       tasks are in the order of their first rows
//
// and optionally weights or adjacency (L x L), U0 (L x d x r, the starts of the nodes), Ustart (d x r, the
// start of the power iteration) and Ustar (d x r, the truth). The columns of U0 and Ustar must be
// orthonormal. All numbers are checked. Errors name the file, the array, its shape and type, and the wanted
// one.
func Read(path string) (*File, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, place.Named(path, err)
	}
	defer r.Close()
	s := &source{Reader: r}
	f := s.file()
	if s.err != nil {
		return nil, place.Named(path, s.err)
	}
	f.path = path
	return f, nil
}

var arrays = []string{"X", "y", "task", "node", "weights", "adjacency", "U0", "Ustart", "Ustar"}

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

func (s *source) file() *File {
	for _, name := range s.Names() {
		if !slices.Contains(arrays, name) {
			s.fail("array %q is not part of a problem file: it may hold %s", name, strings.Join(arrays, ", "))
		}
	}
	if s.Has("weights") && s.Has("adjacency") {
		s.fail("arrays %q and %q are both there: expected at most one", "weights", "adjacency")
	}
	f := s.samples()
	f.Weights, f.Adjacency = s.square("weights", f.Nodes), s.square("adjacency", f.Nodes)
	f.U0 = s.bases("U0", f.Nodes, f.Features)
	for _, u := range s.bases("Ustart", f.Features) {
		f.Start = u
	}
	for _, u := range s.bases("Ustar", f.Features) {
		f.Truth = u
	}
	return f
}

// shaped returns an array of the given shape; a 0 in it stands for any positive length.
func (s *source) shaped(name string, shape ...int) (a *npz.Array) {
	if s.err == nil {
		for i, n := range shape {
			shape[i] = cmp.Or(n, -1)
		}
		a, s.err = s.Array(name, shape...)
	}
	return a
}

// numbers returns an array of numbers of a shape as shaped, and its data.
func (s *source) numbers(name string, shape ...int) (a *npz.Array, data []float64) {
	a = s.shaped(name, shape...)
	if s.err == nil {
		data, s.err = a.Float64s()
	}
	return a, data
}

// samples reads y, the tasks of samples and the nodes of these, and checks X.
func (s *source) samples() *File {
	f := &File{}
	var x *npz.Array
	if s.err == nil {
		x, s.err = s.Array("X")
	}
	switch {
	case s.err != nil:
		return f
	case !isFloat(x) || len(x.Shape) != 2 && len(x.Shape) != 3:
		s.fail("array %q is %s: expected N x d or T x n x d, float64 or float32", "X", x)
	case slices.Contains(x.Shape, 0):
		s.fail("array %q is %s: it has no entries", "X", x)
	case len(x.Shape) == 3 && s.Has("task"):
		s.fail("array %q is there, but X is %s: its first axis is the task", "task", x)
	}
	if s.err != nil {
		return f
	}
	last := len(x.Shape) - 1
	f.shape, f.Tasks, f.Features = x.Shape, x.Shape[0], x.Shape[last]
	_, f.y = s.numbers("y", slices.Clone(x.Shape[:last])...)
	if last == 1 {
		f.task, f.Tasks = s.numbered("task", x.Shape[0])
	} else {
		for i := range f.y {
			f.task = append(f.task, i/x.Shape[1])
		}
	}
	if s.Has("node") {
		f.node, f.Nodes = s.numbered("node", f.Tasks)
	}
	if s.err == nil {
		s.err = x.Rows(func(i int, v []float64) error {
			return cmp.Or(f.finite("X", i, v), f.finite("y", i, f.y[i:i+1]))
		})
	}
	return f
}

func isFloat(a *npz.Array) bool { return strings.HasPrefix(a.Type(), "float") }

// finite refuses NaN and Inf in a row of X or y, with the place in the array as NumPy counts it.
func (f *File) finite(name string, row int, v []float64) error {
	for j, w := range v {
		if !math.IsNaN(w) && !math.IsInf(w, 0) {
			continue
		}
		at := fmt.Sprint(row)
		if len(f.shape) == 3 {
			at = fmt.Sprintf("%d, %d", row/f.shape[1], row%f.shape[1])
		}
		if name == "X" {
			at += fmt.Sprint(", ", j)
		}
		return fmt.Errorf("array %q: entry [%s] is %v", name, at, w)
	}
	return nil
}

// numbered reads n integers, or names, which are numbered in the order of first appearance, and returns how
// many numbers there are, from 0. Each of them must occur.
func (s *source) numbered(name string, n int) (list []int, count int) {
	a := s.shaped(name, n)
	if s.err != nil {
		return nil, 0
	}
	if a.Type() != "string" {
		list, s.err = a.Ints()
	} else {
		var words []string
		words, s.err = a.Strings()
		index := map[string]int{}
		for _, w := range words {
			if _, there := index[w]; !there {
				index[w] = len(index)
			}
			list = append(list, index[w])
		}
	}
	there := make([]bool, n)
	for i, k := range list {
		if k < 0 || k >= n {
			s.fail("array %q: entry %d is %d: expected numbers from 0, fewer than the %d entries", name, i, k, n)
			return nil, 0
		}
		there[k] = true
		count = max(count, k+1)
	}
	if k := slices.Index(there[:count], false); k >= 0 {
		s.fail("array %q: no entry is %d, but one is %d", name, k, count-1)
	}
	return list, count
}

// square reads an optional L x L matrix; nodes is L, or 0 if it is not known.
func (s *source) square(name string, nodes int) *mat.Dense {
	if !s.Has(name) {
		return nil
	}
	a, data := s.numbers(name, nodes, nodes)
	if s.err == nil && a.Shape[0] != a.Shape[1] {
		s.fail("array %q is %s: expected as many columns as rows", name, a)
	}
	if s.err != nil {
		return nil
	}
	return mat.NewDense(a.Shape[0], a.Shape[0], data)
}

// bases reads an optional array of d x r, or of several such, whose shape begins with sizes.
func (s *source) bases(name string, sizes ...int) (list []*kernel.Basis) {
	if !s.Has(name) {
		return nil
	}
	a, data := s.numbers(name, append(sizes, 0)...)
	if s.err != nil {
		return nil
	}
	d, r := a.Shape[len(a.Shape)-2], a.Shape[len(a.Shape)-1]
	if !isFloat(a) || r > d {
		s.fail("array %q is %s: expected floats, and at most as many columns as the %d features", name, a, d)
		return nil
	}
	for part := range slices.Chunk(data, d*r) {
		u := mat.NewDense(d, r, part)
		off := mat.NewDense(r, r, nil) // U'U - I
		off.Mul(u.T(), u)
		for i := range r {
			off.Set(i, i, off.At(i, i)-1)
		}
		// The start of the power iteration may be any matrix. Others may have the rounding of float32.
		if size := mat.Norm(off, math.Inf(1)); name != "Ustart" && !(size < 1e-4) { // also NaN
			s.fail("array %q, basis %d is not orthonormal: U'U differs from I by %.4g", name, len(list), size)
		}
		list = append(list, kernel.BasisOf(u))
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

// wrongNodes returns an error about the number of nodes.
func wrongNodes(nodes int, format string, args ...any) error {
	return &difalt.ParameterError{Name: "Nodes", Value: nodes, Why: fmt.Sprintf(format, args...)}
}

// Problem reads X and packs all samples for the nodes of the file, or for one node if it assigns none, with
// nodes = 0. With nodes > 0, for a file that assigns none, it deals the tasks out in blocks as even as
// possible.
func (f *File) Problem(nodes int) (*difalt.Problem, error) {
	switch {
	case nodes > 0 && f.Nodes > 0:
		return nil, wrongNodes(nodes, "the file assigns its tasks to %d nodes: leave the number out", f.Nodes)
	case nodes < 0 || nodes > f.Tasks:
		return nil, wrongNodes(nodes, "must be from 1 to %d, the number of tasks", f.Tasks)
	}
	r, err := npz.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	x, err := r.Array("X", f.shape...)
	if err != nil {
		return nil, err
	}
	storage := kernel.Float64
	if x.Type() == "float32" {
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
	err = x.Rows(func(i int, v []float64) error {
		k := f.task[i]
		builders[of[k]].SetRow(place[k], next[k], v, f.y[i])
		next[k]++
		return f.finite("X", i, v)
	})
	if err != nil {
		return nil, err
	}
	p := &difalt.Problem{U0: f.U0, Start: f.Start, Truth: f.Truth}
	for _, b := range builders {
		p.Nodes = append(p.Nodes, b.Tasks())
	}
	return p, nil
}

// Write writes a problem as a file that Read reads, with the weights of its network unless they are nil. All
// nodes must be in this process. Tasks are numbered node by node. The file takes its name when it is
// complete.
func Write(path string, p *difalt.Problem, weights *topology.Weights) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := npz.NewWriter(f)
	writeSamples(w, p.Nodes)
	if weights != nil {
		l := weights.Len()
		w.Rows("weights", []int{l, l}, false, func(dst []float64, i int) {
			for j := range dst {
				dst[j] = weights.At(i, j)
			}
		})
	}
	writeBases(w, "U0", p.U0, len(p.U0))
	writeBases(w, "Ustart", []*kernel.Basis{p.Start})
	writeBases(w, "Ustar", []*kernel.Basis{p.Truth})
	if err := w.Close(); err != nil {
		return err
	}
	return f.Commit()
}

func writeSamples(w *npz.Writer, nodes []*kernel.Tasks) {
	var task, node []int
	var local, first []int // of every task: its number on its node, and its first row
	var y []float64
	single := true
	for g, tasks := range nodes {
		single = single && tasks.Storage() == kernel.Float32
		for t := range tasks.Len() {
			task = append(task, slices.Repeat([]int{len(node)}, tasks.Samples(t))...)
			node, local, first = append(node, g), append(local, t), append(first, len(y))
			y = append(y, tasks.Y(t)...)
		}
	}
	w.Rows("X", []int{len(y), nodes[0].Features()}, single, func(dst []float64, i int) {
		k := task[i]
		nodes[node[k]].Row(dst, local[k], i-first[k])
	})
	w.Float64s("y", []int{len(y)}, y)
	w.Ints("task", task)
	w.Ints("node", node)
}

// writeBases writes bases, if they are there, as an array of d x r, behind other sizes.
func writeBases(w *npz.Writer, name string, u []*kernel.Basis, sizes ...int) {
	if len(u) == 0 || u[0] == nil {
		return
	}
	d, r := u[0].Dims()
	w.Rows(name, append(sizes, d, r), false, func(dst []float64, i int) {
		for j := range dst {
			dst[j] = u[i/d].At(i%d, j)
		}
	})
}
