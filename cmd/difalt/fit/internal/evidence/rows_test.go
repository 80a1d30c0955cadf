package evidence

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/mixedmodel"
)

// A kept is a source of tasks that are in memory.
type kept [][]*mixedmodel.Task

func (k kept) Samples(g, i int) int { return len(k[g][i].Y) }

func (k kept) Read(g, i int, z, y []float64) {
	copy(z, k[g][i].Z)
	copy(y, k[g][i].Y)
}

// It makes no difference where rows of tasks are, and weights of rows that are read or kept are those of rows that are multiplied by them.
func TestSource(t *testing.T) {
	rows, _, p := testRows(t)
	all := kept(rows.Tasks)
	weights, rng := perTask[float64](rows), rand.New(rand.NewPCG(1, 2))
	weighted := make([][]*mixedmodel.Task, len(all))
	read := make([][]*mixedmodel.Task, len(all))
	for g, list := range all {
		read[g] = slices.Clone(list)
		for i, task := range list {
			weights[g][i] = 0.5 + rng.Float64()
			by := task.Weighted(weights[g][i])
			weighted[g] = append(weighted[g], &by)
			if task.Rows <= rows.Width {
				read[g][i] = nil
			}
		}
	}
	at := func(tasks [][]*mixedmodel.Task, weights [][]float64) *Point {
		own, err := NewRows(t.Context(), rows.group, tasks, all, rows.Width, int(rows.Total), 2)
		if err != nil {
			t.Fatal(err)
		}
		if weights != nil {
			if own, err = own.Weighted(t.Context(), &TaskNoise{Weight: weights}); err != nil {
				t.Fatal(err)
			}
		}
		pt, err := own.At(t.Context(), p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if weights != nil { // of which the value knows the determinant
			pt.Value += own.logWeights
		}
		return pt
	}
	for _, c := range []struct {
		what      string
		got, want *Point
	}{{"read", at(read, nil), at(all, nil)}, {"read and weighted", at(read, weights), at(weighted, nil)}, {"kept and weighted", at(all, weights), at(weighted, nil)}} {
		checkNear(t, c.what, 0, c.got.Value, c.want.Value)
		for k, v := range c.want.slope {
			checkNear(t, c.what+", slope", float64(k), c.got.slope[k], v)
		}
	}
}

// Of many points few have an alike in memory, and it is the same when it is made anew.
func TestAlikesAreMadeAnew(t *testing.T) {
	rows, _, p := testRows(t)
	var points []*Point
	var values []float64
	for k := range keptAlikes + 2 {
		next := p.Clone()
		next.Spread *= 1 + float64(k)
		pt, err := rows.At(t.Context(), next, nil)
		if err != nil {
			t.Fatal(err)
		}
		a, ok := pt.Alike()
		if !ok {
			t.Fatal("no alike")
		}
		points, values = append(points, pt), append(values, a.value)
	}
	having := 0
	for _, pt := range points {
		if pt.alike != nil {
			having++
		}
	}
	if having != keptAlikes {
		t.Errorf("%d points have an alike, want %d", having, keptAlikes)
	}
	for k, pt := range points {
		if a, ok := pt.Alike(); !ok || a.value != values[k] {
			t.Errorf("point %d has another alike", k)
		}
	}
}
