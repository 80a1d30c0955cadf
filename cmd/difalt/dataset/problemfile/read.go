// Package problemfile reads and writes the files by which programs exchange problems: the
// samples of tasks on nodes, and perhaps the network and where the algorithm starts.
package problemfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

// A File is what a problem file holds: the samples of T tasks on L nodes,
// and optionally the network and where the algorithm starts.
type File struct {
	// Table holds the rows in the order of the file. Unless the file names them, its
	// tasks are "0", "1", ..., T-1, its nodes "0", "1", ..., L-1 and its features "x0",
	// "x1", ...
	Table *dataset.Table
	// HasNodes is set if the file says on which node each task lives. Otherwise the
	// table's tasks have to be assigned.
	HasNodes bool
	// Weights and Adjacency are L x L; nil if the file has none.
	Weights, Adjacency *mat.Dense
	// U0 is the start of every node, Start that of the power iteration, and Truth the
	// basis U*, all with d rows; nil if the file has none.
	U0           []*kernel.Basis
	Start, Truth *kernel.Basis
}

// Read reads a problem file: an .npz file with the arrays
//
//	X      N x d, or T x n x d for tasks of n samples each; float64 or float32
//	y      N, or T x n
//	task   N integers from 0 to T-1, or N strings that name the tasks, with a
//	       two-dimensional X only; the rows of a task need not be adjacent
//	node   where each task lives; optional: T integers from 0 to L-1, or T strings, in
//	       the order of the numbers of the tasks, or of the first rows of named ones
//
// and optionally feature (d strings, the names of the features), weights or adjacency (L x L), U0 (L x d x r, where each node
// starts), Ustart (d x r, where the power iteration starts) and Ustar (d x r, the
// truth). The columns of U0 and Ustar must be orthonormal. Errors name the file, the array, its
// shape and type, and what is wanted. Features keep their storage, float64 or
// float32.
func Read(path string) (*File, error) { return ReadOnDisk(path, "") }

