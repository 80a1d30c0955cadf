//go:build linux

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/topology"
)

// A shape is a problem, and where its samples are.
type shape struct {
	Tasks, Samples, Features, Rank, Nodes, Workers int
	Folder, Group                                  string
}

// An outcome is what a run took.
type outcome struct {
	Start               float64 // seconds to the first iteration: the estimate, and the copy
	Iterations, Anchors int
	Between, Anchor     float64 // mean seconds of an iteration
	BetweenCPU          float64 // mean processor seconds, of all threads and of the system
	AnchorCPU           float64
	Read                float64 // mean bytes that an anchor reads from the disk
	Peak                int64   // bytes that the process had in memory
	Digest              string  // of the result
}

// A moment is by the clock, by the processors, and by what was read from disks.
type moment struct{ seconds, processor, read float64 }

var started = time.Now()

func now() moment {
	return moment{time.Since(started).Seconds(), processor(), float64(number("/proc/self/io", "read_bytes:"))}
}

// mean returns the seconds of an iteration over the run.
func (o *outcome) mean() float64 {
	n := float64(o.Iterations)
	return ((n-float64(o.Anchors))*o.Between + float64(o.Anchors)*o.Anchor) / n
}

func (o *outcome) print(where string, limit int64) {
	fmt.Printf("%-9s  %8.2f  %9.2f  %7.1f  %10d  %7d  %9.3f (%6.3f)  %9.3f (%6.3f)  %9.2f  %6.3f  %s\n",
		where, float64(limit)/1e9, float64(o.Peak)/1e9, o.Start, o.Iterations, o.Anchors, o.Between, o.BetweenCPU, o.Anchor, o.AnchorCPU, o.Read/1e9, o.mean(), o.Digest)
}

// child runs the problem once and prints the outcome as JSON.
func (s *shape) child() error {
	if err := enter(s.Group); err != nil {
		return err
	}
	data := synth.Data{Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Kappa: 3, Folder: s.Folder}
	p, err := data.Generate(context.Background(), s.Nodes, nil, 1, s.Workers)
	if err != nil {
		return err
	}
	g, err := topology.Complete(s.Nodes)
	if err != nil {
		return err
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		return err
	}
	net, err := consensus.New(w, nil)
	if err != nil {
		return err
	}
	o, last := outcome{}, now()
	var spent [2]moment // between anchors, and in them
	res, err := difalt.Run(context.Background(), p, net, difalt.Options{
		Method: difalt.Accelerated, Rank: s.Rank, MixedPrecision: true, Workers: s.Workers, Tolerance: 1e-10,
		Observer: func(r *difalt.Record) error {
			at, anchor := now(), min(r.Anchors, 1)
			took := moment{at.seconds - last.seconds, at.processor - last.processor, at.read - last.read}
			if last = at; r.Iteration == 0 {
				o.Start = took.seconds
				return nil
			}
			o.Iterations++
			o.Anchors += anchor
			spent[anchor].seconds += took.seconds
			spent[anchor].processor += took.processor
			spent[anchor].read += took.read
			return nil
		},
	})
	if err != nil {
		return err
	}
	if res.Status != difalt.Converged {
		return fmt.Errorf("the run ended with %v", res.Status)
	}
	between, anchors := float64(o.Iterations-o.Anchors), float64(o.Anchors)
	o.Between, o.BetweenCPU = spent[0].seconds/between, spent[0].processor/between
	o.Anchor, o.AnchorCPU, o.Read = spent[1].seconds/anchors, spent[1].processor/anchors, spent[1].read/anchors
	h := fnv.New64a()
	for _, u := range res.U {
		for _, v := range u.Data() {
			fmt.Fprintf(h, "%x", math.Float64bits(v))
		}
	}
	o.Digest = fmt.Sprintf("%016x", h.Sum64())
	o.Peak = number("/proc/self/status", "VmHWM:") << 10
	return json.NewEncoder(os.Stdout).Encode(&o)
}
