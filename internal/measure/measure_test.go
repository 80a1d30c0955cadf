package measure

import (
	"errors"
	"math"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/kernel"
)

var small = Shape{Name: "small", Tasks: 7, Samples: 9, Features: 20, Rank: 3}

// TestFlopsGrow: every sample, feature and column takes more arithmetic, also where tasks have fewer
// samples than the basis has columns.
func TestFlopsGrow(t *testing.T) {
	// X U, Householder's least squares, the residual, X'e, and the update of the gradient.
	if got, want := (Shape{"", 2, 3, 5, 2}).Flops(), 2*(60+(8*(3-2./3)+24+4)+12+30+20); math.Abs(got-want) > 1e-12 {
		t.Errorf("two tasks of 3 x 5 and rank 2 take %v operations, want %v", got, want)
	}
	for n := 1; n < 50; n++ {
		for r := 1; r < 50; r++ {
			f := Shape{"", 2, n, 50, r}.Flops()
			if b := (Shape{"", 2, n, 50, r}).Bytes(); b != 800*n {
				t.Fatalf("%d samples take %d bytes", n, b)
			}
			for _, more := range []Shape{{"", 3, n, 50, r}, {"", 2, n + 1, 50, r}, {"", 2, n, 51, r},
				{"", 2, n, 50, r + 1}} {
				if g := more.Flops(); !(g > f) || !(f > 0) {
					t.Fatalf("%v takes %v operations, %d samples and rank %d %v", more, g, n, r, f)
				}
			}
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

// TestIteration takes steps of odd shapes: too few samples for the rank, one feature, one sample.
func TestIteration(t *testing.T) {
	for _, s := range []Shape{small, {"", 3, 2, 40, 33}, {"", 1, 1, 1, 1}} {
		p := NewProblem(s, 1)
		it := NewIteration(p, p.Pack(1, kernel.Float64), 1)
		if s == small && check.Allocations(3, it.Step) != 0 {
			t.Errorf("%v: a step allocates", s)
		}
		ms, err := InTurns(t.Context(), 0, it.Step, it.Read, it.Arithmetic(1e5))
		if err != nil || !(slices.Min(ms) > 0) {
			t.Errorf("%v: times %v, error %v", s, ms, err)
		}
		total := func() (sum float64) {
			for _, o := range it.out {
				sum += o.value
			}
			return sum
		}
		before := total()
		if it.Read(); total()-before != float64(len(it.bytes)) {
			t.Errorf("%v: reading %d ones adds %v", s, len(it.bytes), total()-before)
		}
		it.Close()
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
	called := 0
	if _, err := Calls(func() { called++ })(3); calls != [3]int{3 + 4*2, 4, 1} || called != 3 || err != nil {
		t.Errorf("called %v times, and %d times in place of 3: %v", calls, called, err)
	}
}

func TestMain(m *testing.M) {
	turn = time.Millisecond
	os.Exit(m.Run())
}
