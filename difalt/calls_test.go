package difalt_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/kernel"
)

// A modelRun drives one run by random calls of the API. Whatever the calls, the run passes through the states
// of an undisturbed run of Solver.Run, whose U are in states, and ends like it.
type modelRun struct {
	t      *testing.T
	rng    *rand.Rand
	p      *difalt.Problem
	o      difalt.Options
	solver *difalt.Solver
	states []*kernel.Basis // U of node 0 after so many iterations, of the undisturbed run
	end    *difalt.Result
	exact  bool     // restored runs have the bits of the undisturbed run
	calls  []string // so far
}

// reopen replaces the solver with a new one.
func (m *modelRun) reopen() {
	if m.solver != nil {
		m.solver.Close()
	}
	m.o.Workers = 1 + m.rng.IntN(3)
	s, err := difalt.NewSolver(m.p, network(m.t, "ring", len(m.p.Nodes), 1), m.o)
	if err != nil {
		m.t.Fatal(err)
	}
	m.solver = s
}

// at fails unless the solver is in the state of the undisturbed run after so many iterations.
func (m *modelRun) at(iteration int) {
	m.t.Helper()
	if iteration >= len(m.states) {
		m.fatal("iteration %d of %d", iteration, len(m.states)-1)
	}
	u, want := m.solver.U()[0], m.states[iteration]
	if m.exact && !slices.Equal(u.Data(), want.Data()) {
		m.fatal("iteration %d has another U, %g apart", iteration, difalt.SubspaceDistance(u, want))
	}
}

func (m *modelRun) fatal(format string, values ...any) {
	m.t.Helper()
	m.t.Fatalf("%v, calls %v: %s", m.o.Method, m.calls, fmt.Sprintf(format, values...))
}

// result fails unless the result in the middle of a run is that of the current state.
func (m *modelRun) result() int {
	m.t.Helper()
	res, err := m.solver.Result()
	if errors.Is(err, difalt.ErrNotStarted) {
		return -1
	}
	if err != nil || !slices.Equal(res.U[0].Data(), m.solver.U()[0].Data()) {
		m.fatal("a result: %v", err)
	}
	g := kernel.NewGroup(m.p.Nodes[0], m.o.Rank)
	g.Minimize(res.U[0], m.o.Ridge, nil)
	for k, v := range res.B[0] {
		if d := v - g.B[k]; !(d*d <= 1e-18*(1+v*v)) {
			m.fatal("b[%d] is %v, and %v from the samples", k, v, g.B[k])
		}
	}
	m.at(res.Iterations)
	return res.Iterations
}

// restore continues the run in a new solver.
func (m *modelRun) restore() {
	m.t.Helper()
	snapshot, err := m.solver.Snapshot()
	if errors.Is(err, difalt.ErrNotStarted) {
		m.reopen()
		return
	}
	text, failed := snapshot.MarshalBinary()
	var read difalt.Snapshot
	if err := errors.Join(err, failed, read.UnmarshalBinary(text)); err != nil {
		m.fatal("%v", err)
	}
	if err := m.solver.Restore(&read); err == nil {
		m.fatal("Restore in the middle of a run is no error")
	}
	m.reopen()
	if m.rng.IntN(4) == 0 {
		if err := m.solver.Restore(nil); err == nil {
			m.fatal("no error for no snapshot")
		}
	}
	if err := m.solver.Restore(&read); err != nil {
		m.fatal("%v", err)
	}
	m.at(read.Iteration())
}

// interrupt ends the run by a context, and continues it from the snapshot of that end.
func (m *modelRun) interrupt() {
	m.t.Helper()
	ctx, cancel := context.WithCancel(m.t.Context())
	cancel()
	started := m.result() >= 0
	status, err := m.solver.Step(ctx)
	again, same := m.solver.Step(m.t.Context())
	if status != difalt.Canceled || !errors.Is(err, context.Canceled) || again != status || same != err {
		m.fatal("a step with a context that has ended: %v, %v, and then %v, %v", status, err, again, same)
	}
	if res, err := m.solver.Run(m.t.Context()); started != (res != nil) || !errors.Is(err, context.Canceled) {
		m.fatal("Run after that: %v, %v", res, err)
	}
	if started {
		m.restore()
	} else {
		m.reopen()
	}
}

