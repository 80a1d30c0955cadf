package problemfile

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/npz"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// shown lists the samples of a problem by node and task: the storage, then x and y of every row.
func shown(p *difalt.Problem) string {
	var s strings.Builder
	for g, tasks := range p.Nodes {
		fmt.Fprintf(&s, "node %d %v:", g, tasks.Storage())
		for k := range tasks.Len() {
			fmt.Fprintf(&s, " task %d", k)
			for i, y := range tasks.Y(k) {
				fmt.Fprint(&s, " ", tasks.Row(make([]float64, tasks.Features()), k, i), y)
			}
		}
		s.WriteString("\n")
	}
	return s.String()
}

// Files that NumPy 2 wrote hold X[i, j] = 10 i + j + 1/2 in different guises.
func TestReadOfNumPy(t *testing.T) {
	for name, want := range map[string]string{
		// Fortran order, int32 tasks that are not adjacent, big-endian nodes, bool adjacency.
		"numpy-fortran.npz": "node 0 float64: task 0 [10.5 11.5 12.5] 0.25 [30.5 31.5 32.5] 0.75\n" +
			"node 1 float64: task 0 [0.5 1.5 2.5] 0 [20.5 21.5 22.5] 0.5 task 1 [40.5 41.5 42.5] 1 [50.5 51.5 " +
			"52.5] 1.25\n",
		// T x n x d, float32, compressed, uint8 nodes, big-endian float32 y.
		"numpy-stacked.npz": "node 0 float32: task 0 [0.5 1.5 2.5] 0 [10.5 11.5 12.5] 1 task 1 [20.5 21.5 22.5] 2 " +
			"[30.5 31.5 32.5] 3\n" +
			"node 1 float32: task 0 [40.5 41.5 42.5] 4 [50.5 51.5 52.5] 5\n",
	} {
		t.Run(name, func(t *testing.T) {
			f := check.OK(Read(filepath.Join("testdata", name)))
			p, err := f.Problem(0)
			if err != nil || f.Tasks != 3 || f.Nodes != 2 || f.Features != 3 || shown(p) != want {
				t.Fatalf("%d tasks, %d nodes, %d features, %v\n%s", f.Tasks, f.Nodes, f.Features, err, shown(p))
			}
		})
	}
	f, _ := Read("testdata/numpy-fortran.npz")
	if !mat.Equal(f.Adjacency, mat.NewDense(2, 2, []float64{0, 1, 1, 0})) || f.Weights != nil || f.U0 != nil {
		t.Error("the network of numpy-fortran.npz is wrong")
	}
	check.FailIf(t, !mat.Equal(f.Truth, mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0})), "Ustar is wrong")
	f, _ = Read("testdata/numpy-stacked.npz")
	if !mat.Equal(f.U0[1], mat.NewDense(3, 2, []float64{0, 0, 1, 0, 0, 1})) || f.Start.At(2, 1) != 2 ||
		f.Weights.At(0, 0) != 0.75 {
		t.Error("U0, Ustart or weights of numpy-stacked.npz are wrong")
	}
}

// Tasks of a file without nodes are dealt out in blocks.
func TestProblemInBlocks(t *testing.T) {
	for nodes, want := range map[int][]int{0: {3}, 1: {3}, 2: {2, 1}, 3: {1, 1, 1}} {
		p := validFile()
		p["task"], p["node"] = []int{0, 1, 2, 1}, nil
		problem := check.OK(p.problem(t, nodes))
		var got []int
		for _, n := range problem.Nodes {
			got = append(got, n.Len())
		}
		check.FailIf(t, !slices.Equal(got, want), "%d nodes have %v tasks, want %v", nodes, got, want)
	}
	p := validFile()
	_, err := p.problem(t, 2)
	check.Error(t, err, "assigns its tasks to 2 nodes")
	p["node"] = nil
	_, err = p.problem(t, 3)
	check.Error(t, err, "Nodes is 3", "must be from 1 to 2")
}

// TestRoundTrip: a problem with everything in it comes back as it was written.
func TestRoundTrip(t *testing.T) {
	g := check.OK(topology.Ring(2))
	w := check.OK(topology.NewWeights(g, topology.Metropolis))
	eye := kernel.BasisOf(mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0}))
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		p := &difalt.Problem{U0: []*kernel.Basis{eye, eye}, Truth: eye,
			Start: kernel.BasisOf(mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}))}
		for _, samples := range [][]int{{2, 3}, {1}} {
			b := kernel.NewBuilder(3, samples, storage)
			for k, n := range samples {
				for i := range n {
					v := float64(100*len(p.Nodes)+10*k+i) / 4
					b.SetRow(k, i, []float64{v, -v, v * v}, v+1)
				}
			}
			p.Nodes = append(p.Nodes, b.Tasks())
		}
		path := filepath.Join(t.TempDir(), "p.npz")
		check.Done(Write(path, p, w))
		f := check.OK(Read(path))
		q := check.OK(f.Problem(0))
		check.FailIf(t, shown(q) != shown(p), "%v: read\n%s, wrote\n%s", storage, shown(q), shown(p))
		if !mat.Equal(q.U0[1], p.U0[1]) || !mat.Equal(q.Start, p.Start) || !mat.Equal(q.Truth, p.Truth) ||
			f.Weights.At(0, 1) != w.At(0, 1) {
			t.Error("bases or weights differ")
		}
		err := Write(filepath.Join(t.TempDir(), "no", "p.npz"), p, nil)
		check.Error(t, err, "cannot write", "p.npz", "no such file")
	}
}

