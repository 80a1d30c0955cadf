package difalt

import (
	"fmt"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// Adapt fits the coefficients of new tasks to a frozen representation u (d x r):
//
//	b_t = argmin |X_t u b - y_t|^2 + ridge |b|^2,  b_t = b[t*r : (t+1)*r].
//
// Tasks with fewer samples than r, or with dependent columns of X_t u, get the
// solution of minimum norm and a status that says so, unless ridge is positive.
// It returns a *ParameterError unless ridge is from 0 to MaxRidge, and a *DataError that
// names the task, row and feature of a NaN or Inf.
func Adapt(u *kernel.Basis, tasks *kernel.Tasks, ridge float64) (b []float64, status []lsq.Status, err error) {
	if u == nil || tasks == nil {
		return nil, nil, fmt.Errorf("difalt: need a basis and tasks")
	}
	d, r := u.Dims()
	if tasks.Features() != d {
		return nil, nil, fmt.Errorf("difalt: the new tasks have %d features, the representation %d", tasks.Features(), d)
	}
	if !(ridge >= 0 && ridge <= MaxRidge) {
		return nil, nil, &ParameterError{"ridge", ridge, fmt.Sprintf("must be from 0 to %g", MaxRidge)}
	}
	if err := checkFinite(0, tasks); err != nil {
		return nil, nil, err
	}
	g := kernel.NewGroup(tasks, r)
	g.Minimize(u, ridge, kernel.NewWorkspace(tasks.MaxSamples(), d, r))
	return g.B, g.Status, nil
}
