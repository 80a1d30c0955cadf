package consensus

import (
	"cmp"
	"fmt"
	"slices"
)

// A Setting is a named value that must be equal at all nodes.
type Setting struct {
	Name  string `json:"what"` // as in "NAME is 3 at node 1, but 2 here"
	Value string `json:"value"`
}

// Difference describes the first difference between two lists of settings, as in "NAME is 3 at node 1, but 2
// here" for where = "at node 1" and at = "here". It returns an empty text for equal lists. The order of
// settings is irrelevant; a setting that one list lacks is "unknown" there, and an empty value is "not
// given".
func Difference(there []Setting, where string, here []Setting, at string) string {
	for _, s := range slices.Concat(here, there) {
		a, b := valueOf(there, s.Name), valueOf(here, s.Name)
		if a != b {
			a, b = cmp.Or(a, "not given"), cmp.Or(b, "not given")
			return fmt.Sprintf("%s is %s %s, but %s %s", s.Name, a, where, b, at)
		}
	}
	return ""
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
