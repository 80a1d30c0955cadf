// Package problemfile reads and writes the files by which programs exchange problems: the
// samples of tasks on nodes, and perhaps the network and where the algorithm starts.
package problemfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/npz"
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
	x, err := r.Array("X")
	if err != nil {
		return nil, err
	}
	if !x.Float() || len(x.Shape) != 2 && len(x.Shape) != 3 {
		return nil, fmt.Errorf("array %q is %s: want N x d or T x n x d, float64 or float32", "X", x)
	}
	if x.Len() == 0 {
		return nil, fmt.Errorf("array %q is %s: it has no entries", "X", x)
	}
	task, tasks, err := readTasks(r, x)
	if err != nil {
		return nil, err
	}
	responses, err := r.Shaped("y", x.Shape[:len(x.Shape)-1]...)
	if err != nil {
		return nil, err
	}
	y, err := responses.Float64s()
	if err != nil {
		return nil, err
	}
	f := &File{}
	features, err := readFeatures(r, x)
	if err != nil {
		return nil, err
	}
	if f.Table, err = fillTable(x, y, features, task, tasks, folder); err != nil {
		return nil, err
	}
	return f, f.readNetwork(r)
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
func (f *File) readNetwork(r *npz.Reader) (err error) {
	nodes := 0
	if r.Has("node") {
		if nodes, err = f.readNodes(r); err != nil {
			return err
		}
	}
	if r.Has("weights") && r.Has("adjacency") {
		return fmt.Errorf("arrays %q and %q are both there: want at most one", "weights", "adjacency")
	}
	if f.Weights, err = readSquare(r, "weights", nodes); err != nil {
		return err
	}
	if f.Adjacency, err = readSquare(r, "adjacency", nodes); err != nil {
		return err
	}
	d := len(f.Table.Features())
	one := fmt.Sprintf("d x r with d = %d and r at most d, float64", d)
	start, err := readBases(r, "Ustart", []int{d}, one)
	if err != nil {
		return err
	}
	truth, err := readBases(r, "Ustar", []int{d}, one)
	if err != nil {
		return err
	}
	if start != nil {
		f.Start = start[0]
	}
	if truth != nil {
		f.Truth = truth[0]
		if err := checkOrthonormal("Ustar", f.Truth); err != nil {
			return err
		}
	}
	l := "L"
	if nodes > 0 {
		l = strconv.Itoa(nodes)
	}
	if f.U0, err = readBases(r, "U0", []int{nodes, d}, fmt.Sprintf("L x d x r with L = %s and d = %d, float64", l, d)); err != nil {
		return err
	}
	for g, u := range f.U0 {
		if err := checkOrthonormal(fmt.Sprintf("U0[%d]", g), u); err != nil {
			return err
		}
	}
	return nil
}

// checkOrthonormal refuses a basis whose subspace distances would mean nothing. It
// lets float32 pass.
func checkOrthonormal(name string, u *kernel.Basis) error {
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
				return fmt.Errorf("array %q: its columns are not orthonormal: columns %d and %d have the product %.4g, want %v", name, j, i, got, want)
			}
		}
	}
	return nil
}

// Problem packs all samples, without any scaling, for the nodes of the layout.
func (f *File) Problem(l dataset.Layout) (*difalt.Problem, error) {
	nodes, err := f.Table.Pack(l, nil, len(f.Table.Features()), nil)
	if err != nil {
		return nil, err
	}
	return &difalt.Problem{Nodes: nodes, U0: f.U0, Start: f.Start, Truth: f.Truth}, nil
}

func readVector(r *npz.Reader, name string, n int, want string) (*npz.Array, error) {
	a, err := r.Array(name)
	if err != nil {
		return nil, err
	}
	if len(a.Shape) != 1 || a.Shape[0] != n {
		return nil, fmt.Errorf("array %q is %s: want %s", name, a, want)
	}
	return a, nil
}

// readOptional reads an array, nil if there is none, of which the shape begins with some sizes: 0 is one that is not known.
func readOptional(r *npz.Reader, name string, sizes []int, fits func(a *npz.Array) bool, want string) (*npz.Array, []float64, error) {
	if !r.Has(name) {
		return nil, nil, nil
	}
	a, err := r.Array(name)
	if err != nil {
		return nil, nil, err
	}
	ok := len(a.Shape) == len(sizes)+1 && fits(a)
	for k := 0; ok && k < len(sizes); k++ {
		ok = a.Shape[k] > 0 && (sizes[k] == 0 || a.Shape[k] == sizes[k])
	}
	if !ok {
		return nil, nil, fmt.Errorf("array %q is %s: want %s", name, a, want)
	}
	data, err := a.Float64s()
	return a, data, err
}

