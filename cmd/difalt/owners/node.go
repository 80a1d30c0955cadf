package owners

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
	"gonum.org/v1/gonum/floats"
)

const (
	folds = 5
	// A fold of a node has at least this number of training rows: with two owners, each learns the sums of
	// the other one over every fold, and those of a single row are the row.
	leastFold = 5
	// largest is the largest size of a number in a table: sums over all rows of all nodes stay in their
	// range.
	largest = 1e12
	fewRows = "its table has too few rows"
)

// A node is a hosted node: its table, and what follows from it.
type node struct {
	table    *dataset.Table
	train    []bool      // rows for training that have a positive weight
	held     []bool      // rows that are not for training
	own      []int       // its feature for every agreed one; -1 for a level that it lacks, which is 0
	tasks    []task      // those with training rows
	products [][]float64 // X'X (P x P, its upper triangle), X'y and y'y over the tasks, of every fold
}

// newNode returns the node of table i of this process, or the first fault of the table.
func (c *Config) newNode(i int, t *dataset.Table) (*node, error) {
	g, w := &node{table: t, train: make([]bool, t.Rows()), held: make([]bool, t.Rows())}, t.Weights()
	switch {
	case !t.HasTarget():
		return g, errors.New("the table has no target column")
	case c.Train != nil && (len(c.Train) <= i || len(c.Train[i]) != t.Rows()):
		return g, fmt.Errorf("the choice of training rows does not have the %d rows of the table", t.Rows())
	case c.Private != nil && w != nil:
		return g, errors.New("private training takes no weights of rows")
	}
	d, names := len(t.Features()), append(slices.Clone(t.Features()), c.TargetColumn, "weight")
	x := make([]float64, d, d+2)
	counts := map[bool]int{}
	for row := range t.Rows() {
		weight := 1.0
		if w != nil {
			weight = w[row]
		}
		for j, v := range append(t.X(x, row), t.Y(row), weight) {
			if math.Abs(v) > largest {
				const format = "row %d of the table, task %q, column %q: %v is above %g in size: take another unit"
				return g, fmt.Errorf(format, row+1, t.Tasks()[t.Task(row)], names[j], v, largest)
			}
		}
		g.held[row] = c.Train != nil && !c.Train[i][row]
		if g.train[row] = !g.held[row] && weight > 0; g.train[row] || g.held[row] {
			counts[g.train[row]]++
		}
	}
	switch training, held := counts[true], counts[false]; {
	case c.Private != nil && training > 0:
	case training < folds*leastFold:
		return g, &Error{fmt.Errorf("the table has %s of positive weight: must have at least %d, so that sums "+
			"hide a row", text.Plural(training, "training row"), folds*leastFold), fewRows}
	case held > 0 && held < leastFold:
		return g, &Error{fmt.Errorf("the table has %s: must have none or at least %d, so that sums hide a row",
			text.Plural(held, "held-out row"), leastFold), fewRows}
	}
	return g, nil
}

// reader returns a function that reads a row: its agreed features, which are valid until the next call, with
// room for one more, and its target.
func (g *node) reader() func(row int) ([]float64, float64) {
	own, x := make([]float64, len(g.table.Features())), make([]float64, len(g.own), len(g.own)+1)
	return func(row int) ([]float64, float64) {
		g.table.X(own, row)
		for j, k := range g.own {
			if x[j] = 0; k >= 0 {
				x[j] = own[k]
			}
		}
		return x, g.table.Y(row)
	}
}

// hash returns a number below n that follows from a text and the number of a table.
func hash(text string, table, n int) int {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s", table, text))
	return int(binary.LittleEndian.Uint64(sum[:]) % uint64(n))
}

const leastBuckets, mostBuckets, tables, fingerprints = 1 << 6, 1 << 20, 20, 1 << 20

// union returns the different levels of a column that the nodes have, in the same order at all nodes. Those
// that no table of this process has are numbered. The nodes sort their levels into the buckets of a table by
// a hash. To a bucket a node adds 1, a fingerprint of its level and the square of that. If a bucket has
// different levels, there is another table, of twice the size up to a limit.
func (s *frame) union(column string) []string {
	for table := range tables {
		n, known, list, clash := min(leastBuckets<<table, mostBuckets), make(map[int]string), []string(nil), false
		sum := s.sum(3*n, func(i int, out []float64) {
			levels, _ := s.nodes[i].table.Schema().Levels(column)
			for _, text := range levels {
				b, d := hash(text, table, n), float64(hash(text, -1, fingerprints))
				known[b] = text
				floats.Add(out[3*b:][:3], []float64{1, d, d * d})
			}
		})
		for b := range n {
			// By Cauchy and Schwarz, k times the sum of k squares is the square of the sum if all are the
			// same, and larger otherwise.
			if v := sum[3*b:]; v[0]*v[2] != v[1]*v[1] {
				clash = true
			} else if v[0] > 0 {
				list = append(list, cmp.Or(known[b], fmt.Sprintf("(level %d, of other owners)", len(list)+1)))
			}
		}
		if !clash {
			return list
		}
	}
	err := fmt.Errorf("column %q has too many levels", column)
	panic(ended{&Error{err, err.Error()}})
}

// features agrees on the features of all nodes: those of a categorical column are the levels of all nodes.
// In private training levels are public, and settings have compared them.
func (s *frame) features() {
	first := s.nodes[0].table.Schema()
	s.schema = &mixed.Schema{Columns: first.Columns}
	for _, column := range first.Columns {
		levels, coded := first.Levels(column)
		if coded && s.c.Private == nil {
			levels = s.union(column)
		}
		s.level = append(s.level, slices.Repeat([]bool{coded}, max(len(levels), 1))...)
		if coded {
			s.schema.Categories = append(s.schema.Categories, mixed.Category{Column: column, Levels: levels})
		}
	}
	for _, g := range s.nodes {
		for _, name := range s.schema.Features() {
			g.own = append(g.own, slices.Index(g.table.Features(), name))
		}
	}
}
