// Package owners trains a model on the tables of several owners, who exchange sums over all nodes and nothing
// else.
//
// The target of task t is modelled as
//
//	y = a_t + x'(mu + U b_t) + noise
//
// where x holds the standardised features and fixed natural cubic splines, U is orthonormal and acts on the
// linear columns. [Train] minimises over mu, U, a_t and b_t
//
//	sum_t |y_t - a_t 1 - X_t (mu + U b_t)|^2 + l0 a_t^2 + l2 |b_t|^2 + l1 |mu linear|^2 + l1s |mu curves|^2
//
// by alternation. Given U, a node eliminates a_t and b_t of its tasks, and mu follows from one sum (P(P+1)/2
// + P numbers). Given mu, package difalt finds U along the tree (AltGDmin of the paper, accelerated): node g
// takes X mu out of y_t, and a_t by the projection I - c 1 1', exactly. The ridges and the rank, 0 to 3,
// minimise the error of 5-fold cross-validation within tasks, where a node contributes one sum of squares
// per candidate.
//
// Everything that leaves a node is a term of a sum over all nodes, and package consensus masks it;
// docs/privacy.md lists the sums. Decisions follow from sums, so all nodes make the same ones, and the
// parameters have the same bits whether nodes live in one process or in several. With [Privacy] the sums have
// noise and an account.
//
// An error has two texts. Error returns the local one, for the owner. Other nodes receive PublicText: a kind,
// and the name of a column at most.
package owners

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/private"
)

// Privacy is a budget of differential privacy; see package private. It protects a task with all of its rows.
type Privacy struct {
	Epsilon   float64 // positive
	Delta     float64 // 0 stands for T^-1.1 for T tasks
	Colluding int     // nodes that may combine their knowledge
}

// account returns the budget of a private training of that number of tasks.
func (p *Privacy) account(tasks int) (*private.Account, error) {
	delta := p.Delta
	if delta == 0 {
		delta = private.DefaultDelta(tasks)
	}
	return private.NewAccount(p.Epsilon, delta, p.Colluding)
}

// A Config holds the choices of a training. All nodes must have the same, but for Train, Workers and
// Progress.
type Config struct {
	// Train[i][k] reports whether row k of table i is for training. nil trains on all rows.
	Train [][]bool
	// Rank of U; nil compares 0 to 3 by cross-validation. Private training requires one.
	Rank *int
	// Private adds differential privacy; nil leaves it out.
	Private *Privacy
	Seed    uint64
	// Workers is the number of threads, 0 for all processors. Results do not depend on it.
	Workers int
	// Progress receives the stage and the completed share of it, from one goroutine; nil is silent.
	Progress func(stage string, share float64)
	// TaskColumn and TargetColumn are stored in the models.
	TaskColumn, TargetColumn string
}

// Stages are the stages that Config.Progress receives, in their order.
var Stages = []string{"columns", "cross-validation", "model"}

// A Candidate is a rank with the ridges that cross-validation chose for it.
type Candidate struct {
	Rank   int     `json:"rank"`
	RMSE   float64 `json:"cross_validated_rmse"` // in the unit of the target
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
	Traffic          transport.Traffic
	Private          *private.Account // nil unless Config.Private is set
	// Tasks yields the errors of every task of this process, computed when they are read.
	Tasks iter.Seq[fit.TaskScore]
}

// maxRank is the largest rank that may be given.
const maxRank = 20

// check reports the first fault of the configuration, which all nodes have alike.
func (c *Config) check(nodes int) error {
	switch {
	case c.Workers < 0:
		return fmt.Errorf("the number of workers is %d: must not be negative", c.Workers)
	case c.Rank != nil && (*c.Rank < 0 || *c.Rank > maxRank):
		return fmt.Errorf("the rank is %d: must be from 0 to %d", *c.Rank, maxRank)
	case c.Private == nil:
		return nil
	case c.Rank == nil:
		return errors.New("private training requires a rank: choosing one by the data would cost budget")
	case c.Private.Colluding >= nodes:
		return fmt.Errorf("%d of %d nodes are to collude: nobody is left to be protected", c.Private.Colluding, nodes)
	}
	_, err := c.Private.account(2)
	return err
}

// protocol numbers what nodes of a training compute together: the sums that they exchange, their order, and
// what follows from them. Builds with the same number train together, whatever their versions; others
// refuse each other. A change of Train that an older build would not follow step by step takes the next
// number.
const protocol = 1

// Settings lists the protocol, the options, and the names and kinds of the columns of a table. All nodes must
// have the same; whoever calls Train compares them before.
func Settings(t *dataset.Table, c *Config) (list []consensus.Setting) {
	add := func(name string, value any) {
		text, _ := json.Marshal(value) // texts and numbers
		list = append(list, consensus.Setting{Name: name, Value: strings.Trim(string(text), `"`)})
	}
	add("protocol of the training", protocol)
	add("target", c.TargetColumn)
	add("task", c.TaskColumn)
	add("seed", c.Seed)
	add("rank", c.Rank)
	add("differential privacy", c.Private)
	for k, name := range t.Schema().Columns {
		kind := "numbers"
		if levels, coded := t.Schema().Levels(name); coded {
			if kind = "levels"; c.Private != nil { // which are public then, and the same
				kind = fmt.Sprintf("levels of digest %.8x", sha256.Sum256(fmt.Appendf(nil, "%q", levels)))
			}
		}
		add(fmt.Sprintf("column %d", k+1), name)
		add("kind of column "+name, kind)
	}
	return list
}
