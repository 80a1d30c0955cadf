// Command mutants tests the tests: it puts one small error at a time into a package. It runs the package's
// tests, and then the tests of its importers, until a test fails, as one should.
//
//	go run ./scripts/mutants [-n 100] [-seed 1] PACKAGE...
//
// Errors are drawn uniformly from all places in hand-written files of the default build, with a seed: a
// comparison that is flipped or moved by one case; an operation with other operands or another operator; a
// statement that is dropped; a check of an error that never holds. An error that does not compile is drawn
// again. No file is changed: go test reads the mutant through an overlay.
//
// Each survivor is printed with its place and its error. So is each mutant with which no test failed, but one
// package ran into the time limit: whether a test notices its error is not known, so it does not count as
// killed. The last line counts. Exit code 1 means that something other than the tests failed.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// A target is a package as "go list -json" describes it.
type target struct {
	Dir, ImportPath string
	GoFiles         []string
	TestGoFiles     []string
	XTestGoFiles    []string
	Imports         []string
	TestImports     []string
	XTestImports    []string

	tests []string // packages whose tests should notice an error here, the nearest first
}

// An outcome is how the tests of a mutant ended.
type outcome int

const (
	invalid   outcome = iota // the mutant does not compile
	killed                   // a test failed
	survived                 // all tests passed
	unsettled                // no test failed, but those of some package ran into the time limit
)

func main() {
	log.SetFlags(0)
	n := flag.Int("n", 100, "number of mutants")
	seed := flag.Uint64("seed", 1, "seed of the draw")
	flag.Parse()
	if *n < 1 || flag.NArg() == 0 {
		log.Fatal("usage: mutants [-n N] [-seed S] PACKAGE...")
	}
	if err := run(*n, *seed, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// run draws n mutants of the packages that match the patterns, and prints the survivors.
func run(n int, seed uint64, patterns []string) error {
	targets, err := list(patterns)
	if err != nil {
		return err
	}
	var all []mutant
	for i := range targets {
		mutants, err := mutantsOf(&targets[i])
		if err != nil {
			return err
		}
		all = append(all, mutants...)
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	of, tried, dead, open := len(all), 0, 0, 0
	for ; tried < n && len(all) > 0; all = all[1:] {
		result, err := all[0].test(folder)
		switch {
		case err != nil:
			return err
		case result == invalid:
			continue
		case result == killed:
			dead++
		case result == unsettled:
			open++
			fmt.Println("ran into the time limit:", &all[0])
		default:
			fmt.Println("survived:", &all[0])
		}
		if tried++; tried%10 == 0 {
			log.Printf("%d of %d mutants killed", dead, tried)
		}
	}
	fmt.Printf("%d of %d mutants killed, %d without a verdict, drawn from %d places with seed %d\n", dead, tried, open,
		of, seed)
	return nil
}

// list returns the packages that match the patterns and are tested.
func list(patterns []string) ([]target, error) {
	targets, err := describe(patterns)
	if err != nil {
		return nil, err
	}
	all, err := describe([]string{"work"})
	for i := range targets {
		targets[i].tests = covering(all, targets[i].ImportPath)
	}
	return slices.DeleteFunc(targets, func(t target) bool { return t.tests == nil }), err
}

// describe returns the packages that match the patterns.
func describe(patterns []string) (all []target, err error) {
	fields := "-json=Dir,ImportPath,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports"
	out, err := exec.Command("go", append([]string{"list", fields}, patterns...)...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list: %s", exit.Stderr)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); err == nil && d.More(); {
		var t target
		err = d.Decode(&t)
		all = append(all, t)
	}
	return all, err
}

// covering returns the package at path and those that import it, as far as they have tests. If none has, the
// importers of those follow, and so on.
func covering(all []target, path string) (tests []string) {
	near, seen := []string{path}, map[string]bool{}
	for far := 0; len(near) > 0 && (far < 2 || tests == nil); far++ {
		var importers []string
		for _, t := range all {
			if slices.Contains(near, t.ImportPath) && !seen[t.ImportPath] {
				seen[t.ImportPath] = true
				if len(t.TestGoFiles)+len(t.XTestGoFiles) > 0 {
					tests = append(tests, t.ImportPath)
				}
			}
			for _, p := range slices.Concat(t.Imports, t.TestImports, t.XTestImports) {
				if slices.Contains(near, p) && !seen[t.ImportPath] {
					importers = append(importers, t.ImportPath)
				}
			}
		}
		near = importers
	}
	return tests
}

// timeout is the time after which the tests of a package are stopped.
const timeout = 5 * time.Minute

// test runs the tests of m.of with m in place of its file. It keeps its files in the given folder.
func (m *mutant) test(folder string) (outcome, error) {
	mutated, overlay := filepath.Join(folder, "mutated.go"), filepath.Join(folder, "overlay.json")
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {m.file: mutated}})
	if err != nil {
		return invalid, err
	}
	if err := errors.Join(os.WriteFile(mutated, m.text(), 0o600), os.WriteFile(overlay, replace, 0o600)); err != nil {
		return invalid, err
	}
	build := exec.Command("go", "build", "-o", os.DevNull, "-overlay", overlay, m.of.ImportPath)
	if err := build.Run(); err != nil {
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return invalid, nil
		}
		return invalid, err
	}
	result := survived
	for _, path := range m.of.tests {
		of, err := tryTests(path, overlay)
		if err != nil || of == killed {
			return of, err
		}
		if of == unsettled {
			result = unsettled
		}
	}
	return result, nil
}

// tryTests runs the tests of a package with an overlay. They end at the first failure.
func tryTests(path, overlay string) (outcome, error) {
	// The tests' own timeout prints stacks; a test that ignores it is stopped a minute later.
	ctx, stop := context.WithTimeout(context.Background(), timeout+time.Minute)
	defer stop()
	out, err := exec.CommandContext(ctx, "go", "test", "-vet=off", "-failfast", "-overlay", overlay, "-timeout",
		timeout.String(), path).CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		return survived, err
	}
	return ending(out, ctx.Err() != nil), nil
}

var (
	failure  = regexp.MustCompile(`(?m)^\s*--- FAIL: `)
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after `)
)

// ending returns how tests ended that did not all pass. It reads the output of go test, which may have been
// stopped. Tests that panic have failed.
func ending(out []byte, stopped bool) outcome {
	if (stopped || timedOut.Match(out)) && !failure.Match(out) {
		return unsettled
	}
	return killed
}
