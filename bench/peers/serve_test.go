//go:build linux

package peers

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// serve talks to the driver until its requests end: it announces the version, and
// answers "check PATH" by the result of an iteration written to PATH and "run K" by the
// milliseconds that one of K iterations took. iterate fills the answer; export, if it is
// not nil, brings it to the layout of an answer and is not timed.
func serve(in io.Reader, out io.Writer, version string, a *answer, iterate, export func(*answer)) error {
	if _, err := fmt.Fprintln(out, "ready", version); err != nil {
		return err
	}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		verb, arg, _ := strings.Cut(lines.Text(), " ")
		switch verb {
		case "check":
			iterate(a)
			if export != nil {
				export(a)
			}
			if err := a.write(arg); err != nil {
				return err
			}
			fmt.Fprintln(out, "ok")
		case "run":
			k, err := strconv.Atoi(arg)
			if err != nil || k < 1 {
				return fmt.Errorf("run %q: need a positive number of iterations", arg)
			}
			ms, _ := measure.Calls(func() { iterate(a) })(k) // a function does not fail
			if _, err := fmt.Fprintf(out, "%.9g\n", ms); err != nil {
				return err
			}
		default:
			return fmt.Errorf("unknown request %q", verb)
		}
	}
	return lines.Err()
}

// serveProblem is what the peers in this program run: the iteration of PROBLEM on THREADS
// threads, as VARIANT does it.
func serveProblem(args []string) error {
	if len(args) != 2 && len(args) != 3 {
		return errors.New("usage: peers serve PROBLEM THREADS [VARIANT]")
	}
	p, err := readProblem(args[0])
	if err != nil {
		return err
	}
	threads, err := strconv.Atoi(args[1])
	if err != nil || threads < 1 {
		return fmt.Errorf("threads: %q is not a positive number", args[1])
	}
	runtime.GOMAXPROCS(threads)
	a := newAnswer(p.Tasks, p.D, p.R)
	iterate, export, err := ours(p, threads, append(args, "")[2])
	if err != nil {
		return err
	}
	version := "difalt, kernel " + kernel.Describe().Kernel
	if version == "difalt, kernel gonum" {
		version = "gonum " + moduleVersion("gonum.org/v1/gonum")
	}
	return serve(os.Stdin, os.Stdout, version, a, iterate, export)
}

// A problem is the content of a problem file, which README.md describes: Tasks blocks X of n x d samples by
// rows, responses Y, and the basis U (d x r) by rows.
type problem struct {
	Tasks, N, D, R int
	X, Y, U        []float64
}

type header struct {
	Magic          [8]byte
	Tasks, N, D, R int64
}

var magic = [8]byte([]byte("DIFALTB1"))

// writeProblem writes a problem whose tasks are drawn one at a time, so that they need not be in
// memory together.
func writeProblem(path string, p *measure.Problem) error {
	return create(path, func(w io.Writer) error {
		if err := binary.Write(w, binary.LittleEndian,
			header{magic, int64(p.Tasks), int64(p.Samples), int64(p.Features), int64(p.Rank)}); err != nil {
			return err
		}
		x, y := make([]float64, p.Samples*p.Features), make([]float64, p.Tasks*p.Samples)
		for t := range p.Tasks {
			p.Source.Task(t, x, y[t*p.Samples:][:p.Samples])
			if err := writeFloats(w, x); err != nil {
				return err
			}
		}
		return writeFloats(w, y, mat.DenseCopyOf(p.U).RawMatrix().Data)
	})
}

