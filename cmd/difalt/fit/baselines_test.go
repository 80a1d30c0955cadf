package fit

import (
	"math"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/dataset"
)

// twelve rows of two tasks for the numbers of scikit-learn below.
const twelve = `task,a,b,y
p,1,2,3
p,2,1,4
p,3,5,9
p,4,2,7
p,5,8,14
p,6,1,8
q,2,2,1
q,1,4,0
q,5,3,3
q,3,9,-2
q,4,1,4
q,6,6,2
`

// Ridge regressions equal those of scikit-learn 1.9:
//
//	Z = StandardScaler().fit_transform(X)
//	Ridge(alpha=2).fit(Z, y): coef_, intercept_; and Ridge(alpha=3).fit(Z[:6], y[:6])
func TestRidgesAreScikitLearns(t *testing.T) {
	tab, err := dataset.ReadCSV(strings.NewReader(twelve), dataset.TableOptions{Task: "task", Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if err := tab.AssignBlocks(2); err != nil {
		t.Fatal(err)
	}
	c := testConfig(t, 2, 0)
	d, err := newDesign(t.Context(), tab, &c)
	if err != nil {
		t.Fatal(err)
	}
	unscale := func(theta []float64) []float64 {
		out := make([]float64, len(theta))
		for j, v := range theta {
			out[j] = v * d.TargetScale
		}
		out[len(out)-1] += d.Target
		return out
	}
	_, all, err := d.foldGrams(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	single := d.singles(t.Context(), []int{0, 1}, 3, 1)
	for _, c := range []struct {
		what      string
		got, want []float64
	}{
		{"pooled", all.solve(2), []float64{1.5862942908138373, -0.12619613782140643, 4.416666666666667}},
		{"single", single.of(0), []float64{1.4348405207268495, 1.816815971802057, 7.8419915185124776}},
	} {
		for j, v := range unscale(c.got) {
			if math.Abs(v-c.want[j]) > 1e-8 {
				t.Errorf("%s: entry %d is %v, want %v", c.what, j, v, c.want[j])
			}
		}
	}
}
