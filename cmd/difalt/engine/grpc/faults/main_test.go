//go:build faults && linux

// Package faults runs three nodes in network namespaces with faults between and inside them, and prints a
// table of the results. Every trial must end with models of the same bits as without the fault, or with errors
// that name a node, in the documented time, and without an incomplete file. It needs root, ip, nft and tc.
package faults

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"
)

// A bench is what all trials have in common.
type bench struct {
	command string             // difalt
	folder  string             // of the tables
	sums    map[bool][3]string // of the models without a fault, with few rounds and with many
}

// A verdict is the result of a trial.
type verdict int

const (
	same   verdict = iota // bits as without the fault
	named                 // errors that name a node, at all that could do so
	hang                  // a node does not end
	broken                // anything else
)

type outcome struct {
	verdict verdict
	note    string
	took    time.Duration
}

var (
	runs    = flag.Int("runs", 1, "trials of every fault")
	lanes   = flag.Int("lanes", 3, "trials at once")
	only    = flag.String("only", "", "faults whose names match this expression")
	command = flag.String("difalt", "", "the command to test (default: built here)")
	table   = flag.String("data", "../../../../../examples/clinics.csv", "the table of the trials")
)

// TestFaults runs the trials and prints the table. With -short it leaves out faults that take long.
func TestFaults(t *testing.T) {
	if err := able(); err != nil {
		t.Fatalf("SKIPPED, which is not passed: %v", err)
	}
	pattern := regexp.MustCompile(*only)
	b, err := newBench(t.TempDir(), *command, *table)
	if err != nil {
		t.Fatal(err)
	}
	list := slices.DeleteFunc(slices.Clone(faults), func(f fault) bool {
		return !pattern.MatchString(f.name) || testing.Short() && f.long
	})
	results := make([][]outcome, len(list))
	jobs := make(chan [2]int, len(list)**runs)
	for k := range cap(jobs) {
		jobs <- [2]int{k % len(list), k / len(list)}
	}
	close(jobs)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for lane := range *lanes {
		w, err := newWorld(fmt.Sprintf("difalt-%d-%d", os.Getpid(), lane))
		if err != nil {
			t.Fatal(err)
		}
		defer w.end()
		wg.Go(func() {
			for j := range jobs {
				f := &list[j[0]]
				o := b.one(w, f, uint64(j[1]))
				mu.Lock()
				results[j[0]] = append(results[j[0]], o)
				if mu.Unlock(); o.verdict != f.want {
					t.Errorf("%s, seed %d: %s", f.name, j[1], o.note)
				}
			}
		})
	}
	wg.Wait()
	report(list, results)
}

// newBench builds the command, and trains twice without a fault.
func newBench(folder, command, table string) (*bench, error) {
	b := &bench{command, folder, map[bool][3]string{}}
	if command == "" {
		b.command = filepath.Join(folder, "difalt")
		if text, err := exec.Command("go", "build", "-o", b.command, "github.com/difalt/difalt/cmd/difalt").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w: %s", err, text)
		}
	}
	if err := split(table, folder); err != nil {
		return nil, err
	}
	w, err := newWorld(fmt.Sprintf("difalt-%d", os.Getpid()))
	if err != nil {
		return nil, err
	}
	defer w.end()
	for _, few := range []bool{true, false} {
		o := b.one(w, &fault{few: few, do: func(t *trial) error {
			if err := t.launch(); err != nil {
				return err
			}
			for _, p := range t.list {
				p.over(time.Minute)
			}
			sums, err := t.sums()
			b.sums[few] = sums
			return err
		}}, 0)
		if o.verdict != same {
			return nil, errors.New("without a fault: " + o.note)
		}
	}
	return b, nil
}

// one runs one trial.
func (b *bench) one(w *world, f *fault, seed uint64) outcome {
	folder, err := os.MkdirTemp("", "difalt-trial-")
	if err != nil {
		return outcome{broken, err.Error(), 0}
	}
	own := *w
	own.folder = folder
	t := &trial{world: &own, bench: b, fault: f, rng: rand.New(rand.NewPCG(seed, 16))}
	o := outcome{verdict: broken}
	if err = f.do(t); err == nil {
		o = t.finish()
	}
	if err == nil && f.said != "" && o.verdict < hang {
		err = t.says(f.said)
	}
	if err = errors.Join(err, t.end()); err != nil && o.verdict != hang {
		o.verdict, o.note = broken, err.Error()
	}
	return o
}

// report prints the table.
func report(list []fault, results [][]outcome) {
	fmt.Println("| fault | runs | same bits | named error | hangs | other | median time |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for i, f := range list {
		var count [4]int
		var took []time.Duration
		for _, o := range results[i] {
			count[o.verdict]++
			took = append(took, o.took)
		}
		slices.Sort(took)
		fmt.Printf("| %s | %d | %d | %d | %d | %d | %.1f s |\n", f.name, len(took), count[same], count[named], count[hang], count[broken], took[len(took)/2].Seconds())
	}
}
