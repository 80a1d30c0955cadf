package dataset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// PackAndRelease must pack what Pack packs, whatever the order of the rows, and over
// several chunks.
func TestPackAndRelease(t *testing.T) {
	for _, storage := range []kernel.Storage{kernel.Float64, kernel.Float32} {
		for _, shuffled := range []bool{false, true} {
			const width, tasks, rows = 3000, 7, 100 // four chunks or more
			features := make([]string, width)
			for j := range features {
				features[j] = fmt.Sprint(j)
			}
			tab, err := NewTable(features, true, storage)
			if err != nil {
				t.Fatal(err)
			}
			r := rand.New(rand.NewPCG(1, 2))
			x := make([]float64, width)
			for i := range tasks * rows {
				k := i / rows
				if shuffled {
					k = r.IntN(tasks)
				}
				for j := range x {
					x[j] = float64(1000*i + j)
				}
				if err := tab.Append(fmt.Sprint(k), "", x, float64(i)); err != nil {
					t.Fatal(err)
				}
			}
			layout := Layout{{3, 1}, {5, 0, 4, 2}} // not task 6
			chosen := make([]bool, tab.Rows())
			for i := range chosen {
				chosen[i] = r.IntN(4) > 0
			}
			others := make([]bool, len(chosen))
			for i, on := range chosen {
				others[i] = !on
			}
			want, wantOthers := tab.Pack(layout, chosen, width, nil), tab.Pack(layout, others, width, nil)
			if got, rest := tab.PackAndRelease(layout, chosen, width, nil); !reflect.DeepEqual(got, want) || !reflect.DeepEqual(rest, wantOthers) {
				t.Errorf("%v, shuffled %v: the packed tasks differ", storage, shuffled)
			}
			if s := tab.x.(interface{ held() int }).held(); s != 0 {
				t.Errorf("%v, shuffled %v: %d chunks are still there", storage, shuffled, s)
			}
			if tab.Y(5) != 5 || tab.Rows() != tasks*rows {
				t.Error("targets or rows are lost")
			}
			checkPanic(t, func() { tab.X(x, 0) })
		}
	}
}

func (c *chunks[T]) held() (n int) {
	for _, d := range c.data {
		if d != nil {
			n++
		}
	}
	return n
}

func checkPanic(t *testing.T, f func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	f()
}
