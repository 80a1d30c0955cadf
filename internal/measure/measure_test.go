package measure

import (
	"context"
	"errors"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/mat"
)

var small = Shape{Name: "small", Tasks: 7, Samples: 9, Features: 20, Rank: 3}

func TestParseShapes(t *testing.T) {
	got, err := ParseShapes("wide, paper2")
	if err != nil {
		t.Fatal(err)
	}
	want := []Shape{{"wide", 1000, 64, 2048, 16}, {"paper2", 100, 50, 100, 10}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	got, err = ParseShapes("1x3x37x1,paper2")
	if want := []Shape{{"1x3x37x1", 1, 3, 37, 1}, want[1]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	for list, want := range map[string]string{
		"paper1,":           `unknown shape ""`,
		"3x3x3":             `unknown shape "3x3x3": want a list of paper1,paper2,many,wide, or sizes as in 600x30x600x4`,
		"1x0x3x2":           `shape "1x0x3x2": "0" is not`,
		"1x-2x3x2":          `"-2" is not`,
		"1x2x3x4":           "rank 4 is more than the 3 features",
		"99999999999x1x1x1": `"99999999999" is not`,
	} {
		if _, err := ParseShapes(list); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", list, err, want)
		}
	}
}

// Every sample, feature and column takes more arithmetic, also where tasks have fewer
// samples than the basis has columns.
func TestFlopsGrow(t *testing.T) {
	for n := 1; n < 50; n++ {
		for r := 1; r < 50; r++ {
			f := Shape{"", 2, n, 50, r}.Flops()
			for _, more := range []Shape{{"", 3, n, 50, r}, {"", 2, n + 1, 50, r}, {"", 2, n, 51, r}, {"", 2, n, 50, r + 1}} {
				if g := more.Flops(); !(g > f) || !(f > 0) {
					t.Fatalf("%v takes %v operations, %d samples and rank %d %v", more, g, n, r, f)
				}
			}
		}
	}
}

// Shapes that nobody has in mind: too few samples for the rank, one feature, one sample.
func TestRunOddShapes(t *testing.T) {
	for _, s := range []Shape{{"", 3, 2, 40, 33}, {"", 1, 1, 1, 1}} {
		c := Config{Shapes: []Shape{s}, Storages: Storages()[2:], Workers: []int{2}, Seconds: 1e-3}
		err := Run(t.Context(), c, func(r Row) error {
			if !(r.IterationMS > 0) || !(r.ReadShare > 0) || !(r.FMAShare > 0) || r.FMAShare > 1 || r.Allocs != 0 || r.Schedule == "" {
				t.Errorf("%v: row %+v", s, r)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

func TestParseWorkers(t *testing.T) {
	for _, processors := range []int{0, 2} {
		if got, err := ParseWorkers("1, 2", processors); err != nil || !reflect.DeepEqual(got, []int{1, 2}) {
			t.Errorf("got %v, %v, want 1 and 2", got, err)
		}
	}
	for list, want := range map[string]string{"0": `"0" is not a positive number`, "1,": `"" is not a positive number`, "3": "3 workers"} {
		if _, err := ParseWorkers(list, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", list, err, want)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		v    []float64
		want float64
	}{{[]float64{3}, 3}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 2, 9}, 3}} {
		if got := Median(test.v); got != test.want {
			t.Errorf("median of %v is %v, want %v", test.v, got, test.want)
		}
	}
	if got := Median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing is %v, want NaN", got)
	}
}

// The start is orthonormal and not U*, and X is in float32.
func TestProblem(t *testing.T) {
	p := NewProblem(small, 5)
	x, y := make([]float64, 9*20), make([]float64, 9)
	p.Source.Task(4, x, y)
	for _, v := range x {
		if float64(float32(v)) != v {
			t.Fatalf("X has %v, not a float32", v)
		}
	}
	var gram, cross mat.Dense
	gram.Mul(p.U.T(), p.U)
	gram.Sub(&gram, mat.NewDiagDense(3, []float64{1, 1, 1}))
	if d := mat.Norm(&gram, 2); d > 1e-14 {
		t.Errorf("U'U is %v away from the identity", d)
	}
	cross.Mul(p.U.T(), p.Source.Truth)
	if d := mat.Norm(&cross, 2); d > 1.7 { // sqrt(3) if they were equal
		t.Errorf("the start is as good as U*: |U'U*| = %v", d)
	}
}

func TestPack(t *testing.T) {
	p := NewProblem(small, 5)
	x, y := make([]float64, 9*20), make([]float64, 9)
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		nodes := p.Pack(3, storage)
		task := 0
		for _, k := range nodes {
			for i := range k.Len() {
				p.Source.Task(task, x, y)
				if row := k.Row(make([]float64, 20), i, 8); !reflect.DeepEqual(row, x[8*20:]) {
					t.Errorf("%v: last row of task %d differs", storage, task)
				}
				if !reflect.DeepEqual(k.Y(i), y) {
					t.Errorf("%v: responses of task %d differ", storage, task)
				}
				task++
			}
		}
		if task != small.Tasks {
			t.Errorf("%v: %d tasks packed, want %d", storage, task, small.Tasks)
		}
	}
}

func TestRun(t *testing.T) {
	var rows []Row
	c := Config{Shapes: []Shape{small}, Storages: Storages(), Workers: []int{1}, Seconds: 1e-3, Seed: 1}
	err := Run(t.Context(), c, func(r Row) error {
		rows = append(rows, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3 || rows[0].Storage != "f64" || rows[1].Storage != "f32" || rows[2].Storage != "f16" {
		t.Fatalf("rows are %+v, want one for each of f64, f32 and f16", rows)
	}
	for _, r := range rows {
		if want := r.ReadMS / r.IterationMS; r.ReadShare != want || !(r.IterationMS > 0) || !(r.FMAShare > 0) {
			t.Errorf("row does not hold together: %+v", r)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Run(ctx, c, func(Row) error { return nil }); err != context.Canceled {
		t.Errorf("a canceled run ended with %v", err)
	}
}

// One that fails has no further turns, and every other has as many as it would alone.
func TestTurns(t *testing.T) {
	dead := errors.New("dead")
	calls := [3]int{}
	timer := func(i int, fails int) Timer {
		return func(n int) (float64, error) {
			if calls[i]++; calls[i] == fails {
				return 0, dead
			}
			return float64(40 * (i + 1)), nil
		}
	}
	got, err := Turns(t.Context(), 0, timer(0, 0), timer(1, 4), timer(2, 1))
	if err != nil || !reflect.DeepEqual(got, []Timing{{MS: 40}, {Err: dead}, {Err: dead}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if calls != [3]int{3 + 4*2, 4, 1} {
		t.Errorf("called %v times", calls)
	}
}

func TestMain(m *testing.M) {
	turn = time.Millisecond
	os.Exit(m.Run())
}