// A numpy is an array of floats.
type numpy struct {
	shape []int
	data  []float64
}

func floats(shape []int, data ...float64) numpy { return numpy{shape, data} }

// A testFile holds arrays by name for a test to change: floats, []int, []string, or nil for none.
type testFile map[string]any

func validFile() testFile {
	return testFile{"X": floats([]int{4, 2}, 1, 2, 3, 4, 5, 6, 7, 8), "y": floats([]int{4}, 1, 2, 3, 4),
		"task": []int{0, 0, 1, 1},
		"node": []int{0, 1}}
}

// write writes the file and returns its path.
func (p testFile) write(t testing.TB) string {
	t.Helper()
	var buf bytes.Buffer
	w := npz.NewWriter(&buf)
	for _, name := range append([]string{"extra"}, arrays...) {
		switch a := p[name].(type) {
		case numpy:
			w.Float64s(name, a.shape, a.data)
		case []int:
			w.Ints(name, a)
		case []string:
			w.Strings(name, []int{len(a)}, a)
		}
	}
	check.Done(w.Close())
	return inFile(t, buf.Bytes())
}

// inFile writes the content of a problem file, and returns its path.
func inFile(t testing.TB, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "p.npz")
	check.Done(os.WriteFile(path, content, 0o666))
	return path
}

func (p testFile) problem(t testing.TB, nodes int) (*difalt.Problem, error) {
	t.Helper()
	f, err := Read(p.write(t))
	if err != nil {
		return nil, err
	}
	return f.Problem(nodes)
}

// twoByTwo is the shape of a square matrix of order 2.
var twoByTwo = []int{2, 2}

