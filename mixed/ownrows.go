package mixed

import (
	"fmt"
	"hash/fnv"

	"github.com/difalt/difalt/internal/npz"
)

// OwnRows describe the training rows of this process in a training with other owners, as its tables have
// them: before any rule. Two trainings on different rows disclose the difference, so a node compares its rows
// with the rows of the model that it would replace. They contain no row, but a reader who guesses all rows
// of a process can confirm the guess.
type OwnRows struct {
	Rows    int    `json:"rows"`    // for training, of positive weight
	Digest  uint32 `json:"digest"`  // sum of the hashes of these rows: their order does not matter
	Columns uint32 `json:"columns"` // sum of the hashes of the names of columns
	// Rules decide which of the rows are in totals.
	Rules Disclosure `json:"rules"`
}

// NewOwnRows describes the rows of the tables of a process.
func NewOwnRows(list []Input, o Options) *OwnRows {
	own := &OwnRows{Rules: o.Disclosure}
	for i := range list {
		own.add(&list[i])
	}
	return own
}

// add adds the rows of a table.
func (o *OwnRows) add(in *Input) {
	t := in.Table
	for _, column := range t.Schema().Columns {
		o.Columns += hashOf(column)
	}
	features := t.Features()
	names := make([]uint32, len(features))
	for j, name := range features {
		names[j] = hashOf(name)
	}
	tasks := make([]uint32, len(t.Tasks()))
	for k, name := range t.Tasks() {
		tasks[k] = hashOf(name)
	}
	x := make([]float64, len(features))
	for i := range t.Rows() {
		if !in.trains(i) || !(in.weight(i) > 0) {
			continue
		}
		o.Rows++
		cells := uint32(0) // a level that this row does not have adds nothing, so other rows may add levels
		for j, v := range t.X(x, i) {
			if v != 0 {
				cells += digest([]float64{float64(names[j])}, v)
			}
		}
		o.Digest += digest([]float64{float64(tasks[t.Task(i)]), float64(cells), in.weight(i)}, t.Y(i))
	}
}

// hashOf returns the hash of a name.
func hashOf(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it cannot fail
	return h.Sum32()
}

// Unlike describes how the rows of a training differ from the rows of a training before, in a clause; it is
// empty where they do not.
func (o *OwnRows) Unlike(before *OwnRows) string {
	switch {
	case o.Columns != before.Columns:
		return fmt.Sprintf("other columns, so that nobody can say whether rows are the same (%d rows then, %d now)",
			before.Rows, o.Rows)
	case o.Rows != before.Rows || o.Digest != before.Digest:
		return fmt.Sprintf("other rows (%d then, %d now)", before.Rows, o.Rows)
	case o.Rules != before.Rules:
		return "other rules, so that other rows may be in totals"
	}
	return ""
}

// OwnRowsOf returns what a model file says about the rows of the process that has written it; nil where it
// says nothing, as the model of a fit or of a private training.
func OwnRowsOf(path string) (*OwnRows, error) {
	r, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := readHeader(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h.OwnRows, nil
}
