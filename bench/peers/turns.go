//go:build unix

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/difalt/difalt/bench/peers/internal/protocol"
	"github.com/difalt/difalt/internal/measure"
)

// check compares a peer's answer with want; the first answer becomes want.
func (r *runner) check(k *process, want **protocol.Answer) error {
	path := filepath.Join(r.folder, "answer")
	line, err := k.request("check " + path)
	if err != nil {
		return err
	}
	if line != "ok" {
		return fmt.Errorf("said %q instead of ok", line)
	}
	got, err := protocol.ReadAnswer(path, r.shape.Tasks, r.shape.Features, r.shape.Rank)
	if err != nil {
		return err
	}
	if *want == nil {
		*want = got
		return nil
	}
	if dist := got.Distance(*want); !(dist <= tolerance) {
		return fmt.Errorf("wrong answer: relative distance %.1e", dist)
	}
	return nil
}

// inTurns times the running processes in turns and stores medians. A process that
// fails on the way becomes absent.
func (r *runner) inTurns(ctx context.Context, running []*process, times []measure.PeerTime) error {
	turns := make([][]float64, len(running))
	repeat := make([]int, len(running))
	length := time.Duration(r.seconds * float64(time.Second))
	for round, begin := 0, time.Now(); round < 5 || time.Since(begin) < length; round++ {
		for i := range running {
			// Each round begins with another peer, so that none always follows the same.
			i = (i + round) % len(running)
			k := running[i]
			if k == nil {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			ms, err := k.turn(&repeat[i])
			if err != nil {
				times[i].Absent = err.Error()
				k.end()
				running[i] = nil
				continue
			}
			turns[i] = append(turns[i], ms)
		}
	}
	for i, k := range running {
		if k != nil {
			times[i].MS = measure.Median(turns[i])
		}
	}
	for i, k := range running[:len(always)] {
		if k == nil {
			return fmt.Errorf("%s: %s", times[i].Name, times[i].Absent)
		}
	}
	return nil
}

// turn times one turn of a process. The first one finds out how many iterations
// make a turn.
func (k *process) turn(repeat *int) (float64, error) {
	if *repeat == 0 {
		ms, err := k.run(1)
		if err != nil {
			return 0, err
		}
		*repeat = measure.Repeats(time.Duration(ms * float64(time.Millisecond)))
	}
	if _, err := k.run(1); err != nil { // which is not timed
		return 0, err
	}
	return k.run(*repeat)
}
