package fit

import (
	"math"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/mixedmodel"
)

// Where all tasks have the same rows, what is expected of tasks that are all alike is the information, and
// in one more row and column what concerns the mean's variance.
func TestExpectedInformationOfTasksAlike(t *testing.T) {
	f, p := testEvidence(t)
	e := *f.evidence
	e.tasks = make([][]mixedmodel.Task, len(f.evidence.tasks))
	for g, tasks := range f.evidence.tasks {
		e.tasks[g] = slices.Repeat(f.evidence.tasks[0][3:4], len(tasks))
	}
	pt, err := e.at(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.information(t.Context(), pt)
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
	f, p := testEvidence(t)
	scale := []float64{1, 1}
	free := known{math.NaN(), math.NaN(), math.NaN()}
	for _, lengths := range []bool{false, true} {
		if lengths {
			scale = nil
		}
		top, converged, err := f.evidence.maximize(t.Context(), &point{Prior: p}, scale, free, 1e-9, 1000)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		before := f.net.Traffic()
		near, converged, err := f.evidence.maximize(t.Context(), &point{Prior: p}, scale, free, closely, stepsMost)
		if err != nil || !converged {
			t.Fatal(converged, err)
		}
		sums := f.net.Traffic().Minus(before).Rounds / int64(f.net.SumRounds())
		if gap := near.penalized() - top.penalized(); gap > 10*closely || sums > 60 {
			t.Errorf("lengths %v: %v above the top after %d sums", lengths, gap, sums)
		}
		again := f.net.Traffic()
		if _, _, err = f.evidence.maximize(t.Context(), near, scale, free, closely, stepsMost); err != nil {
			t.Fatal(err)
		}
		if sums := f.net.Traffic().Minus(again).Rounds / int64(f.net.SumRounds()); sums > 2 {
			t.Errorf("lengths %v: from there on %d sums more", lengths, sums)
		}
	}
}

// A climb that may take no step says that it has not arrived, and strengths that give no
// likelihood are an error.
func TestClimbThatCannotArrive(t *testing.T) {
	f, p := testEvidence(t)
	free := known{math.NaN(), math.NaN(), math.NaN()}
	if _, converged, err := f.evidence.maximize(t.Context(), &point{Prior: p}, []float64{1, 1}, free, closely, 1); converged || err != nil {
		t.Errorf("after one step: converged %v, %v", converged, err)
	}
	p.Loadings[0] = 1e200
	if _, _, err := f.evidence.maximize(t.Context(), &point{Prior: p}, []float64{1, 1}, free, closely, 9); err == nil {
		t.Error("loadings out of range are no error")
	}
}