func readProblem(path string) (*problem, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var h header
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil || h.Magic != magic {
		return nil, fmt.Errorf("%s is not a problem file", path)
	}
	p := &problem{Tasks: int(h.Tasks), N: int(h.N), D: int(h.D), R: int(h.R)}
	p.X, p.Y, p.U = make([]float64, p.Tasks*p.N*p.D), make([]float64, p.Tasks*p.N), make([]float64, p.D*p.R)
	if err := readFloats(r, p.X, p.Y, p.U); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// An answer is the result of an iteration: the gradient (d x r) and the
// coefficients B (tasks x r), both by rows.
type answer struct{ Grad, B []float64 }

// newAnswer returns the answer to a problem of so many tasks on a d x r basis.
func newAnswer(tasks, d, r int) *answer {
	return &answer{Grad: make([]float64, d*r), B: make([]float64, tasks*r)}
}

func (a *answer) write(path string) error {
	return create(path, func(w io.Writer) error { return writeFloats(w, a.Grad, a.B) })
}

// readAnswer reads an answer to a problem of so many tasks on a d x r basis.
func readAnswer(path string, tasks, d, r int) (*answer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	a := newAnswer(tasks, d, r)
	in := bufio.NewReader(f)
	if err := readFloats(in, a.Grad, a.B); err != nil {
		return nil, fmt.Errorf("answer is too short: %w", err)
	}
	if _, err := in.ReadByte(); err != io.EOF {
		return nil, errors.New("answer is too long")
	}
	return a, nil
}

// distance returns the larger of the relative Frobenius distances of the gradient
// and of B from those of want.
func (a *answer) distance(want *answer) float64 {
	relative := func(got, want []float64) float64 { return floats.Distance(got, want, 2) / floats.Norm(want, 2) }
	return max(relative(a.Grad, want.Grad), relative(a.B, want.B))
}

// create writes a file through a buffer.
func create(path string, write func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	return w.Flush()
}

// chunk bounds what encoding/binary holds a second time.
const chunk = 4096

func writeFloats(w io.Writer, all ...[]float64) error {
	return inChunks(all, func(part []float64) error { return binary.Write(w, binary.LittleEndian, part) })
}

func readFloats(r io.Reader, all ...[]float64) error {
	return inChunks(all, func(part []float64) error { return binary.Read(r, binary.LittleEndian, part) })
}

func inChunks(all [][]float64, f func(part []float64) error) error {
	for _, v := range all {
		for part := range slices.Chunk(v, chunk) {
			if err := f(part); err != nil {
				return err
			}
		}
	}
	return nil
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "problem")
	const tasks, n, d, r = 2, 3, 4, 2
	p := measure.NewProblem(measure.Shape{Tasks: tasks, Samples: n, Features: d, Rank: r}, 1)
	want := problem{Tasks: tasks, N: n, D: d, R: r, X: make([]float64, tasks*n*d), Y: make([]float64, tasks*n)}
	for t := range tasks {
		p.Source.Task(t, want.X[t*n*d:][:n*d], want.Y[t*n:][:n])
	}
	for i := range d {
		want.U = append(want.U, p.U.At(i, 0), p.U.At(i, 1))
	}
	if err := writeProblem(path, p); err != nil {
		t.Fatal(err)
	}
	got, err := readProblem(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("read %+v, want %+v", *got, want)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// README.md: 8 bytes, four int64, and X, y and U as float64.
	if size := 8 + 4*8 + 8*(tasks*n*d+tasks*n+d*r); len(data) != size {
		t.Errorf("file has %d bytes, want %d", len(data), size)
	}
	for _, bad := range [][]byte{data[:len(data)-1], data[:20],
		[]byte("something else, long enough for a head........")} {
		if err := os.WriteFile(path, bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := readProblem(path); err == nil {
			t.Errorf("%d bytes were read as a problem", len(bad))
		}
	}
}

func TestServe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "answer")
	a := &answer{Grad: make([]float64, 2), B: make([]float64, 1)}
	calls := 0
	iterate := func(a *answer) { calls++; a.B[0] = 7 }
	export := func(a *answer) { a.Grad[1] = 5 }
	var out bytes.Buffer
	if err := serve(strings.NewReader("check "+path+"\nrun 3\n"), &out, "v1", a, iterate, export); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || lines[0] != "ready v1" || lines[1] != "ok" {
		t.Fatalf("said %q, want ready, ok and a time", lines)
	}
	if ms, err := strconv.ParseFloat(lines[2], 64); err != nil || ms < 0 {
		t.Errorf("said %q, want milliseconds", lines[2])
	}
	if calls != 4 {
		t.Errorf("%d iterations, want 4", calls)
	}
	got, err := readAnswer(path, 1, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	if want := (&answer{Grad: []float64{0, 5}, B: []float64{7}}); !reflect.DeepEqual(got, want) {
		t.Errorf("answer %+v, want %+v", got, want)
	}
	if d := (&answer{[]float64{3, 4.5}, []float64{1}}).distance(&answer{[]float64{3, 4}, []float64{1}}); d != 0.1 {
		t.Errorf("distance %v, want 0.1", d)
	}
	if _, err := readAnswer(path, 1, 1, 1); err == nil {
		t.Error("a long answer was read")
	}
	if err := serve(strings.NewReader("sing\n"), &out, "v1", a, iterate, export); err == nil {
		t.Error("an unknown request was accepted")
	}
}
