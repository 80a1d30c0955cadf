package problemfile

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/npz"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

// Files that NumPy 2 wrote hold X[i, j] = 10 i + j + 1/2 in different guises.
func TestReadOfNumPy(t *testing.T) {
	for _, c := range []struct {
		file    string
		rows    [][]int // of every task in the order of the nodes
		tasks   []int   // of every node
		y       float64 // y[i] = i * y
		storage kernel.Storage
	}{
		// Fortran order, int32 tasks that are not adjacent, big-endian nodes, bool adjacency.
		{"numpy-fortran.npz", [][]int{{1, 3}, {0, 2}, {4, 5}}, []int{1, 2}, 0.25, kernel.Float64},
		// T x n x d, float32, compressed, uint8 nodes, big-endian float32 y.
		{"numpy-stacked.npz", [][]int{{0, 1}, {2, 3}, {4, 5}}, []int{2, 1}, 1, kernel.Float32},
	} {
		t.Run(c.file, func(t *testing.T) {
			f, err := Read(filepath.Join("testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			p, err := f.Problem(0)
			if err != nil || f.Tasks != 3 || f.Nodes != 2 || f.Features != 3 {
				t.Fatalf("%d tasks, %d nodes, %d features, %v", f.Tasks, f.Nodes, f.Features, err)
			}
			next, x := 0, make([]float64, 3)
			for g, n := range c.tasks {
				tasks := p.Nodes[g]
				if tasks.Len() != n || tasks.Storage() != c.storage {
					t.Fatalf("node %d has %d tasks in %v", g, tasks.Len(), tasks.Storage())
				}
				for k := range n {
					for s, i := range c.rows[next] {
						v := 10*float64(i) + 0.5
						if tasks.Row(x, k, s); !slices.Equal(x, []float64{v, v + 1, v + 2}) || tasks.Y(k)[s] != float64(i)*c.y {
							t.Errorf("node %d, task %d, sample %d: %v, %v", g, k, s, x, tasks.Y(k)[s])
						}
					}
					next++
				}
			}
		})
	}
	f, _ := Read("testdata/numpy-fortran.npz")
	if !mat.Equal(f.Adjacency, mat.NewDense(2, 2, []float64{0, 1, 1, 0})) || f.Weights != nil || f.U0 != nil {
		t.Error("the network of numpy-fortran.npz is wrong")
	}
	if !mat.Equal(f.Truth, mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0})) {
		t.Error("Ustar is wrong")
	}
	f, _ = Read("testdata/numpy-stacked.npz")
	if !mat.Equal(f.U0[1], mat.NewDense(3, 2, []float64{0, 0, 1, 0, 0, 1})) || f.Start.At(2, 1) != 2 || f.Weights.At(0, 0) != 0.75 {
		t.Error("U0, Ustart or weights of numpy-stacked.npz are wrong")
	}
}

// Tasks of a file without nodes are dealt out in blocks.
func TestProblemInBlocks(t *testing.T) {
	p := validFile()
	p.ints["task"] = []int{0, 1, 2, 1}
	p.drop("node")
	f, err := readBytes(p.bytes(t))
	if err != nil {
		t.Fatal(err)
	}
	for nodes, want := range map[int][]int{0: {3}, 1: {3}, 2: {2, 1}, 3: {1, 1, 1}} {
		problem, err := f.Problem(nodes)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, n := range problem.Nodes {
			got = append(got, n.Len())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d nodes have %v tasks, want %v", nodes, got, want)
		}
	}
	_, err = f.Problem(4)
	checkMessage(t, "too many", err, []string{"number of nodes is 4", "expected 1 to 3"})
	f, _ = readBytes(validFile().bytes(t))
	_, err = f.Problem(2)
	checkMessage(t, "both", err, []string{"assigns its tasks to 2 nodes"})
}

