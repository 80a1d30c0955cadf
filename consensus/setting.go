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
// here" for where = "at node 1" and at = "here", or as in "there is no NAME at node 1; it is 2 here". It
// returns an empty text for equal lists. The order of settings is irrelevant; an empty value is "not given".
func Difference(there []Setting, where string, here []Setting, at string) string {
	for _, s := range slices.Concat(here, there) {
		a, inThere := valueOf(there, s.Name)
		b, inHere := valueOf(here, s.Name)
		switch {
		case !inThere:
			return fmt.Sprintf("there is no %s %s; it is %s %s", s.Name, where, b, at)
		case !inHere:
			return fmt.Sprintf("there is no %s %s; it is %s %s", s.Name, at, a, where)
		case a != b:
			return fmt.Sprintf("%s is %s %s, but %s %s", s.Name, a, where, b, at)
		}
	}
	return ""
}

// valueOf returns the value of a setting in words, and whether the list has it.
func valueOf(list []Setting, name string) (value string, ok bool) {
	for _, s := range list {
		if s.Name == name {
			return cmp.Or(s.Value, "not given"), true
		}
	}
	return "", false
}
