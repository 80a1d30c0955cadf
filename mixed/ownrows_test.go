package mixed

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/internal/check"
)

// Own rows are unlike where a row, a level, a target, a weight, the task of a row, the choice of training
// rows, a column or a rule differs; they are alike in any order of rows and columns.
func TestOwnRowsUnlike(t *testing.T) {
	const rows, columns, rules = "other rows", "other columns", "other rules"
	in := mixture(t, 8, 6)
	change := func(f func(d *Data)) Input {
		d := in.Table.(*Data).clone()
		f(d)
		return Input{Table: d, HeldOut: in.HeldOut}
	}
	renamed := func(d *Data) { d.Names = append([]string{"age"}, d.Names[1:]...) }
	trained := slices.Index(in.HeldOut, false)
	for in.weight(trained) == 0 || in.HeldOut[trained] {
		trained++
	}
	held := slices.Clone(in.HeldOut)
	held[trained] = true
	turned, heldTurned := in.Table.(*Data).shuffled(3, in.HeldOut)
	turned = turned.columnsTurned()
	releveled := func(d *Data) { d.Values[1][trained] = 3 - d.Values[1][trained] }
	before := NewOwnRows([]Input{in}, Options{})
	for name, c := range map[string]struct {
		in   Input
		o    Options
		want string // how the clause begins
	}{
		"the same":             {in, Options{Workers: 3}, ""},
		"another order":        {Input{Table: turned, HeldOut: heldTurned}, Options{}, ""},
		"a held-out row":       {change(func(d *Data) { d.Targets[slices.Index(in.HeldOut, true)]++ }), Options{}, ""},
		"a number":             {change(func(d *Data) { d.Values[2][trained]++ }), Options{}, rows},
		"a level":              {change(releveled), Options{}, rows},
		"a target":             {change(func(d *Data) { d.Targets[trained]++ }), Options{}, rows},
		"a weight":             {change(func(d *Data) { d.Weighting[trained] *= 2 }), Options{}, rows},
		"a row less":           {change(func(d *Data) { d.Weighting[trained] = 0 }), Options{}, rows},
		"the task of a row":    {change(func(d *Data) { d.TaskOf[trained] = 5 - d.TaskOf[trained] }), Options{}, rows},
		"other training rows":  {Input{Table: in.Table, HeldOut: held}, Options{}, rows},
		"the name of a column": {change(renamed), Options{}, columns},
		"a rule":               {in, strictly, rules},
	} {
		got := NewOwnRows([]Input{c.in}, c.o).Unlike(before)
		right := (got == "") == (c.want == "") && strings.HasPrefix(got, c.want)
		check.FailIf(t, !right, "%s: %q, want %q", name, got, c.want)
	}
}

// The model of a process that has trained with others describes its rows, in memory and in its file. That of
// a process which has the tables of all owners does not, nor does the model of a fit.
func TestOwnRowsOfModel(t *testing.T) {
	list := cut(mixture(t, 9, 12), 2)
	models, errs := apart(t, list, [][]int{{0}, {1}}, Options{Disclosure: open.Disclosure}, nil)
	check.Done(errs[0])
	path := filepath.Join(t.TempDir(), "m.npz")
	write := func(m *Model) *OwnRows {
		f := check.OK(os.Create(path))
		check.Done(m.Save(f))
		check.Done(f.Close())
		return check.OK(OwnRowsOf(path))
	}
	for i, m := range models {
		own := NewOwnRows(list[i:i+1], Options{Disclosure: open.Disclosure})
		if got := write(m); got == nil || *got != *own || *m.Parameters().OwnRows != *own {
			t.Errorf("process %d: %+v, want %+v", i, got, own)
		}
	}
	all, _, err := Together(t.Context(), list, check.OK(consensus.New(weightsOf("path", 2), nil)), open)
	check.Done(err)
	one, _, err := Fit(t.Context(), list[0], Options{})
	check.Done(err)
	for name, m := range map[string]*Model{"all owners": all, "a fit": one} {
		got := write(m)
		check.FailIf(t, got != nil, "%s: %+v", name, got)
	}
	check.Done(os.WriteFile(path, []byte("no model"), 0o600))
	_, err = OwnRowsOf(path)
	check.FailIf(t, err == nil, "a file that is no model has rows")
}
