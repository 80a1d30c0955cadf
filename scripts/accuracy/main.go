// Accuracy measures difalt fit on tables that nobody tuned for: it writes the tables,
// runs the command with its defaults on them, and puts what it did beside what other
// programs did (peers.py) on the page docs/accuracy.md. It also measures how often
// intervals cover. "make accuracy" does all of it.
//
//	accuracy tables   -out DIR [-school FILE] [-grunfeld FILE]
//	accuracy fit      -tables DIR -out FILE
//	accuracy coverage -out FILE
//	accuracy page
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func([]string) error{
		"tables":   writeTables,
		"fit":      fitTables,
		"coverage": coverage,
		"page":     writePage,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: accuracy tables | fit | coverage | page, each with -help")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
}
