//go:build faults && linux

// Package faults runs three real nodes in network namespaces, lets things go wrong between and
// inside them, and prints a table of what became of it. Every trial must end with models
// that have the same bits as without the fault, or with errors that name a node, in the
// documented time, and without a file that is not complete. It needs root, ip, nft and tc.
package faults

import (
	"flag"
	"fmt"
	"io"
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
	command string    // difalt
	folder  string    // of the tables
	sums    [3]string // of the models without a fault
}

// A verdict is what became of a trial.
type verdict int

const (
	same   verdict = iota // bits as without the fault
	named                 // errors that name a node, at all that could say so
	hang                  // somebody does not end
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

// asPart makes the test program play a part beside the nodes.
const asPart = "DIFALT_FAULTS_AS"

func TestMain(m *testing.M) {
	if part := os.Getenv(asPart); part != "" {
		if err := stand(part, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestFaults runs the trials and prints the table. With -short it leaves out faults that take
// long.
func TestFaults(t *testing.T) {
	if err := able(); err != nil {
		t.Fatalf("SKIPPED, which is not passed: %v", err)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBench(*command, *table)
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(b.folder)
	var list []*fault
	for i := range faults {
		if pattern.MatchString(faults[i].name) && !(testing.Short() && faults[i].long) {
			list = append(list, &faults[i])
		}
	}
	results, err := b.all(list, *runs, *lanes)
	if err != nil {
		t.Fatal(err)
	}
	if !report(os.Stdout, list, results) {
		t.Error("not all is as it must be")
	}
}

// newBench builds the command, and trains once without a fault.
func newBench(command, table string) (*bench, error) {
	folder, err := os.MkdirTemp("", "difalt-faults-")
	if err != nil {
		return nil, err
	}
	b := &bench{command: command, folder: folder}
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
	if err := b.refer(w); err != nil {
		return nil, err
	}
	return b, nil
}

// refer trains without a fault.
func (b *bench) refer(w *world) error {
	t, err := b.trial(w, 0)
	if err != nil {
		return err
	}
	if err := t.launch(); err != nil {
		return err
	}
	for i, p := range t.list {
		if !p.over(time.Minute) || p.cmd.ProcessState.ExitCode() != 0 {
			return fmt.Errorf("without a fault, node %s fails: %s", nodes[i], p.tail())
		}
	}
	if b.sums, err = t.sums(); err != nil {
		return err
	}
	return t.end()
}

// trial returns a trial with a folder of its own.
func (b *bench) trial(w *world, seed uint64) (*trial, error) {
	folder, err := os.MkdirTemp("", "difalt-trial-")
	if err != nil {
		return nil, err
	}
	own := *w
	own.folder = folder
	return &trial{world: &own, bench: b, rng: rand.New(rand.NewPCG(seed, 16))}, nil
}

// all runs every fault so many times, several trials at once.
func (b *bench) all(list []*fault, runs, lanes int) ([][]outcome, error) {
	type job struct{ fault, seed int }
	jobs := make(chan job)
	results := make([][]outcome, len(list))
	var mu sync.Mutex
	var wg sync.WaitGroup
	var failed error
	for lane := range lanes {
		w, err := newWorld(fmt.Sprintf("difalt-%d-%d", os.Getpid(), lane))
		if err != nil {
			failed = err
			break
		}
		defer w.end()
		wg.Go(func() {
			for j := range jobs {
				o := b.one(w, list[j.fault], uint64(j.seed))
				mu.Lock()
				results[j.fault] = append(results[j.fault], o)
				if list[j.fault].wrong(o.verdict) {
					fmt.Fprintf(os.Stderr, "%s, seed %d: %s\n", list[j.fault].name, j.seed, o.note)
				}
				mu.Unlock()
			}
		})
	}
	if failed == nil {
		for i := range list {
			for seed := range runs {
				jobs <- job{i, seed}
			}
		}
	}
	close(jobs)
	wg.Wait()
	return results, failed
}

// one runs one trial.
func (b *bench) one(w *world, f *fault, seed uint64) (o outcome) {
	t, err := b.trial(w, seed)
	if err != nil {
		return outcome{broken, err.Error(), 0}
	}
	if err = f.do(t); err == nil {
		o = t.finish(f)
	} else {
		o = outcome{broken, err.Error(), 0}
	}
	if f.after != nil && o.verdict < hang {
		if err := f.after(t); err != nil {
			o = outcome{broken, err.Error(), o.took}
		}
	}
	if err := t.end(); err != nil && o.verdict < hang {
		o = outcome{broken, err.Error(), o.took}
	}
	return o
}

// report prints the table, and reports whether all is as it must be.
func report(out io.Writer, list []*fault, results [][]outcome) (good bool) {
	good = true
	fmt.Fprintln(out, "| fault | runs | same bits | named error | hangs | other | median time |")
	fmt.Fprintln(out, "|---|---|---|---|---|---|---|")
	for i, f := range list {
		var count [4]int
		var took []time.Duration
		for _, o := range results[i] {
			count[o.verdict]++
			took = append(took, o.took)
			if f.wrong(o.verdict) {
				good = false
			}
		}
		slices.Sort(took)
		median := time.Duration(0)
		if len(took) > 0 {
			median = took[len(took)/2].Round(100 * time.Millisecond)
		}
		fmt.Fprintf(out, "| %s | %d | %d | %d | %d | %d | %.1f s |\n", f.name, len(took), count[same], count[named], count[hang], count[broken], median.Seconds())
	}
	return good
}
