package owners

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/private"
)

// Ridges are the strengths of the penalties, for a target of standard deviation 1. All are positive.
type Ridges struct {
	Intercept float64 // l0, of a_t^2
	Linear    float64 // l1, of the squares of mu at linear columns
	Curve     float64 // l1s, of the squares of mu at curve columns
	Direction float64 // l2, of |b_t|^2
}

// Privacy is a budget of differential privacy; see package private. It protects a task with all of its rows.
type Privacy struct {
	Epsilon   float64 // positive
	Delta     float64 // 0 stands for T^-1.1 for T tasks
	Colluding int     // nodes that may combine their knowledge
}

// A Config holds the choices of a training. All nodes must have the same, but for Train, Workers and
// Progress.
type Config struct {
	// Train[i][k] reports whether row k of table i is for training. nil trains on all rows.
	Train [][]bool
	// Rank of U; nil compares 0 to 3 by cross-validation. Private training requires one.
	Rank *int
	// Ridges replaces those of the cross-validation; it requires a Rank. nil searches.
	Ridges *Ridges
	// Private adds differential privacy; nil leaves it out.
	Private *Privacy
	Seed    uint64
	// Workers is the number of threads, 0 for all processors. Results do not depend on it.
	Workers int
	// Progress receives the stage and the completed share of it, from one goroutine; nil is silent.
	Progress func(stage string, share float64)
	// TaskColumn and TargetColumn are stored in the model.
	TaskColumn, TargetColumn string
}

const (
	folds = 5
	// A fold of a node has at least this number of training rows: with two owners, each learns the sums of
	// the other one over every fold, and those of a single row are the row.
	leastFold    = 5
	maxRank      = 20
	searchedRank = 3
	// largest is the largest size of a number in a table: sums over all rows of all nodes stay in their
	// range.
	largest = 1e12
)

// Stages are the stages that Config.Progress receives, in their order.
var Stages = []string{"columns", "cross-validation", "model"}

// A Candidate is a rank with the ridges that cross-validation chose for it.
type Candidate struct {
	Rank   int     `json:"rank"`
	RMSE   float64 `json:"cross_validated_rmse"` // over all nodes, in the unit of the target; NaN without cross-validation
	Chosen bool    `json:"chosen"`
}

// A Report describes a finished training. Scores are those of all nodes together, but in private training of
// the tables of this process.
type Report struct {
	// Scores of the model, first, and of simpler methods where rows were held out.
	Scores     []fit.Score
	Verdict    fit.Verdict
	Candidates []Candidate
	// Converged is false when U still moved at the last iteration.
	Converged bool
	// Notes are sentences for the user.
	Notes            []string
	Nodes, TaskCount int // over the network
	Traffic          wire.Traffic
	Private          *private.Account // nil unless Config.Private is set
	// Tasks yields the errors of every task of this process, computed when they are read.
	Tasks iter.Seq[fit.TaskScore]
}

// check reports the first fault of the configuration, which all nodes have alike.
func (c *Config) check(nodes int) error {
	switch {
	case c.Workers < 0:
		return fmt.Errorf("the number of workers is %d: must not be negative", c.Workers)
	case c.Rank != nil && (*c.Rank < 0 || *c.Rank > maxRank):
		return fmt.Errorf("the rank is %d: must be from 0 to %d", *c.Rank, maxRank)
	case c.Ridges != nil && c.Rank == nil:
		return errors.New("given ridges require a rank")
	case c.Private != nil && c.Rank == nil:
		return errors.New("private training requires a rank: choosing one by the data would cost budget")
	case c.Private != nil && c.Ridges != nil:
		return errors.New("private training takes no ridges: every process chooses its own")
	case c.Private != nil && c.Private.Colluding >= nodes:
		return fmt.Errorf("%d of %d nodes are to collude: nobody is left to be protected", c.Private.Colluding, nodes)
	}
	if r := c.Ridges; r != nil {
		for _, v := range []float64{r.Intercept, r.Linear, r.Curve, r.Direction} {
			if !(v >= 1e-9 && v <= 1e12) {
				return fmt.Errorf("a ridge is %v: must be from 1e-9 to 1e12", v)
			}
		}
	}
	if c.Private != nil {
		_, err := c.Private.account(2)
		return err
	}
	return nil
}

// A node is a hosted node: its table, and what follows from it.
type node struct {
	table    *dataset.Table
	chosen   []bool      // rows for training
	train    []bool      // those of positive weight among them
	own      []int       // its feature for every agreed one; -1 for a level that it lacks, which is 0
	tasks    []task      // those with training rows
	products [][]float64 // X'X (P x P, its upper triangle), X'y and y'y over the tasks, of every fold
}

// newNode returns the node of table i of this process, or the first fault of the table.
func (c *Config) newNode(i int, t *dataset.Table) (*node, error) {
	g, w, training, held := &node{table: t, train: make([]bool, t.Rows())}, t.Weights(), 0, 0
	switch {
	case !t.HasTarget():
		return g, errors.New("the table has no target column")
	case c.Train != nil && (len(c.Train) <= i || len(c.Train[i]) != t.Rows()):
		return g, fmt.Errorf("the choice of training rows does not have the %d rows of the table", t.Rows())
	case c.Private != nil && w != nil:
		return g, errors.New("private training takes no weights of rows")
	case c.Train != nil:
		g.chosen = c.Train[i]
	default:
		g.chosen = slices.Repeat([]bool{true}, t.Rows())
	}
	names, x := append(slices.Clone(t.Features()), c.TargetColumn, "weight"), make([]float64, len(t.Features()), len(t.Features())+2)
	for row := range t.Rows() {
		weight := 1.0
		if w != nil {
			weight = w[row]
		}
		for j, v := range append(t.X(x, row), t.Y(row), weight) {
			if math.Abs(v) > largest {
				return g, fmt.Errorf("row %d of the table, task %q, column %q: %v is above %g in size: take another unit",
					row+1, t.Tasks()[t.Task(row)], names[j], v, largest)
			}
		}
		if g.train[row] = g.chosen[row] && weight > 0; g.train[row] {
			training++
		}
		if !g.chosen[row] {
			held++
		}
	}
	var few error
	switch {
	case c.Private != nil && training > 0:
	case training < folds*leastFold:
		few = fmt.Errorf("the table has %s of positive weight: must have at least %d, so that sums hide a row",
			text.Plural(training, "training row"), folds*leastFold)
	case held > 0 && held < leastFold:
		few = fmt.Errorf("the table has %s: must have none or at least %d, so that sums hide a row",
			text.Plural(held, "held-out row"), leastFold)
	}
	if few != nil {
		return g, &Error{few, "its table has too few rows"}
	}
	return g, nil
}