// readSquare reads an optional L x L matrix; nodes is L, or 0 if it is not known.
func readSquare(r *npz.Reader, name string, nodes int) (*mat.Dense, error) {
	square := func(a *npz.Array) bool { return a.Shape[0] == a.Shape[1] }
	a, data, err := readOptional(r, name, []int{nodes}, square, fmt.Sprintf("L x L, with L = %d nodes", nodes))
	if a == nil || err != nil {
		return nil, err
	}
	return mat.NewDense(a.Shape[0], a.Shape[0], data), nil
}

// readBases reads an optional array of d x r, or of several such.
func readBases(r *npz.Reader, name string, sizes []int, want string) (list []*kernel.Basis, err error) {
	d := sizes[len(sizes)-1]
	tall := func(a *npz.Array) bool { k := a.Shape[len(sizes)]; return a.Float() && k >= 1 && k <= d }
	a, data, err := readOptional(r, name, sizes, tall, want)
	if a == nil || err != nil {
		return nil, err
	}
	rank := a.Shape[len(sizes)]
	for part := range slices.Chunk(data, d*rank) {
		list = append(list, kernel.BasisOf(mat.NewDense(d, rank, part)))
	}
	return list, nil
}

func readTasks(r *npz.Reader, x *npz.Array) (task []int, names []string, err error) {
	if len(x.Shape) == 3 {
		if r.Has("task") {
			return nil, nil, fmt.Errorf("array %q is there, but X is %s: its first axis says the task", "task", x)
		}
		n := x.Shape[1]
		task = make([]int, x.Shape[0]*n)
		for i := range task {
			task[i] = i / n
		}
		return task, numbered("", x.Shape[0]), nil
	}
	task, names, err = readNumbered(r, "task", x.Shape[0], fmt.Sprintf("one entry a row of X, which is %s", x))
	if err != nil || names != nil {
		return task, names, err
	}
	tasks, err := countTasks(r, task)
	return task, numbered("", tasks), err
}

// readNumbered reads an array of n numbers, or of names, which are numbered in the order in which they come first.
func readNumbered(r *npz.Reader, name string, n int, want string) (numbers []int, names []string, err error) {
	a, err := readVector(r, name, n, want)
	if err != nil {
		return nil, nil, err
	}
	if !a.Text() {
		numbers, err = a.Ints()
		return numbers, nil, err
	}
	text, err := a.Strings()
	index := map[string]int{}
	for _, s := range text {
		k, there := index[s]
		if !there {
			k = len(names)
			index[s], names = k, append(names, s)
		}
		numbers = append(numbers, k)
	}
	return numbers, names, err
}

// countTasks returns the number of tasks, each of which must have rows.
func countTasks(r *npz.Reader, task []int) (tasks int, err error) {
	limit := len(task)
	if r.Has("node") {
		node, err := r.Array("node")
		if err != nil {
			return 0, err
		}
		limit = node.Len()
	}
	for i, k := range task {
		if k < 0 || k >= limit {
			return 0, fmt.Errorf("array %q: entry %d is %d: want 0 to T-1 = %d", "task", i, k, limit-1)
		}
		tasks = max(tasks, k+1)
	}
	count := make([]int, tasks)
	for _, k := range task {
		count[k]++
	}
	for k, n := range count {
		if n == 0 {
			return 0, fmt.Errorf("array %q: task %d of %d has no rows", "task", k, tasks)
		}
	}
	return tasks, nil
}

func readFeatures(r *npz.Reader, x *npz.Array) ([]string, error) {
	d := x.Shape[len(x.Shape)-1]
	if !r.Has("feature") {
		return numbered("x", d), nil
	}
	a, err := readVector(r, "feature", d, fmt.Sprintf("one string a column of X, which is %s", x))
	if err != nil {
		return nil, err
	}
	return a.Strings()
}

// numbered returns n names: the prefix and a number.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}

// readNodes reads where the tasks live and returns the number of nodes.
func (f *File) readNodes(r *npz.Reader) (int, error) {
	tasks := len(f.Table.Tasks())
	node, names, err := readNumbered(r, "node", tasks, fmt.Sprintf("one entry for each of the %d tasks", tasks))
	if err != nil {
		return 0, err
	}
	if names == nil {
		for k, g := range node {
			if g < 0 || g >= tasks {
				return 0, fmt.Errorf("array %q: entry %d is %d: want 0 to L-1, and no more nodes than tasks (%d)", "node", k, g, tasks)
			}
		}
		names = numbered("", slices.Max(node)+1)
	}
	if err := f.Table.Assign(names, node); err != nil {
		return 0, fmt.Errorf("array %q: %w", "node", err)
	}
	f.HasNodes = true
	return len(names), nil
}
