package dataset

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// totalName is the form of names of rows that sum up others, and totalEnd of names such as "north total".
var (
	totalName = regexp.MustCompile(`(?i)^(grand |sub)?-?(total|totals|sum|all|overall|` +
		`gesamt|summe|insgesamt|average|mean)$`)
	totalEnd = regexp.MustCompile(`(?i)[ :_-](sub)?(total|totals|gesamt|summe|ergebnis)$`)
)

// remarkTasks names tasks that are totals of others, and names that may stand for missing tasks.
func (r *reader) remarkTasks(say func(string, ...any)) {
	t := r.t
	if r.o.Task == "" {
		return
	}
	rows, first := make([]int, len(t.tasks.list)), make([]int, len(t.tasks.list))
	sum := 0.0
	for i := range t.Rows() {
		k := t.Task(i)
		if rows[k]++; rows[k] == 1 {
			first[k] = i
		}
		if t.HasTarget() {
			sum += t.Y(i)
		}
	}
	var totals []string
	for k, name := range t.tasks.list {
		isTotal := totalName.MatchString(name) && len(rows) > 2
		if rows[k] == 1 && t.Rows() > 3 {
			isTotal = isTotal || totalEnd.MatchString(name)
		}
		if t.HasTarget() && rows[k] == 1 && t.Rows() > 3 {
			y := t.Y(first[k])
			isTotal = isTotal || y != 0 && math.Abs(sum-2*y) <= 1e-9*math.Abs(y)
		}
		if isTotal {
			totals = append(totals, fmt.Sprintf(`"%s" (%s)`, text.Visible(name), t.Place(first[k])))
		}
	}
	if totals != nil {
		say("These tasks look like totals of the other rows: %s. Leave their rows out.", text.List(totals))
	}
	if gone := missingTasks(t.tasks.list); gone != nil {
		say("There is a task with the name %s: if that marks a missing name, use --na %s.", text.Names(gone),
			text.ShellList(gone...))
	}
	if alike := alikeIn(t.tasks.list); alike != nil {
		say("Names of tasks that differ in their spelling alone are different tasks: %s.", text.List(alike))
	}
}

// missingTasks returns the names of tasks that may mark missing ones: words for nothing, and a number such as
// -1 or -999 where all others are whole numbers from 0.
func missingTasks(list []string) (gone []string) {
	isWhole := func(name string) bool { return name != "" && strings.Trim(name, "0123456789") == "" }
	whole := 0
	for _, name := range list {
		if isWhole(name) {
			whole++
		}
	}
	for _, name := range list {
		negative, is := strings.CutPrefix(name, "-")
		isNegative := is && len(list) > 2 && whole == len(list)-1 && isWhole(negative)
		if marksMissing(name) || unknownName.MatchString(name) || isNegative {
			gone = append(gone, name)
		}
	}
	return gone
}

// unknownName is the form of names of tasks that nobody knows. Among the levels of a category they are
// levels.
var unknownName = regexp.MustCompile(`(?i)^(none|unknown|missing|undefined|unspecified|not (known|available))$`)

// marksMissing reports whether a name of a task or a level looks like a mark of a missing one: the words for
// missing numbers but "none", marks of databases, and names without a letter or a digit.
func marksMissing(name string) bool {
	switch strings.ToLower(name) {
	case "none":
		return false
	case `\n`, "<na>", "nil", "n.a.", "k.a.", "(blank)", "(empty)", "(missing)", "(null)":
		return true
	}
	return isMissing(name) || !strings.ContainsFunc(name, isLetterOrDigit)
}

// remarkLevels names levels that may mark missing values, and levels that are numbers with a unit.
func (r *reader) remarkLevels(say func(string, ...any)) {
	for _, c := range r.t.schema.Categories {
		var gone []string
		for _, level := range c.Levels {
			if marksMissing(level) {
				gone = append(gone, level)
			}
		}
		if gone != nil && len(c.Levels) > len(gone) {
			say("Column %s has the level %s: if that marks a missing value, use --na %s.",
				text.Names([]string{c.Column}),
				text.Names(gone), text.ShellList(gone...))
		}
		if len(c.Levels) > 1 && haveUnit(c.Levels) {
			say(`The levels of %s are numbers with a unit, such as "%s": remove the unit if they are amounts.`,
				text.Names([]string{c.Column}), text.Visible(c.Levels[0]))
		}
	}
}

// withUnit is the form of a number with a unit behind it.
var withUnit = regexp.MustCompile(`^[+-]?\d+(?:[.,]\d+)?[ \x{a0}]?(\pL+|[%°‰"'′″$€£¥]\pL*)$`)

// haveUnit reports whether all names are numbers with one unit.
func haveUnit(names []string) bool {
	unit := ""
	for i, name := range names {
		m := withUnit.FindStringSubmatch(name)
		if m == nil || i > 0 && m[1] != unit {
			return false
		}
		unit = m[1]
	}
	return true
}
