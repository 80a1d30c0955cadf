package wire

import (
	"cmp"
	"fmt"
)

// A Setting is a named value that must be equal at all nodes.
type Setting struct {
	Name  string `json:"what"` // as in "NAME is 3 at node 1, but 2 here"
	Value string `json:"value"`
}

// Difference describes the first difference between two lists of settings, as in "NAME is 3 at node 1, but 2
// here" for where = "at node 1" and at = "here". It returns an empty text for equal lists.
func Difference(there []Setting, where string, here []Setting, at string) string {
	name, a, b := FirstDifference(there, here)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("%s is %s %s, but %s %s", name, a, where, b, at)
}

// FirstDifference returns the name of the first setting that differs between two lists, and its values. The
// name is empty for equal lists. The order of settings is irrelevant; a setting that one list lacks has the
// value "unknown" there, and an empty value becomes "not given".
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

// shown returns the text for a value.
func shown(value string) string { return cmp.Or(value, "not given") }
