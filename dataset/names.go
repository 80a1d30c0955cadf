package dataset

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// names are numbered in the order in which they come.
type names struct {
	list  []string
	index map[string]int
}

// find returns the number of a name.
func (n *names) find(name []byte) (k int, ok bool) {
	k, ok = n.index[string(name)]
	return k, ok
}

// number returns the number of a name, which it copies, for it may lie in the memory of a file,
// if it is a new one.
func (n *names) number(name string) int {
	if k, ok := n.index[name]; ok {
		return k
	}
	if n.index == nil {
		n.index = map[string]int{}
	}
	k := len(n.list)
	n.list = append(n.list, strings.Clone(name))
	n.index[n.list[k]] = k
	return k
}

// firstDuplicate returns the first name that is there twice.
func firstDuplicate(list []string) (name string, twice bool) {
	var n names
	for i, name := range list {
		if n.number(name) < i {
			return name, true
		}
	}
	return "", false
}

// numbered returns n names: the prefix and a number.
func numbered(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = prefix + strconv.Itoa(i)
	}
	return list
}

// checkName refuses names that other programs, or a model file, would not show as
// they are.
func checkName(s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%q is not a name in UTF-8", clip(s))
	}
	return nil
}

// checkGiven is checkName for a name that must not be empty.
func checkGiven(s string) error {
	if s == "" {
		return fmt.Errorf("%q is not a name in UTF-8", s)
	}
	return checkName(s)
}

// quoted lists names for a message, at most 20 of them.
func quoted(list []string) string {
	short := make([]string, min(len(list), 20))
	for i := range short {
		short[i] = clip(list[i])
	}
	if n := len(list) - len(short); n > 0 {
		return fmt.Sprintf("%q and %d more", short, n)
	}
	return fmt.Sprintf("%q", short)
}

// clipped is how many bytes of a cell a message shows.
const clipped = 40

// clip shortens a cell for a message.
func clip(s string) string {
	if len(s) > clipped {
		return s[:clipped] + "..."
	}
	return s
}
