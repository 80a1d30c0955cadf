package mixed

import (
	"context"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// TestNothing: a nil context and a table that is a nil pointer are errors, as a nil table is.
func TestNothing(t *testing.T) {
	var none context.Context
	var missing *Data
	rank, net := 1, network("path", 3)
	table := plainTable()
	in := Input{Table: table}
	list := []Input{in, in, in}
	m := check.OK(New(synthetic()))

	_, _, err := Fit(none, in, Options{})
	check.Error(t, err, "need a context")
	_, _, err = Together(none, list, net, Options{})
	check.Error(t, err, "need a context")
	_, _, err = Privately(none, list, net, Options{Rank: &rank}, Privacy{Epsilon: 1})
	check.Error(t, err, "need a context")
	_, err = m.Adapt(none, table)
	check.Error(t, err, "need a context")
	_, err = NewPreview(none, in, Options{}, 3)
	check.Error(t, err, "need a context")
	_, err = new(Report).OwnFits(none)
	check.Error(t, err, "need a context")

	_, _, err = Fit(t.Context(), Input{Table: missing}, Options{})
	check.Error(t, err, "there is no table")
	_, _, err = Together(t.Context(), []Input{in, {Table: missing}, in}, net, Options{})
	check.Error(t, err, "there is no table")
	_, err = m.Adapt(t.Context(), missing)
	check.Error(t, err, "there is no table")
	for _, owners := range []int{-1, 0, 2} {
		check.Error(t, Check(list, Options{}, nil, owners), "3 tables")
	}
	check.Error(t, Check(nil, Options{}, nil, 3), "0 tables")
	for _, table := range []Table{nil, missing} {
		if tasks := m.Repeats(table); tasks != nil {
			t.Errorf("tasks %q repeat in no table", tasks)
		}
	}
}
