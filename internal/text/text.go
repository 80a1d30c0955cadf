// Package text is how the reports and messages of this module are worded.
package text

import (
	"fmt"
	"strings"
)

// Plural returns a number of things in words: "1 task", "3 tasks".
func Plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Table returns rows of cells in Markdown, without a newline at the end. The first
// row is the head.
func Table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("---|", len(row)))
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}
