package difalt

import (
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A Problem is the data of a run: the tasks of every node that lives in this
// process. It is read only.
type Problem struct {
	// Nodes[i] holds the tasks of node Hosted()[i] of the network; in one process, of
	// node i.
	Nodes []*kernel.Tasks

	// Start is the d x r start of the power iteration (Alg. 2, line 8); nil draws
	// standard Gaussian entries from Options.Seed. The same at all nodes.
	Start *kernel.Basis
	// U0[i] is where node Hosted()[i] starts: after tasks were added or measured anew
	// (kernel.Tasks.WithResponses keeps their samples), the U of the last result. Nil, at
	// all nodes, runs the spectral initialisation. AltGDmin and, along consensus.Tree, the
	// accelerated methods compute with one U, and start from node 0's.
	U0 []*kernel.Basis
	// Moments, d x d, is the mean of x x' over the samples of all nodes, if they have agreed
	// on it: the scaled and accelerated methods then take steps that do not mind if
	// features are correlated. The same at all nodes. If it is nil, nodes find out whether
	// features have offsets or sizes that matter, and if so take their means and
	// variances for it; those of about the same size and a mean near 0 are taken as they
	// are. Without a ridge they compute on a copy of the samples with columns divided by powers
	// of two.
	Moments *mat.SymDense
	// Truth is an orthonormal U*, for measuring the subspace distance; nil if it is
	// not known.
	Truth *kernel.Basis
}

// validate checks what a process can check by itself.
func (p *Problem) validate(hosted []int, o *Options) error {
	if len(p.Nodes) != len(hosted) {
		return fmt.Errorf("difalt: problem has tasks of %d nodes, but %d nodes of the network live in this process", len(p.Nodes), len(hosted))
	}
	if err := p.checkNodes(hosted); err != nil {
		return err
	}
	d := p.Nodes[0].Features()
	if o.Rank > d {
		return &ParameterError{"Rank", o.Rank, fmt.Sprintf("must not be more than the %d features", d)}
	}
	if err := p.checkStarts(hosted, d, o.Rank); err != nil {
		return err
	}
	if p.Moments != nil {
		if err := p.checkMoments(d); err != nil {
			return err
		}
	}
	if p.Truth == nil {
		return nil
	}
	// The truth may have another rank than the model.
	if td, _ := p.Truth.Dims(); td != d {
		return fmt.Errorf("difalt: Truth has %d rows, want %d", td, d)
	}
	if err := finiteBasis("Truth", p.Truth); err != nil {
		return err
	}
	return checkOrthonormal("Truth", p.Truth)
}

// checkOrthonormal allows for columns that were written as float32: distances are sines only from orthonormal ones.
func checkOrthonormal(name string, u *kernel.Basis) error {
	_, r := u.Dims()
	for j := range r {
		for i := range j + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if product := floats.Dot(u.Col(i), u.Col(j)); math.Abs(product-want) > 1e-5 {
				return fmt.Errorf("difalt: %s is not orthonormal: the product of columns %d and %d is %.6g", name, i, j, product)
			}
		}
	}
	return nil
}

// checkNodes checks that all nodes have tasks of one number of features, and finite ones.
func (p *Problem) checkNodes(hosted []int) error {
	for i, k := range p.Nodes {
		if k == nil || k.Len() == 0 {
			return &DataError{hosted[i], -1, -1, "node has no tasks"}
		}
		if d := p.Nodes[0].Features(); k.Features() != d {
			return &DataError{hosted[i], -1, -1, fmt.Sprintf("tasks of %d features, but of %d at node %d", k.Features(), d, hosted[0])}
		}
		if err := checkFinite(hosted[i], k); err != nil {
			return err
		}
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

// A number of float32 below 1.2e-38 loses digits; an entry 1e7 times smaller than the largest matters.
const leastSingle = 1e-31

// checkFinite names the first entry of a node's data that is NaN or Inf.
func checkFinite(node int, k *kernel.Tasks) error {
	x, y := k.MaxAbs()
	if k.Storage() == kernel.Float32 && x > 0 && x < leastSingle {
		return &DataError{node, -1, -1, fmt.Sprintf("the largest feature is %.2g, and float32 has few digits of what is below %.2g: take another unit, or float64", x, leastSingle)}
	}
	if finite(x) && finite(y) {
		return nil
	}
	row, single := make([]float64, k.Features()), ""
	if k.Storage() == kernel.Float32 {
		single = ", kept as float32, whose largest number is 3.4e38"
	}
	for t := range k.Len() {
		y := k.Y(t)
		for i := range y {
			if !finite(y[i]) {
				return &DataError{node, t, i, fmt.Sprintf("y is %v", y[i])}
			}
			for j, v := range k.Row(row, t, i) {
				if !finite(v) {
					return &DataError{node, t, i, fmt.Sprintf("feature %d is %v%s", j, v, single)}
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

// A ParameterError is a field of Options that is out of range.
type ParameterError struct {
	Name  string // of the field
	Value any
	Why   string
}

func (e *ParameterError) Error() string {
	return fmt.Sprintf("difalt: %s is %v: %s", e.Name, e.Value, e.Why)
}

// A DataError is a fault in the data of a node.
type DataError struct {
	Node, Task, Row int // counted from 0; -1 where it concerns all of them
	Why             string
}

func (e *DataError) Error() string {
	at := fmt.Sprintf("node %d", e.Node)
	if e.Task >= 0 {
		at += fmt.Sprintf(", task %d", e.Task)
	}
	if e.Row >= 0 {
		at += fmt.Sprintf(", row %d", e.Row)
	}
	return fmt.Sprintf("difalt: %s: %s", at, e.Why)
}

var errNoProblem = errors.New("difalt: need a problem and a network")

// InProcess returns the problem of nodes with these tasks that all live in this process, and
// their network with Metropolis weights on a graph, which has a vertex for each of them.
func InProcess(nodes []*kernel.Tasks, g *topology.Graph) (*Problem, *consensus.Network, error) {
	if g == nil || len(nodes) != g.Len() {
		return nil, nil, fmt.Errorf("difalt: there are %d nodes: need a graph of as many", len(nodes))
	}
	weights, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return nil, nil, err
	}
	net, err := consensus.New(weights, nil)
	return &Problem{Nodes: nodes}, net, err
}

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
