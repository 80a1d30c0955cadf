//go:build mpi

package mpi

/*
#include "bridge.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

// A World is the processes that a launcher has started together. It serves one goroutine at a time.
type World struct {
	rank, size int
	pending    bool         // a transport waits for another process
	keep       []*Transport // memory that MPI may still write to
}

var world *World

// Init joins the other processes of the job. It is called once in a process; Leave ends
// what it began. Without a launcher the process is alone, with rank 0 of 1.
func Init() (*World, error) {
	if world != nil {
		return nil, errors.New("mpi: Init was called before")
	}
	if err := check(C.difalt_init()); err != nil {
		return nil, fmt.Errorf("mpi: MPI_Init_thread: %w", err)
	}
	world = &World{rank: int(C.difalt_rank()), size: int(C.difalt_size())}
	return world, nil
}

// Rank returns the number of this process, which is the number of its node.
func (w *World) Rank() int { return w.rank }

// Size returns how many processes there are.
func (w *World) Size() int { return w.size }

// check returns the error that MPI means by a code.
func check(code C.int) error {
	if code == C.MPI_SUCCESS {
		return nil
	}
	var text [C.MPI_MAX_ERROR_STRING]C.char
	var n C.int
	C.MPI_Error_string(code, &text[0], &n)
	return errors.New(C.GoStringN(&text[0], n))
}

// World.wait polls: without pauses first, since other processes are about to answer, and then at growing
// intervals, so that computing processes get the processors.
const (
	tries   = 20 // of a call from Go
	eager   = 2 * time.Millisecond
	laziest = time.Millisecond
	tick    = 100 * time.Millisecond // the longest pause of this process that counts
)

var errLate = errors.New("late")

// wait calls turn until it is done. It returns ctx.Err(), errLate, or the error of turn.
func (w *World) wait(ctx context.Context, turn func() (done bool, err error), timeout time.Duration) error {
	var waited time.Duration
	last := time.Now()
	for {
		runtime.Gosched() // before the scheduler insists, which takes longer than a round
		if done, err := turn(); done || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		now := time.Now()
		waited, last = waited+min(now.Sub(last), tick), now
		if waited < eager {
			continue
		}
		if waited >= timeout {
			return errLate
		}
		time.Sleep(min(waited/32, laziest))
	}
}

func (w *World) complete(ctx context.Context, r *C.MPI_Request, timeout time.Duration) error {
	var open C.int
	return w.wait(ctx, func() (bool, error) {
		err := check(C.difalt_test(1, r, tries, &open))
		return open == 1, err
	}, timeout)
}

// allThere returns when every process of the job has called it.
func (w *World) allThere(ctx context.Context, timeout time.Duration) error {
	// After an error this memory is never freed: MPI may still write to it.
	request := (*C.MPI_Request)(C.calloc(1, C.sizeof_MPI_Request))
	err := check(C.difalt_all_there(request))
	if err == nil {
		err = w.complete(ctx, request, timeout)
	}
	w.pending = err != nil
	if errors.Is(err, errLate) {
		err = fmt.Errorf("mpi: not all of the %d processes are there after %v", w.size, timeout)
	}
	return err
}

// Leave ends MPI in this process, before it exits with the given code. If not all other processes leave
// within timeout, it ends the whole job, since MPI has no other way to inform them. Call it after everything
// is reported.
func (w *World) Leave(code int, timeout time.Duration) {
	request := (*C.MPI_Request)(C.calloc(1, C.sizeof_MPI_Request))
	err := check(C.difalt_barrier(request))
	if err == nil && !w.pending {
		err = w.complete(context.Background(), request, timeout)
	}
	if err == nil && !w.pending {
		err = check(C.MPI_Finalize())
	}
	if err != nil || w.pending {
		C.difalt_abort(C.int(max(code, 1)))
	}
}
