package difalt

import (
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/rounded"
	"github.com/difalt/difalt/internal/sizes"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A Problem has the data of a run: the tasks of every node that lives in this process. It is read only.
type Problem struct {
	// Nodes[i] has the tasks of node Hosted()[i] of the network; in one process, of node i. Without
	// SampleSplit, tasks with many more than d+1 samples are compressed to d+1 rows at the start
	// (kernel.Tasks.Compressed), where a run of 100 iterations gains. Results then agree with results from
	// all samples to rounding.
	Nodes []*kernel.Tasks
	// Start is the d x r start of the power iteration (Alg. 2, line 8), equal at all nodes. Nil draws
	// standard Gaussian entries from Options.Seed.
	Start *kernel.Basis
	// U0[i] is the orthonormal start of node Hosted()[i], such as Result.U of an earlier run for some of the
	// tasks. Nil, at all nodes, runs the spectral initialisation. AltGDmin and Accelerated compute with one U
	// and start from node 0's. Model.U is not orthonormal; Basis.Orthonormalize makes it so.
	U0 []*kernel.Basis
	// Truth is an orthonormal U*, of any rank, for measuring subspace distances; nil if it is unknown.
	Truth *kernel.Basis
}

// InProcess returns the problem of nodes that all live in this process, and their network, with Metropolis
// weights on a graph with a vertex for every node.
func InProcess(nodes []*kernel.Tasks, g *topology.Graph) (*Problem, *consensus.Network, error) {
	if g == nil || len(nodes) != g.Len() {
		return nil, nil, fmt.Errorf("difalt: need a graph with a vertex for each of the %d nodes", len(nodes))
	}
	weights, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return nil, nil, err
	}
	net, err := consensus.New(weights, nil)
	return &Problem{Nodes: nodes}, net, err
}

// Validate checks the data of the given hosted nodes for a representation of the given rank: shapes, and that
// all numbers are finite and in range. It returns a *DataError or a *ParameterError where one number is at
// fault.
func (p *Problem) Validate(hosted []int, rank int) error {
	if p == nil {
		return errNoTasks
	}
	if len(p.Nodes) != len(hosted) {
		const format = "difalt: the problem has the tasks of %d nodes, but this process hosts %d"
		return fmt.Errorf(format, len(p.Nodes), len(hosted))
	}
	switch {
	case len(p.Nodes) == 0:
		return errNoTasks
	case rank < 0:
		return &ParameterError{"Rank", rank, "must not be negative"}
	}
	for i, k := range p.Nodes {
		switch {
		case k == nil || k.Len() == 0:
			return &DataError{hosted[i], -1, -1, "the node has no tasks"}
		case k.Features() != p.Nodes[0].Features():
			why := fmt.Sprintf("%d features, but %d at node %d", k.Features(), p.Nodes[0].Features(), hosted[0])
			return &DataError{hosted[i], -1, -1, why}
		}
		if err := checkTasks(hosted[i], k); err != nil {
			return err
		}
	}
	d := p.Nodes[0].Features()
	switch {
	case rank > d:
		return &ParameterError{"Rank", rank, fmt.Sprintf("must be at most the %d features", d)}
	case p.U0 != nil && len(p.U0) != len(hosted):
		return fmt.Errorf("difalt: U0 has the starts of %d nodes: need %d", len(p.U0), len(hosted))
	}
	for i, u := range p.U0 {
		if u == nil {
			return fmt.Errorf("difalt: U0 of node %d is missing", hosted[i])
		}
		if err := checkBasis(fmt.Sprintf("U0 of node %d", hosted[i]), u, d, rank); err != nil {
			return err
		}
		if err := checkOrthonormal(fmt.Sprintf("U0 of node %d", hosted[i]), u); err != nil {
			return err
		}
	}
	if p.Start != nil {
		if err := checkBasis("Start", p.Start, d, rank); err != nil {
			return err
		}
	}
	if p.Truth == nil {
		return nil
	}
	_, r := p.Truth.Dims()
	if err := checkBasis("Truth", p.Truth, d, r); err != nil {
		return err
	}
	return checkOrthonormal("Truth", p.Truth)
}

// Within these bounds for the largest feature and the largest response of every node products of four
// numbers neither overflow nor underflow. Squares of coefficients are such products.
const leastNumber, mostNumber = 1e-60, 1e60

// checkTasks returns a *DataError for the first number of a node that is not finite, and for a node whose
// numbers are too large or too small.
func checkTasks(node int, k *kernel.Tasks) error {
	x, y := sizes.Largest(k)
	if finite(x) && finite(y) {
		for i, v := range []float64{x, y} {
			if v != 0 && !(v >= leastNumber && v <= mostNumber) {
				return &DataError{node, -1, -1, fmt.Sprintf("the largest %s is %.3g in size: it must be from %g to %g",
					[]string{"feature", "response"}[i], v, leastNumber, mostNumber)}
			}
		}
		return nil
	}
	row, single := make([]float64, k.Features()), ""
	if k.Storage() == kernel.Float32 {
		single = ", stored as float32, whose largest number is 3.4e38"
	}
	for t := range k.Len() {
		for i, y := range k.Y(t) {
			if !finite(y) {
				return &DataError{node, t, i, fmt.Sprintf("the response is %v", y)}
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

// checkBasis returns an error if u is not d x r, or has an entry that is not finite.
func checkBasis(name string, u *kernel.Basis, d, r int) error {
	if ud, ur := u.Dims(); ud != d || ur != r {
		return fmt.Errorf("difalt: %s is %d x %d: must be %d x %d", name, ud, ur, d, r)
	}
	for j := range r {
		for i, v := range u.Col(j) {
			if !finite(v) {
				return fmt.Errorf("difalt: %s, row %d, column %d is %v", name, i, j, v)
			}
		}
	}
	return nil
}

// checkOrthonormal returns an error if the columns of u are not orthonormal to the accuracy of float32.
func checkOrthonormal(name string, u *kernel.Basis) error {
	_, r := u.Dims()
	for j := range r {
		for i := range j + 1 {
			want := 0.0
			if i == j {
				want = 1
			}
			if product := rounded.Dot(u.Col(i), u.Col(j)); math.Abs(product-want) > 1e-5 {
				return fmt.Errorf("difalt: %s is not orthonormal: the product of columns %d and %d is %.6g", name,
					i, j, product)
			}
		}
	}
	return nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// A DataError reports a fault in the data of a node, or of all nodes.
type DataError struct {
	Node, Task, Row int // counted from 0; -1 if the fault concerns all of them
	Why             string
}

func (e *DataError) Error() string {
	if e.Node < 0 {
		return "difalt: " + e.Why
	}
	at := fmt.Sprintf("node %d", e.Node)
	if e.Task >= 0 {
		at += fmt.Sprintf(", task %d", e.Task)
	}
	if e.Row >= 0 {
		at += fmt.Sprintf(", row %d", e.Row)
	}
	return fmt.Sprintf("difalt: %s: %s", at, e.Why)
}
