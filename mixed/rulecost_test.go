package mixed

import (
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// The cost of the rules of owners on tables of others, each cut into three owners by tasks. DIFALT_TABLES is
// a pattern of CSV files with a header; column task names the task, y is the target, and rows with another
// held than 0 are held out. The figures are in docs/privacy.md.
func TestCostOfRules(t *testing.T) {
	pattern := os.Getenv("DIFALT_TABLES")
	if pattern == "" {
		t.Skip("DIFALT_TABLES names no tables")
	}
	var all cost
	for _, path := range check.OK(filepath.Glob(pattern)) {
		in, ok := readPlainly(t, path)
		if !ok {
			continue
		}
		c := costOf(t, in)
		t.Logf("%s: %+v", filepath.Base(path), c)
		all.tables += c.tables
		all.curved += c.curved
		all.straight += c.straight
		all.fewer += c.fewer
		all.owners += c.owners
		all.out += c.out
		all.rows += c.rows
		all.lost += c.lost
		all.untold += c.untold
		if c.lost > .05*c.rows {
			all.dear++
		}
	}
	t.Logf("%d tables, %d with curves: %d lose all curves, %d some; "+
		"%d lose more than 5 %% of their rows, %.1f %% of all rows; "+
		"%d of %d owners have nothing left; %d owners are not told what to change",
		all.tables, all.curved, all.straight, all.fewer,
		all.dear, 100*all.lost/all.rows, all.out, all.owners, all.untold)
	if 4*all.straight > all.curved || 5*all.dear > all.tables || 10*all.out > all.owners || all.untold > 0 {
		t.Error("the rules cost more than a quarter of curves, a fifth of tables or a tenth of owners")
	}
}

// A cost counts tables and owners.
type cost struct {
	tables, curved  int // with curves where no rule is on
	straight, fewer int // without any curve, or with fewer, where the rules are on
	owners, out     int // owners without rows in totals
	rows, lost      float64
	dear            int // tables that lose more than 5 % of their rows
	untold          int // owners for which a rule binds without a word on what to change
}

// costOf returns what the default rules cost three owners of the tasks of a table.
func costOf(t *testing.T, in Input) cost {
	list := cut(in, 3)
	free, _ := describeTogether(t, list, open)
	c := cost{tables: 1, owners: len(list)}
	columns := 0
	if free[0].curved != nil {
		c.curved, columns = 1, free[0].curved.p
	}
	var fits []*fitter
	for len(list) > 1 {
		var errs []error
		fits, errs = describeTogether(t, list, Options{})
		at := slices.IndexFunc(errs, func(err error) bool { return err != nil && err != errLeft })
		if at < 0 {
			break
		}
		n := float64(len(fits[at].rows.order))
		c.out, c.rows, c.lost = c.out+1, c.rows+n, c.lost+n
		if !strings.Contains(errs[at].Error(), "--least") {
			c.untold++
			t.Log(errs[at])
		}
		list, fits = slices.Delete(list, at, at+1), nil
	}
	if len(list) < 2 && c.curved == 1 {
		c.straight = 1
	}
	for _, f := range fits {
		g := f.rows.guard
		own := float64(len(f.rows.order) + g.leftRows())
		c.rows, c.lost = c.rows+own, c.lost+own-float64(len(g.counted()))
		for _, note := range g.did {
			if strings.Contains(note, "his owner") && !strings.Contains(note, "--") ||
				strings.Contains(note, "in no total") && !strings.Contains(note, "--") {
				c.untold++
				t.Log(note)
			}
		}
	}
	if c.curved == 1 && len(fits) > 0 {
		switch f := fits[0]; {
		case f.curved == nil:
			c.straight = 1
		case f.curved.p < columns:
			c.fewer = 1
		}
	}
	return c
}

// describeTogether has owners add up what comes before the first optimiser.
func describeTogether(t *testing.T, list []Input, o Options) (fits []*fitter, errs []error) {
	fits, errs = make([]*fitter, len(list)), make([]error, len(list))
	var wait sync.WaitGroup
	for i, seat := range newMeeting(network("path", len(list))) {
		own := o
		own.Sums, own.Workers = seat, 1
		fits[i] = &fitter{Options: own, in: &list[i]}
		wait.Go(func() {
			if errs[i] = fits[i].read(t.Context()); errs[i] != nil {
				seat.leave(errs[i])
			}
		})
	}
	wait.Wait()
	return fits, errs
}

// readPlainly reads a table whose columns are numbers or categories; false where it has no training row for
// three owners.
func readPlainly(t *testing.T, path string) (in Input, ok bool) {
	f := check.OK(os.Open(path))
	defer f.Close()
	records := check.OK(csv.NewReader(f).ReadAll())
	d, column := &Data{}, map[string]int{}
	var features []int
	for j, name := range records[0] {
		column[name] = j
		if name == "task" || name == "y" || name == "held" {
			continue
		}
		features = append(features, j)
		d.Names = append(d.Names, name)
		var levels []string
		number := true
		for _, cells := range records[1:] {
			if _, err := strconv.ParseFloat(cells[j], 64); cells[j] != "" {
				number = number && err == nil
				levels = append(levels, cells[j])
			}
		}
		slices.Sort(levels)
		if levels = slices.Compact(levels); number {
			levels = nil
		}
		d.Levels = append(d.Levels, levels)
	}
	tasks := map[string]bool{}
	for _, cells := range records[1:] {
		y, err := strconv.ParseFloat(cells[column["y"]], 64)
		if err != nil || cells[column["task"]] == "" {
			continue
		}
		var x []float64
		for k, j := range features {
			switch {
			case cells[j] == "":
				x = append(x, math.NaN())
			case d.Levels[k] != nil:
				x = append(x, float64(slices.Index(d.Levels[k], cells[j])))
			default:
				x = append(x, check.OK(strconv.ParseFloat(cells[j], 64)))
			}
		}
		check.Done(d.Append(cells[column["task"]], y, x...))
		held := false
		if at, there := column["held"]; there {
			held = cells[at] != "0" && cells[at] != "False"
		}
		in.HeldOut = append(in.HeldOut, held)
		if !held {
			tasks[cells[column["task"]]] = true
		}
	}
	in.Table = d
	return in, len(tasks) >= 3 && d.Check() == nil
}
