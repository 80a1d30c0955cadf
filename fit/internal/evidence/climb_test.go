package evidence

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/mixedmodel"
)

// Tolerance and steps of a climb that a fit ends with.
const (
	closely  = 1e-4
	maxSteps = 200
)

// Where all tasks have the same rows, what is expected of tasks that are all alike is the information, and
// in one more row and column what concerns the mean's variance.
func TestExpectedInformationOfTasksAlike(t *testing.T) {
	rows, _, p := testRows(t)
	e := *rows
	e.Tasks = make([][]mixedmodel.Task, len(rows.Tasks))
	for g, tasks := range rows.Tasks {
		e.Tasks[g] = slices.Repeat(rows.Tasks[0][3:4], len(tasks))
	}
	pt, err := e.at(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Information(t.Context(), pt)
	if err != nil {
		t.Fatal(err)
	}
	got, n := e.expected(pt), want.SymmetricDim()
	if got.SymmetricDim() != n+1 {
		t.Fatalf("order %d, want %d", got.SymmetricDim(), n+1)
	}
	for i := range n {
		for j := range n {
			if d := got.At(i, j) - want.At(i, j); math.Abs(d) > 1e-9*math.Sqrt(want.At(i, i)*want.At(j, j)) {
				t.Errorf("entry %d, %d is %v, want %v", i, j, got.At(i, j), want.At(i, j))
			}
		}
	}
}

// From a poor start, a climb by loadings or by their lengths is after few sums at the top that a far longer one finds, though the spread
// ends at zero, and one that begins there is at its end.
func TestClimbTakesFewSums(t *testing.T) {
	rows, _, p := testRows(t)
	scale := []float64{1, 1}
	free := Unknown()
	for _, lengths := range []bool{false, true} {
		if lengths {
			scale = nil
		}
		top, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, scale, free, 1e-9, 1000)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		before := rows.group.Net.Traffic()
		near, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, scale, free, closely, maxSteps)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		sums := rows.group.Net.Traffic().Minus(before).Rounds / int64(rows.group.Net.SumRounds())
		if gap := near.Penalized() - top.Penalized(); gap > 10*closely || sums > 60 {
			t.Errorf("lengths %v: %v above the top after %d sums", lengths, gap, sums)
		}
		again := rows.group.Net.Traffic()
		if _, _, err = rows.Maximize(t.Context(), near, scale, free, closely, maxSteps); err != nil {
			t.Fatal(err)
		}
		if sums := rows.group.Net.Traffic().Minus(again).Rounds / int64(rows.group.Net.SumRounds()); sums > 2 {
			t.Errorf("lengths %v: from there on %d sums more", lengths, sums)
		}
	}
}

// A climb that may take no step says that it has not arrived, and strengths that give no
// likelihood are an error.
func TestClimbThatCannotArrive(t *testing.T) {
	rows, _, p := testRows(t)
	free := Unknown()
	if _, converged, err := rows.Maximize(t.Context(), &Point{Prior: p}, []float64{1, 1}, free, closely, 1); converged || err != nil {
		t.Errorf("after one step: converged %v, %v", converged, err)
	}
	p.Loadings[0] = 1e200
	if _, _, err := rows.Maximize(t.Context(), &Point{Prior: p}, []float64{1, 1}, free, closely, 9); err == nil {
		t.Error("loadings out of range are no error")
	}
}
