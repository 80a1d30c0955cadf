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
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
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

// drawn are the tables that are drawn at random, in the order of their streams.
var drawn = []struct {
	name string
	shape
	what string
}{
	{"intercept", shape{tasks: 60, train: 12, features: 8, intercept: 1.5, shared: 0.4, noise: 1}, "levels differ, slopes do not"},
	{"slopes", shape{tasks: 40, train: 40, features: 6, intercept: 1, shared: 0.5, slopes: 0.5, noise: 1.5}, "every task has slopes of its own"},
	{"lowrank-short", shape{tasks: 100, train: 16, features: 30, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1},
		"slopes differ in two directions; fewer rows than features"},
	{"lowrank-long", shape{tasks: 60, train: 40, features: 20, intercept: 1, shared: 0.3, rank: 3, low: 0.5, noise: 1.5},
		"slopes differ in three directions; twice as many rows as features"},
	{"noise", shape{tasks: 50, train: 20, features: 10, noise: 1}, "nothing to find"},
	{"alike", shape{tasks: 40, train: 25, features: 10, shared: 0.5, noise: 1.5}, "all tasks are the same"},
	{"clusters", shape{tasks: 60, train: 20, features: 12, clusters: 3, low: 0.6, noise: 1}, "three groups of tasks, each with its slopes"},
	{"heavy", shape{tasks: 50, train: 25, features: 8, intercept: 1.5, shared: 0.4, rank: 1, low: 0.5, noise: 1, law: heavy},
		"levels, one direction, noise of Student's t with 3 degrees of freedom"},
	{"wide", shape{tasks: 20, train: 40, features: 1000, factors: 10, intercept: 1, shared: 0.03, rank: 1, low: 0.04, noise: 1},
		"ten common factors, levels, one direction"},
	{"tiny", shape{tasks: 8, train: 6, features: 3, intercept: 1, shared: 0.6, slopes: 0.3, noise: 1}, "as slopes"},
	{"unbalanced", shape{tasks: 40, train: 1, most: 500, features: 6, intercept: 1, shared: 0.5, rank: 1, low: 0.6, noise: 1.5}, "levels and one direction"},
	{"trend", shape{tasks: 60, train: 9, features: 3, law: growth}, "years: level and growth of a person are correlated"},
	{"uneven-mild", shape{tasks: 50, train: 25, features: 8, intercept: 1, shared: 0.4, rank: 1, low: 0.5, noise: 1, uneven: 0.3},
		"levels and one direction; the noise of a task differs by a factor of e^.3"},
	{"uneven-levels", shape{tasks: 60, train: 10, features: 6, intercept: 1, shared: 0.4, noise: 1, uneven: 1}, "levels; the noise of a task differs by a factor of e"},
	{"uneven-slopes", shape{tasks: 40, train: 40, features: 6, intercept: 1, shared: 0.4, slopes: 0.4, noise: 1, uneven: 0.7},
		"slopes of a task's own; its noise differs by a factor of e^.7"},
	{"uneven-short", shape{tasks: 80, train: 14, features: 16, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1, uneven: 0.7},
		"two directions, fewer rows than features; the same"},
	{"uneven-middle", shape{tasks: 60, train: 20, features: 10, intercept: 1, shared: 0.4, rank: 2, low: 0.5, noise: 1, uneven: 0.7}, "two directions; the same"},
	{"uneven-long", shape{tasks: 40, train: 60, features: 12, intercept: 1, shared: 0.3, rank: 2, low: 0.5, noise: 1, uneven: 1}, "two directions; noise by a factor of e"},
}

// A file is a table that comes from a file: the flag that names it, the stream that
// splits it, the rows of a task to train on (see existing) and the columns to leave out.
type file struct {
	name, size, what, flag string
	stream                 uint64
	train                  int
	drop                   []string
}

// filed are these tables in the order of the page.
var filed = []file{
	{"clinics", "40 x 6 to 23, 8", "[examples/clinics.csv](../examples/clinics.csv), a quarter held out", "clinics", 100, 0, []string{"patient"}},
	{"school10", "139 x 10, 28", "School: exam scores of pupils", "school", 102, 10, nil},
	{"school20", "139 x 20, 28", "School, 20 rows a school", "school", 103, 20, nil},
	{"school", "139 x 11 to 125, 28", "School, half of the rows", "school", 101, half, nil},
	{"grunfeld", "11 x 15, 3", "investments of firms over 20 years, a quarter held out", "grunfeld", 104, 0, nil},
}

// writeTables writes every table for every seed. An empty path leaves out the tables that
// come from that file.
func writeTables(args []string) error {
	flags := flag.NewFlagSet("tables", flag.ExitOnError)
	out := flags.String("out", "", "the folder to write to")
	paths := map[string]*string{
		"school":   flags.String("school", "", "the School table: columns task, x0 to x27, y (docs/accuracy.md says where it is from)"),
		"clinics":  flags.String("clinics", "examples/clinics.csv", "the table of clinics"),
		"grunfeld": flags.String("grunfeld", "", "Grunfeld's firms, as peers.py writes them"),
	}
	seeds := flags.Int("seeds", 5, "the number of splits and seeds")
	first := flags.Int("first", 1, "the first seed")
	flags.Parse(args)
	if err := os.MkdirAll(*out, 0o777); err != nil {
		return err
	}
	for seed := uint64(*first); seed < uint64(*first+*seeds); seed++ {
		for i, d := range drawn {
			if err := d.generate(rand.New(rand.NewPCG(seed, uint64(i)))).write(*out, fmt.Sprintf("%s-%d", d.name, seed)); err != nil {
				return err
			}
		}
		for _, f := range filed {
			path := *paths[f.flag]
			if path == "" {
				log.Printf("no file for %s: left out", f.name)
				continue
			}
			t, err := existing(path, rand.New(rand.NewPCG(seed, f.stream)), f.train, f.drop...)
			if err != nil {
				return err
			}
			if err := t.write(*out, fmt.Sprintf("%s-%d", f.name, seed)); err != nil {
				return err
			}
		}
	}
	return nil
}
