// Package text puts numbers and names into the sentences of messages.
package text

import (
	"fmt"
	"strings"
)

// Count returns "1 task" or "3 tasks" for the noun "task".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// most is how many entries of a list a message shows.
const most = 5

// List joins the first entries of a list, and says how many there are more.
func List(list []string) string {
	if n := len(list) - most; n > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), n)
	}
	return strings.Join(list, ", ")
}

// Names is List with every name in quotes.
func Names(names []string) string {
	quoted := make([]string, len(names))
	for i, s := range names[:min(len(names), most)] {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return List(quoted)
}
