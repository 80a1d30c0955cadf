//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/memory"
)

// tolerance is the largest relative Frobenius distance of an answer from the
// reference's.
const tolerance = 1e-9

// A runner compares the peers on one shape.
type runner struct {
	*builder
	peers   []peer
	shape   measure.Shape
	seconds float64
	folder  string // of the problem and answers
}

// compare measures the peers on each number of threads.
func (r *runner) compare(ctx context.Context, threads []int) ([]comparison, error) {
	var err error
	if r.folder, err = os.MkdirTemp("", "difalt-peers-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(r.folder)
	fmt.Fprintf(os.Stderr, "%s: drawing the data\n", r.shape.Name)
	p := measure.NewProblem(r.shape, 1)
	if err := writeProblem(r.problem(), p); err != nil {
		return nil, err
	}
	var all []comparison
	for _, n := range threads {
		c, err := r.compareOn(ctx, n)
		if err != nil {
			return nil, err
		}
		all = append(all, *c)
	}
	return all, nil
}

func (r *runner) problem() string { return filepath.Join(r.folder, "problem") }

// compareOn measures all peers on n threads. When they do not fit in memory
// together they run in batches, each with the reference, to which ratios are.
func (r *runner) compareOn(ctx context.Context, n int) (*comparison, error) {
	c := &comparison{Shape: r.shape.Name, Threads: n}
	references, others := r.peers[:len(always)], r.peers[len(always):]
	size := len(others)
	if free, known, err := memory.Available(); err != nil {
		return nil, err
	} else if known {
		// Interpreters and compilers take some hundred megabytes besides the samples,
		// and while a peer reads its problem it may hold it twice.
		each := r.shape.Bytes()*5/4 + 300<<20
		size = min(size, max(int(free)*8/10/each-len(references)-1, 1))
	}
	for first := true; first || len(others) > 0; first = false {
		k := min(size, len(others))
		batch := append(append([]peer(nil), references...), others[:k]...)
		others = others[k:]
		times, err := r.batch(ctx, batch, n)
		if err != nil {
			return nil, err
		}
		if first {
			c.ReadMS, c.FMAMS = times[readFloor].MS, times[fmaFloor].MS
			c.Peers = times[reference:]
		} else {
			c.Peers = append(c.Peers, times[len(always):]...)
		}
	}
	return c, nil
}

// batch starts, checks and times peers, of which the first are the floors and the
// reference. A process that fails on the way becomes absent.
func (r *runner) batch(ctx context.Context, peers []peer, n int) ([]peerTime, error) {
	times := make([]peerTime, len(peers))
	var timers []measure.Timer
	var of []int // the peer of each timer
	var want *answer
	absent := func(i int, err error) error {
		if times[i].Absent = err.Error(); i < len(always) {
			return fmt.Errorf("%s: %w", times[i].Name, err)
		}
		return nil
	}
	for i, p := range peers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fmt.Fprintf(os.Stderr, "%s, threads %d: starting %s\n", r.shape.Name, n, p.name)
		times[i].Name = p.name
		k, err := r.ready(p, n, &want)
		if err != nil {
			if err := absent(i, err); err != nil {
				return nil, err
			}
			continue
		}
		defer k.end()
		times[i].Version = k.version
		timers, of = append(timers, k.run), append(of, i)
	}
	fmt.Fprintf(os.Stderr, "%s, threads %d: measuring\n", r.shape.Name, n)
	timings, err := measure.Turns(ctx, time.Duration(r.seconds*float64(time.Second)), timers...)
	if err != nil {
		return nil, err
	}
	for j, t := range timings {
		if times[of[j]].MS = t.MS; t.Err != nil {
			if err := absent(of[j], t.Err); err != nil {
				return nil, err
			}
		}
	}
	for i := range times {
		times[i].Ratio = times[i].MS / times[reference].MS
	}
	return times, nil
}

// ready builds and starts a peer and checks its answer. The reference's is kept in
// want.
func (r *runner) ready(p peer, n int, want **answer) (*process, error) {
	command, err := p.build(r.builder)
	if err != nil {
		return nil, err
	}
	k, err := start(p, command, r.problem(), n)
	if err != nil || p.name == always[readFloor] || p.name == always[fmaFloor] {
		return k, err
	}
	err = r.check(k, want)
	if err != nil {
		k.end()
		return nil, err
	}
	return k, nil
}

// check compares a peer's answer with want; the first answer becomes want.
func (r *runner) check(k *process, want **answer) error {
	path := filepath.Join(r.folder, "answer")
	line, err := k.request("check " + path)
	if err != nil {
		return err
	}
	if line != "ok" {
		return fmt.Errorf("said %q instead of ok", line)
	}
	got, err := readAnswer(path, r.shape.Tasks, r.shape.Features, r.shape.Rank)
	if err != nil {
		return err
	}
	if *want == nil {
		*want = got
		return nil
	}
	if dist := got.distance(*want); !(dist <= tolerance) {
		return fmt.Errorf("wrong answer: relative distance %.1e", dist)
	}
	return nil
}
