package owners

import (
	"errors"
	"fmt"
	"iter"
	"math"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
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

// Privacy is a budget of differential privacy; see package private. What it protects is a task with all of
// its rows.
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
	// Folds of the cross-validation; 0 stands for 5.
	Folds int
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
	defaultFolds = 5
	maxFolds     = 20
	maxRank      = 20
	searchedRank = 3
	// largest is the largest size of a number in a table: sums over all rows of all nodes stay in their
	// range.
	largest = 1e12
)

// Stages are the stages that Config.Progress receives, in their order.
var Stages = []string{"columns", "cross-validation", "model"}

// A Candidate is a rank and the ridges that cross-validation chose for it.
type Candidate struct {
	Rank   int
	Ridges Ridges
	RMSE   float64 // of the cross-validation over all nodes, in the unit of the target; NaN without cross-validation
	Chosen bool
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
	Folds            int
	Nodes, TaskCount int // over the network
	Traffic          wire.Traffic
	Private          *private.Account // nil unless Config.Private is set
	tasks            iter.Seq[fit.TaskScore]
}

// Tasks returns the errors of every task of this process. They are computed when they are read.
func (r *Report) Tasks() iter.Seq[fit.TaskScore] {
	if r.tasks == nil {
		return func(func(fit.TaskScore) bool) {}
	}
	return r.tasks
}

// check reports the first fault of the configuration, which all nodes have alike.
func (c *Config) check(net *consensus.Network) error {
	switch {
	case c.Folds < 0 || c.Folds == 1 || c.Folds > maxFolds:
		return fmt.Errorf("the number of folds is %d: must be from 2 to %d", c.Folds, maxFolds)
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
	}
	if r := c.Ridges; r != nil {
		for _, v := range []float64{r.Intercept, r.Linear, r.Curve, r.Direction} {
			if !(v >= 1e-9 && v <= 1e12) {
				return fmt.Errorf("a ridge is %v: must be from 1e-9 to 1e12", v)
			}
		}
	}
	if p := c.Private; p != nil {
		if p.Colluding >= net.Len() {
			return fmt.Errorf("%d of %d nodes are to collude: nobody is left to be protected", p.Colluding, net.Len())
		}
		_, err := p.account(2)
		return err
	}
	return nil
}

// checkTable reports the first fault of table i of this process.
func (c *Config) checkTable(i int, t *dataset.Table) error {
	if !t.HasTarget() {
		return errors.New("the table has no target column")
	}
	if c.Train != nil && (len(c.Train) <= i || len(c.Train[i]) != t.Rows()) {
		return fmt.Errorf("the choice of training rows does not have the %d rows of the table", t.Rows())
	}
	if c.Private != nil && t.Weights() != nil {
		return errors.New("private training takes no weights of rows")
	}
	x, training := make([]float64, len(t.Features())), 0
	for row := range t.Rows() {
		at := func() string { return fmt.Sprintf("row %d of the table, task %q", row+1, t.Tasks()[t.Task(row)]) }
		if w := t.Weights(); w != nil && !(w[row] >= 0 && w[row] <= largest) {
			return fmt.Errorf("%s: the weight is %v: must be from 0 to %g", at(), w[row], largest)
		}
		if y := t.Y(row); !(math.Abs(y) <= largest) {
			return fmt.Errorf("%s: the target is %v: must be finite and at most %g in size", at(), y, largest)
		}
		for j, v := range t.X(x, row) {
			if math.Abs(v) > largest {
				return &Error{fmt.Errorf("%s, column %q: %v is above %g in size: take another unit", at(), t.Features()[j], v, largest), ""}
			}
		}
		if c.trains(i, t, row) {
			training++
		}
	}
	if training == 0 {
		return errors.New("the table has no training rows of positive weight")
	}
	return nil
}

// trains reports whether a row of table i is for training.
func (c *Config) trains(i int, t *dataset.Table, row int) bool {
	return (c.Train == nil || c.Train[i][row]) && (t.Weights() == nil || t.Weights()[row] > 0)
}

// A bar is a part of a stage. The number of its steps is unknown: each completes a tenth of the rest.
type bar struct {
	stage             string
	from, width, left float64
}

// begin reports the start of a part of a stage.
func (s *frame) begin(stage string, from, width float64) {
	s.bar = bar{stage, from, width, 1 / .9}
	s.tick()
}

// tick reports the end of a step.
func (s *frame) tick() {
	s.bar.left *= .9
	if s.c.Progress != nil {
		s.c.Progress(s.bar.stage, s.bar.from+s.bar.width*(1-s.bar.left))
	}
}
