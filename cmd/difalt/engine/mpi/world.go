//go:build mpi

package mpi

/*
#include "bridge.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"github.com/difalt/difalt/consensus/wire"
)

// A World is the processes that a launcher has started together. It serves one
// goroutine at a time.
type World struct {
	rank, size int
	pending    bool         // a transport waits for somebody
	keep       []*Transport // memory that MPI may still write to
	yielded    time.Time
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

// Rank returns the number of this process, which is that of the node that it hosts.
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

// World.wait polls: without pauses first, since the others are about to answer, and then at growing
// intervals, so that computing processes get the processors.
const (
	tries   = 20 // of a call from Go
	eager   = 2 * time.Millisecond
	laziest = time.Millisecond
	slice   = 8 * time.Millisecond
	tick    = 100 * time.Millisecond // the longest pause of this process that counts
)

var errLate = errors.New("late")

// wait calls turn until it is done. It returns ctx.Err(), errLate, or the error of turn; then
// it can be called again. idle is called now and then.
func (w *World) wait(ctx context.Context, turn func() (done bool, err error), timeout time.Duration, idle func(waited time.Duration)) error {
	var waited time.Duration
	last := time.Now()
	for {
		w.yield(last)
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
		if idle != nil {
			idle(waited)
		}
		time.Sleep(min(waited/32, laziest))
	}
}

func (w *World) complete(ctx context.Context, r *C.MPI_Request, timeout time.Duration) error {
	var open C.int
	return w.wait(ctx, func() (bool, error) {
		err := check(C.difalt_test(1, r, tries, &open))
		return open == 1, err
	}, timeout, nil)
}

// yield lets the scheduler of Go run something else, some time before it would insist: from
// a goroutine that has run for 10 ms it takes the processor away in every call of C, and that
// takes longer than a round.
func (w *World) yield(now time.Time) {
	if now.Sub(w.yielded) > slice {
		runtime.Gosched()
		w.yielded = now
	}
}

// A hello is the first message of every process to all.
type hello struct {
	Version  int            `json:"version"`
	Trouble  string         `json:"trouble,omitempty"`
	Settings []wire.Setting `json:"terms"`
}

const protocolVersion = 2

// agree returns an error unless all processes send the same settings. All processes return together.
func (w *World) agree(ctx context.Context, own hello, timeout time.Duration) error {
	all, err := w.gather(ctx, own, timeout)
	if err != nil {
		return err
	}
	for rank, h := range all {
		if h.Trouble != "" && rank != w.rank {
			return &wire.PeerError{Peer: rank, Kind: wire.Closed, Err: errors.New(h.Trouble)}
		}
	}
	for rank, h := range all {
		if text := wire.Difference(h.compared(), fmt.Sprintf("at node %d", rank), own.compared(), fmt.Sprintf("at node %d", w.rank)); text != "" {
			return &wire.PeerError{Peer: rank, Kind: wire.Refused, Err: errors.New(text)}
		}
	}
	return nil
}

func (h *hello) compared() []wire.Setting {
	return append([]wire.Setting{{Name: "the version of the protocol", Value: strconv.Itoa(h.Version)}}, h.Settings...)
}

func (w *World) gather(ctx context.Context, own hello, timeout time.Duration) ([]hello, error) {
	text, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	collect := func(code C.int, r *C.MPI_Request) error {
		err := check(code)
		if err == nil {
			err = w.complete(ctx, r, timeout)
		}
		if w.pending = err != nil; errors.Is(err, errLate) {
			err = fmt.Errorf("mpi: not all of the %d processes are there after %v", w.size, timeout)
		}
		return err
	}
	// After an error this memory is never freed: MPI may still write to it.
	request := (*C.MPI_Request)(C.calloc(1, C.sizeof_MPI_Request))
	lengths := unsafe.Slice((*C.int)(C.calloc(C.size_t(2*w.size+1), C.sizeof_int)), 2*w.size+1)
	counts, at, mine := lengths[:w.size], lengths[w.size:2*w.size], &lengths[2*w.size]
	*mine = C.int(len(text))
	if err := collect(C.difalt_gather(unsafe.Pointer(mine), C.sizeof_int, unsafe.Pointer(&counts[0]), request), request); err != nil {
		return nil, err
	}
	total := C.int(0)
	for k, n := range counts {
		at[k] = total
		total += n
	}
	texts := unsafe.Slice((*byte)(C.malloc(C.size_t(total))), total)
	if err := collect(C.difalt_gatherv(C.CBytes(text), *mine, unsafe.Pointer(&texts[0]), &counts[0], &at[0], request), request); err != nil {
		return nil, err
	}
	all := make([]hello, w.size)
	for k := range all {
		if err := json.Unmarshal(texts[at[k]:][:counts[k]], &all[k]); err != nil {
			return nil, &wire.PeerError{Peer: k, Kind: wire.Protocol, Err: fmt.Errorf("not a greeting: %w", err)}
		}
	}
	return all, nil
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
