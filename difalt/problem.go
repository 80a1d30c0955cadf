package difalt

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/kernel"
)

// A Problem is the data of a run: the tasks of every node that lives in this
// process. It is read only.
type Problem struct {
	// Nodes[i] holds the tasks of node Hosted()[i] of the network's mixer; in one
	// process, of node i.
	Nodes []*kernel.Tasks

	// Start is the d x r start of the power iteration (Alg. 2, line 8); nil draws
	// standard Gaussian entries from Options.Seed.
	Start *kernel.Basis
	// U0[i] is where node Hosted()[i] starts: after tasks were added, the U of the last
	// result. Nil runs the spectral initialisation.
	U0 []*kernel.Basis
	// Truth is an orthonormal U*, for measuring the subspace distance; nil if it is
	// not known.
	Truth *kernel.Basis

	// TotalTasks and TotalSamples count the tasks and samples of the whole network.
	// They may be zero when all its nodes live in this process.
	TotalTasks, TotalSamples int
}

// validate checks the problem for a network of l nodes of which hosted live here,
// and fills in the totals.
func (p *Problem) validate(l int, hosted []int, o *Options) (*Problem, error) {
	if len(p.Nodes) != len(hosted) {
		return nil, fmt.Errorf("difalt: problem has tasks of %d nodes, but %d nodes of the network live in this process", len(p.Nodes), len(hosted))
	}
	q := *p
	if err := q.checkNodes(hosted); err != nil {
		return nil, err
	}
	if err := q.count(len(hosted) == l); err != nil {
		return nil, err
	}
	d := q.Nodes[0].Features()
	if o.Rank > min(d, q.TotalTasks) {
		return nil, fmt.Errorf("difalt: Rank is %d, more than min(d, T) = min(%d, %d)", o.Rank, d, q.TotalTasks)
	}
	if err := q.checkStarts(hosted, d, o.Rank); err != nil {
		return nil, err
	}
	if q.Truth != nil {
		// The truth may have another rank than the model.
		if td, _ := q.Truth.Dims(); td != d {
			return nil, fmt.Errorf("difalt: Truth has %d rows, want %d", td, d)
		}
		if err := finiteBasis("Truth", q.Truth); err != nil {
			return nil, err
		}
	}
	return &q, nil
}

// checkNodes checks that all nodes have tasks of one number of features, and finite ones.
func (p *Problem) checkNodes(hosted []int) error {
	for i, k := range p.Nodes {
		if k == nil || k.Len() == 0 {
			return fmt.Errorf("difalt: node %d has no tasks", hosted[i])
		}
		if d := p.Nodes[0].Features(); k.Features() != d {
			return fmt.Errorf("difalt: node %d has tasks of %d features, node %d of %d", hosted[i], k.Features(), hosted[0], d)
		}
		if err := checkFinite(hosted[i], k); err != nil {
			return err
		}
	}
	return nil
}

// count sets the total numbers of tasks and samples if all nodes live in this
// process, and otherwise checks what the caller says.
func (p *Problem) count(all bool) error {
	tasks, samples := 0, 0
	for _, k := range p.Nodes {
		tasks += k.Len()
		samples += k.TotalSamples()
	}
	if all {
		for _, c := range []struct {
			name      string
			got, want int
		}{{"TotalTasks", p.TotalTasks, tasks}, {"TotalSamples", p.TotalSamples, samples}} {
			if c.got != 0 && c.got != c.want {
				return fmt.Errorf("difalt: %s is %d, but the nodes hold %d", c.name, c.got, c.want)
			}
		}
		p.TotalTasks, p.TotalSamples = tasks, samples
	}
	if p.TotalTasks < tasks || p.TotalSamples < samples {
		return fmt.Errorf("difalt: TotalTasks is %d and TotalSamples %d, but the nodes of this process alone hold %d and %d", p.TotalTasks, p.TotalSamples, tasks, samples)
	}
	if samples == 0 {
		return errors.New("difalt: the tasks have no samples")
	}
	return nil
}

// checkStarts checks the bases from which a run or its initialisation starts.
func (p *Problem) checkStarts(hosted []int, d, r int) error {
	check := func(name string, u *kernel.Basis) error {
		if ud, ur := u.Dims(); ud != d || ur != r {
			return fmt.Errorf("difalt: %s is %d x %d, want %d x %d", name, ud, ur, d, r)
		}
		return finiteBasis(name, u)
	}
	if len(p.U0) != 0 && len(p.U0) != len(hosted) {
		return fmt.Errorf("difalt: U0 has the starts of %d nodes, want %d", len(p.U0), len(hosted))
	}
	for i, u := range p.U0 {
		if u == nil {
			return fmt.Errorf("difalt: U0 of node %d is missing", hosted[i])
		}
		if err := check(fmt.Sprintf("U0 of node %d", hosted[i]), u); err != nil {
			return err
		}
	}
	if p.Start == nil {
		return nil
	}
	return check("Start", p.Start)
}

// checkFinite names the first entry of a node's data that is NaN or Inf.
func checkFinite(node int, k *kernel.Tasks) error {
	row := make([]float64, k.Features())
	for t := range k.Len() {
		y := k.Y(t)
		for i := range y {
			if !finite(y[i]) {
				return fmt.Errorf("difalt: node %d, task %d, row %d: y is %v", node, t, i, y[i])
			}
			for j, v := range k.Row(row, t, i) {
				if !finite(v) {
					return fmt.Errorf("difalt: node %d, task %d, row %d, feature %d: X is %v", node, t, i, j, v)
				}
			}
		}
	}
	return nil
}

func finiteBasis(name string, u *kernel.Basis) error {
	_, r := u.Dims()
	for j := range r {
		for i, v := range u.Col(j) {
			if !finite(v) {
				return fmt.Errorf("difalt: %s, row %d, column %d is %v", name, i, j, v)
			}
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