// loop takes some steps by Iterations and stops by a break, which ends the run; it continues from a snapshot.
func (m *modelRun) loop() (ended bool) {
	m.t.Helper()
	left := m.rng.IntN(4)
	for rec, err := range m.solver.Iterations(m.t.Context()) {
		if err != nil {
			m.fatal("%v", err)
		}
		m.at(rec.Iteration)
		if left == 0 {
			break
		}
		left--
	}
	if status, _ := m.solver.Step(m.t.Context()); status != difalt.Canceled {
		return true
	}
	m.restore()
	return false
}

// play makes random calls until the run ends, and compares its end.
func (m *modelRun) play() {
	m.t.Helper()
	m.reopen()
	defer func() { m.solver.Close() }()
	ended := false
	for count := 0; !ended; count++ {
		call := []string{"step", "step", "step", "loop", "result", "restore", "interrupt", "run"}[m.rng.IntN(8)]
		if call == "run" && count < 6 {
			continue
		}
		m.calls = append(m.calls, call)
		switch call {
		case "step":
			status, err := m.solver.Step(m.t.Context())
			if err != nil {
				m.fatal("%v", err)
			}
			ended = status != difalt.Running
		case "loop":
			ended = m.loop()
		case "result":
			m.result()
		case "restore":
			m.restore()
		case "interrupt":
			m.interrupt()
		case "run":
			res, err := m.solver.Run(m.t.Context())
			if err != nil || res == nil {
				m.fatal("%v", err)
			}
			ended = true
		}
	}
	res, err := m.solver.Result()
	if err != nil || res.Status != m.end.Status {
		m.fatal("the run ends as %v, %v; want %v", res.Status, err, m.end.Status)
	}
	distance := difalt.SubspaceDistance(res.U[0], m.end.U[0])
	if m.exact && (outcome(res, nil) != outcome(m.end, nil)) || distance > 1e-7 {
		m.fatal("another end, %g apart:\n%.200s\n%.200s", distance, outcome(res, nil), outcome(m.end, nil))
	}
}

// TestCalls: random sequences of calls of Step, Iterations, Result, Snapshot, Restore and Run, with contexts
// that end, and with one to three workers, pass through the states of an undisturbed run and end like it.
// Accelerated, which restarts without its memory, ends at the same minimum.
func TestCalls(t *testing.T) {
	sequences := uint64(6)
	if longtest.Enabled() {
		sequences = 200
	}
	p := draw(t, 4, 12, 24, 30, 2, 2, .05, 1)
	for _, o := range []difalt.Options{
		{Iterations: 25, Rounds: 3}, {Method: difalt.AltGDmin, Iterations: 25},
		{Method: difalt.DecAltGDmin, Iterations: 25},
		{Method: difalt.DGD, Iterations: 25, EveryIteration: true}, {Iterations: 5, SampleSplit: true},
		{Method: difalt.Accelerated, Iterations: 300}, {Method: difalt.Accelerated, Iterations: 300, Ridge: .5},
	} {
		o.Rank, o.Workers = 2, 1
		var states []*kernel.Basis
		o.PowerIterations = 4
		s := newSolver(t, p, network(t, "ring", 4, 1), o)
		for range s.Iterations(t.Context()) {
			states = append(states, s.U()[0].Clone())
		}
		end, err := s.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for seed := range sequences {
			m := &modelRun{
				t: t, rng: rand.New(rand.NewPCG(seed, 4)), p: p, o: o, states: states, end: end,
				exact: o.Method != difalt.Accelerated,
			}
			if !m.exact { // more iterations after a restart
				m.states = slices.Concat(states, slices.Repeat(states[:1], 300))
			}
			m.play()
		}
	}
}
