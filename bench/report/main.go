// Command report writes BENCHMARKS.md from the measurements stored in
// bench/results, and with -measure takes the kernel's own measurements first:
//
//	go run ./bench/report                    write BENCHMARKS.md
//	go run ./bench/report -measure auto      measure this machine, then write
//
// The comparison with peers is stored by "go run ./bench/peers -store auto".
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/kernel"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	name := flag.String("measure", "", "measure this machine and store it in bench/results under this name; auto makes one up")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flag.Arg(0))
	}
	if _, err := os.Stat("bench/report"); err != nil {
		return errors.New("run this in the root of the checkout")
	}
	if *name != "" {
		if err := store(ctx, *name); err != nil {
			return err
		}
	}
	files, err := filepath.Glob("bench/results/*.json")
	if err != nil {
		return err
	}
	var results []*measure.Result
	for _, file := range files {
		r, err := measure.LoadResult(file)
		if err != nil {
			return err
		}
		results = append(results, r)
	}
	var out bytes.Buffer
	if err := write(&out, results); err != nil {
		return err
	}
	return os.WriteFile("BENCHMARKS.md", out.Bytes(), 0o644)
}

// store replaces the rows of a stored result by new measurements: all shapes with
// the default kernel, and all that fit in a moment with the others.
func store(ctx context.Context, name string) error {
	stolen := measure.Stolen()
	info := kernel.Info()
	all, err := rows(ctx, info.Kernel, "--shapes", "paper1,paper2,many,wide")
	if err != nil {
		return err
	}
	for _, k := range info.Available {
		if k == info.Kernel {
			continue
		}
		more, err := rows(ctx, k, "--workers", "1", "--storage", "f64")
		if err != nil {
			return err
		}
		all = append(all, more...)
	}
	_, err = measure.Update("bench/results", name, func(r *measure.Result) {
		r.Rows = all
		if share, ok := stolen(); ok {
			r.Stolen = fmt.Sprintf("%.1f %%", 100*share)
		}
	})
	return err
}

// rows runs "difalt bench --json" with a kernel.
func rows(ctx context.Context, kernel string, flags ...string) ([]measure.Row, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"run", "./cmd/difalt", "bench", "--json"}, flags...)...)
	cmd.Env = append(os.Environ(), "DIFALT_KERNEL="+kernel)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("difalt bench with kernel %s: %w", kernel, err)
	}
	var rows []measure.Row
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var r measure.Row
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s %s %s %d workers: %.3f ms, %.0f%% of read\n", r.Shape, r.Storage, r.Kernel, r.Workers, r.IterationMS, 100*r.ReadShare)
		rows = append(rows, r)
	}
	return rows, nil
}
