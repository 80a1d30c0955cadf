//go:build unix

// Command peers runs one iteration of the kernel side by side with the same work
// in other languages and libraries: it builds what it can, checks that all answers
// agree, times them in turns in one run, and prints how much slower than difalt
// each of them is. What cannot be built or run is listed with the reason. See
// README.md in its folder, or run "make bench-peers".
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/difalt/difalt/internal/measure"
)

func main() {
	var err error
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		err = serveProblem(os.Args[2:])
	} else {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		err = run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var names []string
	for _, s := range measure.Shapes() {
		names = append(names, s.Name)
	}
	var (
		shapeList  = flag.String("shapes", strings.Join(names, ","), "shapes to measure")
		threadList = flag.String("threads", "1,2", "numbers of threads")
		seconds    = flag.Float64("seconds", 20, "time to measure each shape and number of threads")
		only       = flag.String("only", "", "measure only the peers whose names match this regular expression")
		page       = flag.Bool("page", false, "measure nothing: write BENCHMARKS.md and its pictures from bench/results")
		store      = flag.String("store", "", "store the result in bench/results under this name; auto makes one up for this machine")
	)
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	shapes, err := measure.ParseShapes(*shapeList)
	if err != nil {
		return fmt.Errorf("--shapes: %w", err)
	}
	threads, err := measure.ParseWorkers(*threadList, len(cores()))
	if err != nil {
		return fmt.Errorf("--threads: %w", err)
	}
	pattern, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	// The floors and the reference are part of every comparison.
	peers := slices.DeleteFunc(catalog(), func(p peer) bool {
		return !slices.Contains(always, p.name) && !pattern.MatchString(p.name)
	})
	b, err := newBuilder()
	if err != nil {
		return err
	}
	if *page {
		return writePage(b.root)
	}
	return compare(ctx, b, peers, shapes, threads, *seconds, *store)
}

// compare measures peers on shapes and numbers of threads, prints what comes out, and
// stores it unless store is empty.
func compare(ctx context.Context, b *builder, peers []peer, shapes []measure.Shape, threads []int, seconds float64, store string) error {
	var all []comparison
	stolen := measure.Stolen()
	for _, shape := range shapes {
		r := &runner{builder: b, peers: peers, shape: shape, seconds: seconds}
		comparisons, err := r.compare(ctx, threads)
		if err != nil {
			return err
		}
		fmt.Printf("\n%s\n", peerTable(comparisons))
		if absent := absentTable(comparisons); absent != "" {
			fmt.Printf("\n%s\n", absent)
		}
		all = append(all, comparisons...)
	}
	if store == "" {
		return nil
	}
	words := ""
	if share, ok := stolen(); ok {
		words = fmt.Sprintf("%.1f %%", 100*share)
	}
	path, err := update(filepath.Join(b.root, "bench", "results"), store, words, all)
	if err == nil {
		fmt.Println("stored in", b.shown(path))
	}
	return err
}
