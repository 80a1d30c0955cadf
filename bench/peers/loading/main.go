// Command loading reads a table, packs its tasks, and runs a few iterations on them.
// It reports speed and memory after each, to be compared with the readers of NumPy,
// pandas and Arrow on the same file (peers.py).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/difalt/difalt/dataset"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

func main() {
	log.SetFlags(0)
	o := dataset.TableOptions{}
	flag.StringVar(&o.Task, "task", "task", "`COLUMN` of tasks")
	flag.StringVar(&o.Target, "target", "y", "`COLUMN` of targets")
	single := flag.Bool("float32", false, "keep features as float32")
	nodes := flag.Int("nodes", 10, "pack the tasks on `N` nodes; 0 does not pack")
	iterations := flag.Int("iterations", 0, "run `N` iterations on the packed tasks")
	flag.Parse()
	if *single {
		o.Storage = kernel.Float32
	}
	if err := load(flag.Args(), o, *nodes, *iterations); err != nil {
		log.Fatal(err)
	}
}

func load(paths []string, o dataset.TableOptions, nodes, iterations int) error {
	megabytes := 0.0
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		megabytes += float64(info.Size()) / 1e6
	}
	start := time.Now()
	t, err := dataset.ReadFiles(paths, o)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	fmt.Printf("read:   %7.2f s, %.0f MB/s, %d rows, %s\n", seconds, megabytes/seconds, t.Rows(), peak())
	if nodes == 0 {
		return nil
	}
	if len(t.Nodes()) == 0 {
		if err := t.AssignBlocks(nodes); err != nil {
			return err
		}
	}
	layout, err := t.Layout()
	if err != nil {
		return err
	}
	start = time.Now()
	packed, _ := t.PackAndRelease(layout, nil, len(t.Features()), nil)
	p := &difalt.Problem{Nodes: packed}
	bytes := 0
	for _, tasks := range p.Nodes {
		bytes += tasks.Bytes() + 8*tasks.TotalSamples()
	}
	fmt.Printf("packed: %7.2f s, %.0f MB, %s\n", time.Since(start).Seconds(), float64(bytes)/1e6, peak())
	if iterations == 0 {
		return nil
	}
	return run(p, iterations)
}

func run(p *difalt.Problem, iterations int) error {
	g, err := topology.Complete(len(p.Nodes))
	if err != nil {
		return err
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return err
	}
	start := time.Now()
	res, err := difalt.Run(context.Background(), p, &difalt.Network{Weights: w},
		difalt.Options{Rank: 4, Rounds: 10, PowerIterations: 2, Iterations: iterations})
	if err != nil {
		return err
	}
	fmt.Printf("run:    %7.2f s, %d iterations, %s\n", time.Since(start).Seconds(), res.Iterations, peak())
	return nil
}

// peak returns the largest memory that the process had, as Linux counts it.
func peak() string {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "memory unknown"
	}
	for _, line := range strings.Split(string(b), "\n") {
		if s, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			return "peak memory " + strings.TrimSpace(s)
		}
	}
	return "memory unknown"
}
