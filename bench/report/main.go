// Command report writes BENCHMARKS.md, and its pictures, from the comparisons that
// "go run ./bench/peers -store auto" has stored in bench/results. Run it in the root of
// the checkout:
//
//	go run ./bench/report
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/difalt/difalt/internal/measure"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) > 1 {
		return fmt.Errorf("unexpected argument %q", os.Args[1])
	}
	if _, err := os.Stat("bench/report"); err != nil {
		return errors.New("run this in the root of the checkout")
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
		if len(r.Peers) == 0 {
			continue
		}
		svg, err := picture(r.Peers)
		if err != nil {
			return err
		}
		if err := os.WriteFile(strings.TrimSuffix(file, ".json")+".svg", svg, 0o644); err != nil {
			return err
		}
	}
	var out bytes.Buffer
	if err := write(&out, results); err != nil {
		return err
	}
	return os.WriteFile("BENCHMARKS.md", out.Bytes(), 0o644)
}