// readErrorsCases are the cases of TestReadErrors.
var readErrorsCases = map[string]struct {
	change testFile
	want   []string
}{
	"no X":          {testFile{"X": nil}, []string{`array "X" is missing`, `"y", "task", "node"`}},
	"unknown array": {testFile{"extra": []int{1}}, []string{`array "extra" is not part`, "Ustar"}},
	"X of one dimension": {testFile{"X": floats([]int{2}, 1, 2)},
		[]string{`array "X" is (2,) float64`, "N x d or T x n x d"}},
	"X of integers": {testFile{"X": []int{1}}, []string{`array "X" is (1,) int64`, "float64 or float32"}},
	"X without rows": {testFile{"X": floats([]int{0, 2})},
		[]string{`array "X" is (0, 2) float64`, "no entries"}},
	"NaN in X": {testFile{"X": floats([]int{4, 2}, 1, 2, 3, 4, 5, math.NaN(), 7, 8)},
		[]string{`array "X": entry [2, 1] is NaN`}},
	"Inf in y": {testFile{"y": floats([]int{4}, 1, 2, 3, math.Inf(-1))},
		[]string{`array "y": entry [3] is -Inf`}},
	"NaN in X of tasks": {testFile{"task": nil, "X": floats([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, math.NaN()),
		"y": floats(twoByTwo, 1, 2, 3, 4)}, []string{`array "X": entry [1, 1, 1] is NaN`}},
	"Inf in y of tasks": {testFile{"task": nil, "X": floats([]int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8),
		"y": floats(twoByTwo, 1, 2, math.Inf(1), 4)}, []string{`array "y": entry [1, 0] is +Inf`}},
	"short y": {testFile{"y": floats([]int{3}, 1, 2, 3)},
		[]string{`array "y" is (3,) float64: expected the shape (4,)`}},
	"y of two dimensions": {testFile{"y": floats([]int{4, 1}, 1, 2, 3, 4)},
		[]string{`array "y" is (4, 1) float64: expected the shape (4,)`}},
	"task of floats": {testFile{"task": floats([]int{4}, 0, 0, 1, 1)},
		[]string{`array "task": it is (4,) float64: expected integers`}},
	"negative task": {testFile{"task": []int{0, 0, 1, -1}}, []string{`array "task": entry 3 is -1`}},
	"task beyond node": {testFile{"task": []int{0, 0, 1, 2}},
		[]string{`array "node" is (2,)`, "expected the shape (3,)"}},
	"task without rows": {testFile{"task": []int{0, 0, 2, 2}, "node": []int{0, 0, 0}},
		[]string{`array "task": no entry is 1, but one is 2`}},
	"task with stacked X": {testFile{"X": floats([]int{2, 2, 1}, 1, 2, 3, 4)},
		[]string{`array "task" is there`, "X is (2, 2, 1)"}},
	"node without tasks": {testFile{"node": []int{1, 1}},
		[]string{`array "node": no entry is 0, but one is 1`}},
	"huge node": {testFile{"node": []int{0, 1 << 30}},
		[]string{`array "node": entry 1 is 1073741824`}},
	"weights not square": {testFile{"weights": floats([]int{2, 1}, 1, 1)},
		[]string{`array "weights" is (2, 1) float64`, "expected the shape (2, 2)"}},
	"adjacency without nodes": {testFile{"node": nil, "adjacency": floats([]int{2, 1}, 0, 1)},
		[]string{`"adjacency" is (2, 1)`, "as many columns as rows"}},
	"weights and adjacency": {testFile{"weights": floats(twoByTwo, .5, .5, .5, .5),
		"adjacency": floats(twoByTwo, 0, 1, 1, 0)}, []string{`"weights" and "adjacency" are both there`}},
	"U0 of other nodes": {testFile{"U0": floats([]int{1, 2, 1}, 1, 0)},
		[]string{`array "U0" is (1, 2, 1) float64`, "expected the shape (2, 2, n)"}},
	"U0 not orthonormal": {testFile{"U0": floats([]int{2, 2, 1}, 1, 0, 1, 1)},
		[]string{`"U0", basis 1`, "not orthonormal", "differs from I by 1"}},
	"Ustar with skew columns": {testFile{"Ustar": floats(twoByTwo, 1, .6, 0, .8)},
		[]string{`"Ustar", basis 0`, "differs from I by 0.6"}},
	"Ustar too wide": {testFile{"Ustar": floats([]int{2, 3}, 1, 0, 0, 0, 1, 0)},
		[]string{`array "Ustar" is (2, 3)`, "at most as many columns"}},
	"NaN in Ustar": {testFile{"Ustar": floats([]int{2, 1}, math.NaN(), 0)}, []string{`"Ustar"`, "NaN"}},
}

func TestReadErrors(t *testing.T) {
	if _, err := validFile().problem(t, 0); err != nil {
		t.Fatal(err)
	}
	for name, c := range readErrorsCases {
		t.Run(name, func(t *testing.T) {
			p := validFile()
			maps.Copy(p, c.change)
			path := p.write(t)
			_, err := Read(path)
			check.Error(t, err, append(c.want, path)...)
		})
	}
}

// However many bytes are missing, a truncated file is an error.
func TestReadTruncated(t *testing.T) {
	whole := check.OK(os.ReadFile(validFile().write(t)))
	path := filepath.Join(t.TempDir(), "short.npz")
	for n := range len(whole) {
		check.Done(os.WriteFile(path, whole[:n], 0o666))
		if _, err := Read(path); err == nil {
			t.Fatalf("no error with %d of %d bytes", n, len(whole))
		}
	}
	_, err := Read(path)
	check.Error(t, err, "short.npz: not a complete .npz file")
	_, err = Read(filepath.Join(t.TempDir(), "absent.npz"))
	check.Error(t, err, "absent.npz", "no such file")
}

// TestChangedFile: a file that changes between Read and Problem is an error.
func TestChangedFile(t *testing.T) {
	p := validFile()
	f := check.OK(Read(p.write(t)))
	for name, x := range map[string]numpy{
		"expected the shape (4, 2)": floats([]int{3, 2}, 1, 2, 3, 4, 5, 6),
		"entry [3, 0] is +Inf":      floats([]int{4, 2}, 1, 2, 3, 4, 5, 6, math.Inf(1), 8),
	} {
		p["X"] = x
		f.path = p.write(t)
		_, err := f.Problem(0)
		check.Error(t, err, name)
	}
}

// Names of tasks and nodes are numbered as they come.
func TestReadWithNames(t *testing.T) {
	p := validFile()
	p["task"], p["node"] = []string{"Ü", "a", "Ü", "c"}, []string{"q", "p", "q"}
	f, err := Read(p.write(t))
	if err != nil || !slices.Equal(f.task, []int{0, 1, 0, 2}) || !slices.Equal(f.node, []int{0, 1, 0}) ||
		f.Tasks != 3 || f.Nodes != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, path := range []string{validFile().write(f), "testdata/numpy-fortran.npz", "testdata/numpy-stacked.npz"} {
		b := check.OK(os.ReadFile(path))
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Read(inFile(t, b))
		if err != nil {
			return
		}
		if _, err := p.Problem(0); err != nil {
			t.Fatal(err)
		}
	})
}