// testProblem is a small problem with everything in it.
func testProblem(t *testing.T, storage kernel.Storage) (*difalt.Problem, *topology.Weights) {
	t.Helper()
	x := func(rows int, at float64) mat.Matrix {
		m := mat.NewDense(rows, 3, nil)
		m.Apply(func(i, j int, _ float64) float64 { return at + float64(10*i+j)/4 }, m)
		return m
	}
	g, err := topology.Ring(2)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	eye := kernel.BasisOf(mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 0}))
	return &difalt.Problem{
		Nodes: []*kernel.Tasks{
			pack(storage, []mat.Matrix{x(2, 1), x(3, 2)}, []float64{1, 2}, []float64{3, 4, 5}),
			pack(storage, []mat.Matrix{x(1, 3)}, []float64{6}),
		},
		U0: []*kernel.Basis{eye, eye}, Truth: eye,
		Start: kernel.BasisOf(mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})),
	}, w
}

// pack returns the tasks with the given matrices of three features, and responses.
func pack(storage kernel.Storage, x []mat.Matrix, y ...[]float64) *kernel.Tasks {
	var samples []int
	for _, v := range y {
		samples = append(samples, len(v))
	}
	b := kernel.NewBuilder(3, samples, storage)
	for t := range y {
		b.SetTask(t, x[t], y[t])
	}
	return b.Tasks()
}

func TestRoundTrip(t *testing.T) {
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		p, w := testProblem(t, storage)
		path := filepath.Join(t.TempDir(), "p.npz")
		if err := Write(path, p, w); err != nil {
			t.Fatal(err)
		}
		f, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		q, err := f.Problem(0)
		if err != nil {
			t.Fatal(err)
		}
		a, b := make([]float64, 3), make([]float64, 3)
		for g, want := range p.Nodes {
			got := q.Nodes[g]
			if got.Len() != want.Len() || got.Storage() != storage {
				t.Fatalf("node %d has %d tasks in %v", g, got.Len(), got.Storage())
			}
			for k := range want.Len() {
				if !reflect.DeepEqual(got.Y(k), want.Y(k)) {
					t.Errorf("node %d, task %d: y = %v, want %v", g, k, got.Y(k), want.Y(k))
				}
				for i := range want.Samples(k) {
					if !reflect.DeepEqual(got.Row(a, k, i), want.Row(b, k, i)) {
						t.Errorf("node %d, task %d: row %d is %v, want %v", g, k, i, a, b)
					}
				}
			}
		}
		if !mat.Equal(q.U0[1], p.U0[1]) || !mat.Equal(q.Start, p.Start) || !mat.Equal(q.Truth, p.Truth) || f.Weights.At(0, 1) != w.At(0, 1) {
			t.Error("bases or weights differ")
		}
	}
}

func TestWriteErrors(t *testing.T) {
	p, w := testProblem(t, kernel.Float64)
	checkMessage(t, "folder", Write(filepath.Join(t.TempDir(), "no", "p.npz"), p, w), []string{"cannot write", "p.npz", "no such file"})
	checkMessage(t, "no nodes", Write("p.npz", &difalt.Problem{}, nil), []string{"no nodes"})
	g, _ := topology.Ring(3)
	w3, _ := topology.NewWeights(g, topology.Metropolis)
	checkMessage(t, "weights", Write("p.npz", p, w3), []string{"2 nodes", "the weights 3"})
}

// testFile is what a test changes before it is written; shape and data by name.
type testFile struct {
	floats map[string]struct {
		shape []int
		data  []float64
	}
	ints  map[string][]int
	order []string
}

func (p *testFile) set(name string, shape []int, data ...float64) {
	delete(p.ints, name)
	p.floats[name] = struct {
		shape []int
		data  []float64
	}{shape, data}
}

func (p *testFile) drop(name string) { delete(p.floats, name); delete(p.ints, name) }

