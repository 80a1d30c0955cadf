package dataset

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
	"github.com/difalt/difalt/mixed"
)

// totalName is the form of names of rows that sum up others.
var totalName = regexp.MustCompile(`(?i)^(grand |sub)?-?(total|totals|sum|all|overall|` +
	`gesamt|summe|insgesamt|average|mean)$`)

// remarkTasks names tasks that are totals of others, and names that may stand for missing tasks.
func (r *reader) remarkTasks(say func(string, ...any)) {
	t := r.t
	if r.o.Task == "" {
		return
	}
	rows, first := make([]int, len(t.tasks.list)), make([]int, len(t.tasks.list))
	sum := 0.0
	for i, k := range t.task {
		if rows[k]++; rows[k] == 1 {
			first[k] = i
		}
		if t.target {
			sum += t.y[i]
		}
	}
	var totals, gone []string
	spelling, alike := map[string]string{}, []string(nil)
	for k, name := range t.tasks.list {
		isTotal := totalName.MatchString(name) && len(rows) > 2
		if t.target && rows[k] == 1 && t.Rows() > 3 {
			y := t.y[first[k]]
			isTotal = isTotal || y != 0 && math.Abs(sum-2*y) <= 1e-9*math.Abs(y)
		}
		if isTotal {
			totals = append(totals, fmt.Sprintf("%q (%s)", text.Visible(name), t.Place(first[k])))
		}
		if isMissing(name) {
			gone = append(gone, name)
		}
		if other, twice := spelling[spelled(name)]; twice {
			alike = append(alike, fmt.Sprintf("%q and %q", text.Visible(other), text.Visible(name)))
		} else {
			spelling[spelled(name)] = name
		}
	}
	if totals != nil {
		say("These tasks look like totals of the other rows: %s. Leave their rows out.", text.List(totals))
	}
	if gone != nil {
		say("There is a task with the name %s: if that marks a missing name, use --na %s.", text.Names(gone),
			text.ShellWord(strings.Join(gone, ",")))
	}
	if alike != nil {
		say("Names of tasks that differ in their spelling alone are different tasks: %s.", text.List(alike))
	}
}

// AlikeLevels returns sentences on the levels of a schema that differ in their spelling alone.
func AlikeLevels(s *mixed.Schema) (list []string) {
	for _, c := range s.Categories {
		spelling, alike := map[string]string{}, []string(nil)
		for _, level := range c.Levels {
			if other, twice := spelling[spelled(level)]; twice {
				alike = append(alike, fmt.Sprintf("%q and %q", text.Visible(other), text.Visible(level)))
			} else {
				spelling[spelled(level)] = level
			}
		}
		if alike != nil {
			list = append(list, fmt.Sprintf("Levels of %s that differ in their spelling alone are different "+
				"levels: %s.", text.Visible(c.Column), text.List(alike)))
		}
	}
	return list
}

// Spelling finds names that differ from a name of a list in their spelling alone: in case, in blanks, in
// leading zeros, or as 1 and 1.0.
type Spelling map[string]string

// NewSpelling returns the spellings of names.
func NewSpelling(names []string) Spelling {
	s := Spelling{}
	for _, name := range names {
		s[spelled(name)] = name
	}
	return s
}

// Other returns a name of the list in another spelling.
func (s Spelling) Other(name string) (other string, ok bool) {
	other, ok = s[spelled(name)]
	return other, ok && other != name
}

// spelled returns the common spelling of names that differ in case, blanks, leading zeros or as 1 and 1.0.
func spelled(name string) string {
	s := strings.ToLower(strings.Join(strings.Fields(name), " "))
	s = strings.TrimSuffix(s, ".0")
	end := strings.LastIndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) + 1
	return s[:end] + strings.TrimLeft(s[end:], "0")
}
