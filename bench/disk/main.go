//go:build linux

// Disk compares runs whose samples are in memory with runs whose samples are on disk, in a
// control group that may have a quarter of the memory that the former take. It needs Linux,
// root or a control group of one's own, and disk space for the samples:
//
//	go run ./bench/disk --folder DIR
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	s := shape{}
	flag.IntVar(&s.Tasks, "tasks", 3000, "number of tasks")
	flag.IntVar(&s.Samples, "samples", 64, "samples of a task")
	flag.IntVar(&s.Features, "features", 2048, "number of features")
	flag.IntVar(&s.Rank, "rank", 16, "rank")
	flag.IntVar(&s.Nodes, "nodes", 4, "number of nodes")
	flag.IntVar(&s.Workers, "workers", 2, "threads")
	flag.StringVar(&s.Folder, "folder", "", "folder on the disk to measure")
	times := flag.Int("runs", 1, "runs of each kind, in turns")
	part := flag.Int("part", 4, "give the run on disk one of so many parts of the memory")
	flag.StringVar(&s.Group, "group", "", "")
	child := flag.Bool("child", false, "")
	flag.Parse()
	var err error
	switch {
	case *child:
		err = s.child()
	case s.Folder == "":
		err = fmt.Errorf("--folder is missing: which disk?")
	default:
		err = compare(s, *times, *part)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench/disk:", err)
		os.Exit(1)
	}
}

// compare runs both kinds in turns and prints a line for each.
func compare(s shape, times, part int) error {
	fmt.Printf("%d tasks of %d samples with %d features, rank %d, %d nodes, %d threads: X takes %.2f GB in float64\n\n",
		s.Tasks, s.Samples, s.Features, s.Rank, s.Nodes, s.Workers, float64(s.Tasks*s.Samples*s.Features*8)/1e9)
	fmt.Println("samples    limit GB  memory GB  start s  iterations  anchors  between s (CPU)     anchor s (CPU)    GB read  mean s  digest")
	for range times {
		in, err := run(s, "", 0)
		if err != nil {
			return err
		}
		in.print("memory", 0)
		limit := in.Peak / int64(part)
		on, err := run(s, s.Folder, limit)
		if err != nil {
			return err
		}
		on.print("disk", limit)
		fmt.Printf("an iteration on disk takes %.2f times as long between anchors, %.2f times over the run\n", on.Between/in.Between, on.mean()/in.mean())
		if on.Digest != in.Digest {
			return fmt.Errorf("the results differ")
		}
	}
	return nil
}

// run runs a child, in a control group if there is a limit.
func run(s shape, folder string, limit int64) (*outcome, error) {
	args := []string{"-child", "-folder", folder}
	for name, v := range map[string]int{"tasks": s.Tasks, "samples": s.Samples, "features": s.Features, "rank": s.Rank, "nodes": s.Nodes, "workers": s.Workers} {
		args = append(args, fmt.Sprintf("-%s=%d", name, v))
	}
	if limit > 0 {
		group, err := newGroup(limit)
		if err != nil {
			return nil, err
		}
		defer os.Remove(group)
		args = append(args, "-group", group)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("samples in %q: %w", strings.TrimSpace(folder), err)
	}
	o := &outcome{}
	return o, json.Unmarshal(text, o)
}