// ReadOnDisk is Read for problems larger than memory: features are kept in
// files in the given folder, as with dataset.TableOptions.Folder.
func ReadOnDisk(path, folder string) (f *File, err error) {
	r, err := npz.Open(path)
	if err == nil {
		defer r.Close()
		f, err = read(r, folder)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

var arrays = []string{"X", "y", "task", "node", "feature", "weights", "adjacency", "U0", "Ustart", "Ustar"}

func read(r *npz.Reader, folder string) (*File, error) {
	for _, name := range r.Names() {
		if !slices.Contains(arrays, name) {
			return nil, fmt.Errorf("array %q is not part of a problem file: it may hold %q", name, arrays)
		}
	}
	s, f := &source{Reader: r}, &File{}
	x := s.array("X", "N x d or T x n x d, float64 or float32", func(a *npz.Array) bool { return a.Float() && (len(a.Shape) == 2 || len(a.Shape) == 3) })
	if x != nil && x.Len() == 0 {
		s.fail("array %q is %s: it has no entries", "X", x)
	}
	if s.err != nil {
		return nil, s.err
	}
	task, tasks := s.tasks(x)
	shape := x.Shape[:len(x.Shape)-1]
	y := s.numbers(s.array("y", fmt.Sprintf("the shape %v", shape), shaped(shape...)))
	features := s.features(x)
	if s.err != nil {
		return nil, s.err
	}
	if f.Table, s.err = fillTable(x, y, features, task, tasks, folder); s.err == nil {
		f.readNetwork(s)
	}
	return f, s.err
}

// A source reads the arrays of a file. Its first error stays; what is read after it is nothing.
type source struct {
	*npz.Reader
	err error
}

func (s *source) fail(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

// array returns an array that fits what is wanted, nil after an error.
func (s *source) array(name, want string, fits func(a *npz.Array) bool) *npz.Array {
	if s.err != nil {
		return nil
	}
	var a *npz.Array
	if a, s.err = s.Array(name); s.err == nil && !fits(a) {
		s.fail("array %q is %s: want %s", name, a, want)
	}
	if s.err != nil {
		return nil
	}
	return a
}

// shaped returns what fits a shape, in which 0 stands for any length but 0.
func shaped(shape ...int) func(a *npz.Array) bool {
	return func(a *npz.Array) bool {
		return slices.EqualFunc(a.Shape, shape, func(n, want int) bool { return n == want || want == 0 && n > 0 })
	}
}

// numbers returns the numbers of an array, nil if it is nil.
func (s *source) numbers(a *npz.Array) (v []float64) {
	if a != nil && s.err == nil {
		v, s.err = a.Float64s()
	}
	return v
}

// fillTable makes the table of a problem: row i belongs to task[i], and tasks are their names.
func fillTable(x *npz.Array, y []float64, features []string, task []int, tasks []string, folder string) (*dataset.Table, error) {
	d := len(features)
	storage := kernel.Float64
	if x.Float32() {
		storage = kernel.Float32
	}
	t, err := dataset.NewTableOnDisk(folder, features, true, storage)
	if err != nil {
		return nil, err
	}
	for _, name := range tasks {
		if err := t.AddTask(name); err != nil {
			return nil, fmt.Errorf("array %q: %w", "task", err)
		}
	}
	for i, v := range y {
		if !finite(v) {
			return nil, fmt.Errorf("array %q: entry %d is %v", "y", i, v)
		}
	}
	err = t.Fill(task, y, func(put func(at int, run []float64)) error {
		return x.Each(func(at int, run []float64) error {
			for k, v := range run {
				if !finite(v) {
					return fmt.Errorf("array %q: row %d, column %d is %v", "X", (at+k)/d, (at+k)%d, v)
				}
			}
			put(at, run)
			return nil
		})
	})
	return t, err
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// readNetwork reads everything but the samples.
func (f *File) readNetwork(s *source) {
	nodes, l := 0, "L"
	if s.Has("node") {
		nodes = f.readNodes(s)
		l = strconv.Itoa(nodes)
	}
	if s.Has("weights") && s.Has("adjacency") {
		s.fail("arrays %q and %q are both there: want at most one", "weights", "adjacency")
	}
	f.Weights, f.Adjacency = s.square("weights", nodes), s.square("adjacency", nodes)
	d := len(f.Table.Features())
	one := fmt.Sprintf("d x r with d = %d and r at most d, float64", d)
	for _, u := range s.bases("Ustart", one, d) {
		f.Start = u
	}
	for _, u := range s.bases("Ustar", one, d) {
		f.Truth = u
		s.checkOrthonormal("Ustar", u)
	}
	f.U0 = s.bases("U0", fmt.Sprintf("L x d x r with L = %s and d = %d, float64", l, d), nodes, d)
	for g, u := range f.U0 {
		s.checkOrthonormal(fmt.Sprintf("U0[%d]", g), u)
	}
}

// checkOrthonormal refuses a basis whose subspace distances would mean nothing. It
// lets float32 pass.
func (s *source) checkOrthonormal(name string, u *kernel.Basis) {
	const tolerance = 1e-4
	_, r := u.Dims()
	for i := range r {
		for j := range i + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			// Written so that NaN is refused too.
			if got := mat.Dot(mat.NewVecDense(len(u.Col(i)), u.Col(i)), mat.NewVecDense(len(u.Col(j)), u.Col(j))); !(math.Abs(got-want) < tolerance) {
				s.fail("array %q: its columns are not orthonormal: columns %d and %d have the product %.4g, want %v", name, j, i, got, want)
			}
		}
	}
}

// Problem packs all samples, without any scaling, for the nodes of the layout.
func (f *File) Problem(l dataset.Layout) (*difalt.Problem, error) {
	nodes, err := f.Table.Pack(l, nil, len(f.Table.Features()), nil)
	if err != nil {
		return nil, err
	}
	return &difalt.Problem{Nodes: nodes, U0: f.U0, Start: f.Start, Truth: f.Truth}, nil
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

// bases reads an optional array of d x r, or of several such, whose shape begins with some sizes.
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

func (s *source) tasks(x *npz.Array) (task []int, names []string) {
	if len(x.Shape) == 3 {
		if s.Has("task") {
			s.fail("array %q is there, but X is %s: its first axis says the task", "task", x)
		}
		n := x.Shape[1]
		task = make([]int, x.Shape[0]*n)
		for i := range task {
			task[i] = i / n
		}
		return task, text.Numbered("", x.Shape[0])
	}
	task, names = s.numbered("task", x.Shape[0], fmt.Sprintf("one entry a row of X, which is %s", x))
	if names == nil && s.err == nil {
		names = text.Numbered("", s.countTasks(task))
	}
	return task, names
}

// numbered reads an array of n numbers, or of names, which are numbered in the order in which they come first.
func (s *source) numbered(name string, n int, want string) (numbers []int, names []string) {
	a := s.array(name, want, shaped(n))
	if a == nil {
		return nil, nil
	}
	if !a.Text() {
		numbers, s.err = a.Ints()
		return numbers, nil
	}
	var words []string
	words, s.err = a.Strings()
	index := map[string]int{}
	for _, v := range words {
		k, there := index[v]
		if !there {
			k = len(names)
			index[v], names = k, append(names, v)
		}
		numbers = append(numbers, k)
	}
	return numbers, names
}

// countTasks returns the number of tasks, each of which must have rows.
func (s *source) countTasks(task []int) (tasks int) {
	limit := len(task)
	if s.Has("node") {
		if node := s.array("node", "", func(*npz.Array) bool { return true }); node != nil {
			limit = node.Len()
		}
	}
	count := make([]int, limit)
	for i, k := range task {
		if k < 0 || k >= limit {
			s.fail("array %q: entry %d is %d: want 0 to T-1 = %d", "task", i, k, limit-1)
			return 0
		}
		count[k]++
		tasks = max(tasks, k+1)
	}
	if k := slices.Index(count[:tasks], 0); k >= 0 {
		s.fail("array %q: task %d of %d has no rows", "task", k, tasks)
	}
	return tasks
}

func (s *source) features(x *npz.Array) (names []string) {
	d := x.Shape[len(x.Shape)-1]
	if !s.Has("feature") {
		return text.Numbered("x", d)
	}
	if a := s.array("feature", fmt.Sprintf("one string a column of X, which is %s", x), shaped(d)); a != nil {
		names, s.err = a.Strings()
	}
	return names
}

// readNodes reads where the tasks live and returns the number of nodes.
func (f *File) readNodes(s *source) int {
	tasks := len(f.Table.Tasks())
	node, names := s.numbered("node", tasks, fmt.Sprintf("one entry for each of the %d tasks", tasks))
	if s.err != nil {
		return 0
	}
	if names == nil {
		for k, g := range node {
			if g < 0 || g >= tasks {
				s.fail("array %q: entry %d is %d: want 0 to L-1, and no more nodes than tasks (%d)", "node", k, g, tasks)
				return 0
			}
		}
		names = text.Numbered("", slices.Max(node)+1)
	}
	if err := f.Table.Assign(names, node); err != nil {
		s.fail("array %q: %w", "node", err)
	}
	f.HasNodes = true
	return len(names)
}