func validFile() *testFile {
	p := &testFile{ints: map[string][]int{"task": {0, 0, 1, 1}, "node": {0, 1}}}
	p.floats = map[string]struct {
		shape []int
		data  []float64
	}{}
	p.set("X", []int{4, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
	p.set("y", []int{4}, 1, 2, 3, 4)
	p.order = append([]string{"extra"}, arrays...)
	return p
}

func (p *testFile) bytes(t testing.TB) []byte {
	var buf bytes.Buffer
	w := npz.NewWriter(&buf)
	for _, name := range p.order {
		if f, ok := p.floats[name]; ok {
			w.Float64s(name, f.shape, f.data)
		} else if v, ok := p.ints[name]; ok {
			w.Ints(name, v)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func readBytes(b []byte) (*File, error) {
	r, err := npz.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	return read(r)
}

func TestReadErrors(t *testing.T) {
	if _, err := readBytes(validFile().bytes(t)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(p *testFile)
		want   []string
	}{
		{"no X", func(p *testFile) { p.drop("X") }, []string{`array "X" is missing`, `"y", "task", "node"`}},
		{"no y", func(p *testFile) { p.drop("y") }, []string{`array "y" is missing`}},
		{"no task", func(p *testFile) { p.drop("task") }, []string{`array "task" is missing`}},
		{"unknown array", func(p *testFile) { p.set("extra", []int{1}, 1) }, []string{`array "extra" is not part`, `"Ustar"`}},
		{"X of one dimension", func(p *testFile) { p.set("X", []int{8}, 1, 2, 3, 4, 5, 6, 7, 8) }, []string{`array "X" is (8,) float64`, "N x d or T x n x d"}},
		{"X of integers", func(p *testFile) { p.drop("X"); p.ints["X"] = []int{1} }, []string{`array "X" is (1,) int64`, "float64 or float32"}},
		{"X without rows", func(p *testFile) { p.set("X", []int{0, 2}) }, []string{`array "X" is (0, 2) float64`, "no entries"}},
		{"NaN in X", func(p *testFile) { p.set("X", []int{4, 2}, 1, 2, 3, 4, 5, math.NaN(), 7, 8) }, []string{`array "X": row 2, column 1 is NaN`}},
		{"Inf in y", func(p *testFile) { p.set("y", []int{4}, 1, 2, 3, math.Inf(-1)) }, []string{`array "y": row 0, column 3 is -Inf`}},
		{"short y", func(p *testFile) { p.set("y", []int{3}, 1, 2, 3) }, []string{`array "y" is (3,) float64: expected the shape (4,)`}},
		{"y of two dimensions", func(p *testFile) { p.set("y", []int{4, 1}, 1, 2, 3, 4) }, []string{`array "y" is (4, 1) float64: expected the shape (4,)`}},
		{"short task", func(p *testFile) { p.ints["task"] = []int{0, 0, 1} }, []string{`array "task" is (3,) int64`, "expected the shape (4,)"}},
		{"task of floats", func(p *testFile) { p.set("task", []int{4}, 0, 0, 1, 1) }, []string{`array "task": it is (4,) float64: expected integers`}},
		{"negative task", func(p *testFile) { p.ints["task"] = []int{0, 0, 1, -1} }, []string{`array "task": entry 3 is -1`}},
		{"task beyond node", func(p *testFile) { p.ints["task"] = []int{0, 0, 1, 2} }, []string{`array "node" is (2,)`, "expected the shape (3,)"}},
		{"task without rows", func(p *testFile) { p.ints["task"] = []int{0, 0, 2, 2}; p.ints["node"] = []int{0, 0, 0} }, []string{`array "task": no entry is 1, but one is 2`}},
		{"task with stacked X", func(p *testFile) { p.set("X", []int{2, 2, 2}, 1, 2, 3, 4, 5, 6, 7, 8) }, []string{`array "task" is there`, "X is (2, 2, 2)"}},
		{"long node", func(p *testFile) { p.ints["node"] = []int{0, 1, 0} }, []string{`array "node" is (3,) int64`, "expected the shape (2,)"}},
		{"node without tasks", func(p *testFile) { p.ints["node"] = []int{1, 1} }, []string{`array "node": no entry is 0, but one is 1`}},
		{"negative node", func(p *testFile) { p.ints["node"] = []int{0, -2} }, []string{`array "node": entry 1 is -2`}},
		{"huge node", func(p *testFile) { p.ints["node"] = []int{0, 1 << 30} }, []string{`array "node": entry 1 is 1073741824`}},
		{"weights not square", func(p *testFile) { p.set("weights", []int{2, 1}, 1, 1) }, []string{`array "weights" is (2, 1) float64`, "expected the shape (2, 2)"}},
		{"weights of other nodes", func(p *testFile) { p.set("weights", []int{1, 1}, 1) }, []string{`array "weights" is (1, 1) float64`, "expected the shape (2, 2)"}},
		{"weights and adjacency", func(p *testFile) {
			p.set("weights", []int{2, 2}, .5, .5, .5, .5)
			p.set("adjacency", []int{2, 2}, 0, 1, 1, 0)
		}, []string{`"weights" and "adjacency" are both there`}},
		{"U0 of other nodes", func(p *testFile) { p.set("U0", []int{1, 2, 1}, 1, 0) }, []string{`array "U0" is (1, 2, 1) float64`, "expected the shape (2, 2, n)"}},
		{"U0 of two dimensions", func(p *testFile) { p.set("U0", []int{2, 1}, 1, 0) }, []string{`array "U0" is (2, 1) float64`, "expected the shape (2, 2, n)"}},
		{"U0 not orthonormal", func(p *testFile) { p.set("U0", []int{2, 2, 1}, 1, 0, 1, 1) }, []string{`"U0", basis 1`, "not orthonormal", "product 2"}},
		{"Ustar of other features", func(p *testFile) { p.set("Ustar", []int{3, 1}, 1, 0, 0) }, []string{`array "Ustar" is (3, 1) float64`, "expected the shape (2, n)"}},
		{"Ustar too wide", func(p *testFile) { p.set("Ustar", []int{2, 3}, 1, 0, 0, 0, 1, 0) }, []string{`array "Ustar" is (2, 3)`, "at most as many columns"}},
		{"NaN in Ustar", func(p *testFile) { p.set("Ustar", []int{2, 1}, math.NaN(), 0) }, []string{`"Ustar"`, "NaN"}},
		{"Ustart of other features", func(p *testFile) { p.set("Ustart", []int{1, 1}, 1) }, []string{`array "Ustart" is (1, 1) float64`}},
	} {
		p := validFile()
		c.change(p)
		_, err := readBytes(p.bytes(t))
		checkMessage(t, c.name, err, c.want)
	}
}

// However many bytes are missing, a truncated file is an error.
func TestReadTruncated(t *testing.T) {
	whole := validFile().bytes(t)
	for n := range len(whole) {
		if _, err := readBytes(whole[:n]); err == nil {
			t.Fatalf("no error with %d of %d bytes", n, len(whole))
		}
	}
	path := filepath.Join(t.TempDir(), "short.npz")
	if err := os.WriteFile(path, whole[:len(whole)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := Read(path)
	checkMessage(t, "half", err, []string{"not a complete .npz file"})
	_, err = Read(filepath.Join(t.TempDir(), "absent.npz"))
	checkMessage(t, "absent", err, []string{"absent.npz", "no such file"})
	if err := os.WriteFile(path, []byte(strings.Repeat("text ", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = Read(path)
	checkMessage(t, "text", err, []string{"not a complete .npz file"})
}

// Names of tasks and nodes are numbered as they come.
func TestReadWithNames(t *testing.T) {
	var buf bytes.Buffer
	w := npz.NewWriter(&buf)
	w.Float64s("X", []int{4, 2}, []float64{1, 2, 3, 4, 5, 6, 7, 8})
	w.Float64s("y", []int{4}, []float64{1, 2, 3, 4})
	w.Strings("task", []int{4}, []string{"Ü", "a", "Ü", "c"})
	w.Strings("node", []int{3}, []string{"q", "p", "q"})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := readBytes(buf.Bytes())
	if err != nil || !slices.Equal(f.task, []int{0, 1, 0, 2}) || !slices.Equal(f.node, []int{0, 1, 0}) || f.Tasks != 3 || f.Nodes != 2 {
		t.Errorf("%+v, %v", f, err)
	}
}

func checkMessage(t *testing.T, name string, err error, want []string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	for _, piece := range want {
		if !strings.Contains(err.Error(), piece) {
			t.Errorf("%s: error %q lacks %q", name, err, piece)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(validFile().bytes(f))
	for _, name := range []string{"numpy-fortran.npz", "numpy-stacked.npz"} {
		b, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := readBytes(b)
		if err != nil {
			return
		}
		if _, err := p.Problem(0); err != nil {
			t.Fatal(err)
		}
		for _, v := range slices.Concat(p.x, p.y) {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("there is a sample with %v", v)
			}
		}
	})
}
