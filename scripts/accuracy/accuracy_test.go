package main

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestPageIsCurrent asserts that docs/accuracy.md is what the committed results say.
func TestPageIsCurrent(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := writePage([]string{"-results", "results", "-out", page}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../docs/accuracy.md")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) {
		t.Error("docs/accuracy.md is not what \"accuracy page\" writes")
	}
}

// TestTablesAreOfTheirSize counts rows and tasks of every drawn table against what the
// page says of it, and asserts that no task is without rows for training.
func TestTablesAreOfTheirSize(t *testing.T) {
	for _, g := range drawn {
		tab := g.generate(rand.New(rand.NewPCG(1, 1)))
		train, held := map[string]int{}, map[string]int{}
		for _, row := range tab.rows {
			if len(row) != len(tab.header) {
				t.Fatalf("%s: %d cells under %d names", g.name, len(row), len(tab.header))
			}
			if row[len(row)-1] == "1" {
				held[row[0]]++
			} else {
				train[row[0]]++
			}
		}
		least, most := math.MaxInt, 0
		for task := range held {
			least, most = min(least, train[task]), max(most, train[task])
		}
		if g.name != "trend" && held[tab.rows[0][0]] != heldRows {
			t.Errorf("%s: %d rows of a task are held out", g.name, held[tab.rows[0][0]])
		}
		rows := strconv.Itoa(least)
		if most > least {
			rows += " to " + strconv.Itoa(most)
		}
		size := strconv.Itoa(len(held)) + " x " + rows + ", " + strconv.Itoa(len(tab.header)-3)
		if g.size() != size {
			t.Errorf("%s has the size %s; the page says %s", g.name, size, g.size())
		}
	}
}

// TestExistingHoldsOutOfEveryTask asserts that the rows of a file come back once each,
// and that every task keeps what it should.
func TestExistingHoldsOutOfEveryTask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "table.csv")
	rows := [][]string{{"shop", "number", "x", "sales"}}
	for task, n := range []int{1, 2, 3, 8, 40} {
		for i := range n {
			rows = append(rows, []string{"s" + strconv.Itoa(task), strconv.Itoa(len(rows)), strconv.Itoa(i), "1"})
		}
	}
	if err := writeCSV(path, rows); err != nil {
		t.Fatal(err)
	}
	for rule, want := range map[int][]int{0: {1, 1, 2, 6, 30}, half: {1, 1, 1, 4, 20}, 10: {1, 2, 3, 8, 10}} {
		tab, err := existing(path, rand.New(rand.NewPCG(1, 2)), rule)
		if err != nil {
			t.Fatal(err)
		}
		kept, seen := map[string]int{}, map[string]bool{}
		for _, row := range tab.rows {
			seen[row[1]] = true
			if row[len(row)-1] == "0" {
				kept[row[0]]++
			}
		}
		if len(seen) != len(rows)-1 {
			t.Errorf("rule %d: %d rows of %d", rule, len(seen), len(rows)-1)
		}
		for task, n := range want {
			if got := kept["s"+strconv.Itoa(task)]; got != n {
				t.Errorf("rule %d: task %d trains on %d rows, want %d", rule, task, got, n)
			}
		}
	}
}

// TestJudge compares with errors worked out by hand.
func TestJudge(t *testing.T) {
	rmse, ev := judge([]float64{1, 2, 3, 6}, []float64{1, 2, 5, 6})
	if rmse != 1 || math.Abs(ev-(1-4./14)) > 1e-15 {
		t.Errorf("got %v and %v, want 1 and 10/14", rmse, ev)
	}
	if m := median([]float64{3, math.Inf(1), 1, 2}); m != 2.5 {
		t.Errorf("median %v, want 2.5", m)
	}
}
