package wire

import (
	"cmp"
	"fmt"
)

// A Setting is a name and a value that all nodes must have alike, or a node that takes up
// an earlier run.
type Setting struct {
	Name  string `json:"what"` // as in "NAME is 3 at node 1, but 2 here"
	Value string `json:"value"`
}

// Difference returns the first difference between two lists of settings in words, as in
// "NAME is 3 at node 1, but 2 here" for where = "at node 1" and at = "here", or an empty
// text if there is none.
func Difference(there []Setting, where string, here []Setting, at string) string {
	name, a, b := FirstDifference(there, here)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s is %s %s, but %s %s", name, a, where, b, at)
}

// FirstDifference returns the first setting that differs between two lists, and its value in
// both; an empty name if there is none. The order of settings does not matter; a setting that
// is in one list only is unknown to the other, and an empty value "not given".
func FirstDifference(there, here []Setting) (name, valueThere, valueHere string) {
	for _, s := range here {
		if value := valueOf(there, s.Name); value != s.Value {
			return s.Name, shown(value), shown(s.Value)
		}
	}
	for _, s := range there {
		if value := valueOf(here, s.Name); value != s.Value {
			return s.Name, shown(s.Value), shown(value)
		}
	}
	return "", "", ""
}

// valueOf returns the value of a setting in a list, or "unknown".
func valueOf(list []Setting, name string) string {
	for _, s := range list {
		if s.Name == name {
			return s.Value
		}
	}
	return "unknown"
}

// shown returns a value for a sentence.
func shown(value string) string { return cmp.Or(value, "not given") }
