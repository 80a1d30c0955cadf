package difalt_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// An entryPoint is one way to drive a solver to the end of its run.
type entryPoint struct {
	name string
	open func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error)
}

var entryPoints = []entryPoint{
	{"Run", func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) { return s.Run(ctx) }},
	{"Step", func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
		status, err := difalt.Running, error(nil)
		for status == difalt.Running && err == nil {
			status, err = s.Step(ctx)
		}
		return ended(s, status, err)
	}},
	{"Iterations", func(ctx context.Context, s *difalt.Solver) (*difalt.Result, error) {
		for _, err := range s.Iterations(ctx) {
			if err != nil {
				status, _ := s.Step(ctx)
				return ended(s, status, err)
			}
		}
		status, err := s.Step(ctx)
		return ended(s, status, err)
	}},
}

// ended returns the result of a run that ended with a status.
func ended(s *difalt.Solver, status difalt.Status, err error) (*difalt.Result, error) {
	if status == difalt.Running {
		return nil, err
	}
	res, failed := s.Result()
	return res, errors.Join(err, failed)
}

// outcome describes the end of a run at one process completely, but for times and traffic.
func outcome(res *difalt.Result, err error) string {
	text := fmt.Sprint("error: ", err)
	if res == nil {
		return text
	}
	text += fmt.Sprintf(", %v after %d iterations, residual %x, statistical error %x, objective %x, distance %x;",
		res.Status, res.Iterations, res.Residual, res.StatisticalError, res.Last.Objective, res.Last.SDMax)
	for i, u := range res.U {
		text += fmt.Sprintf(" %x %x", u.Data(), res.B[i])
	}
	return text
}

// TestEndings: a run ends with the same status, error and result through every entry point, at a saddle
// point, when it is interrupted, when it diverges and at the limit, in one process and in three.
func TestEndings(t *testing.T) {
	saddle, w := atSaddle(), weights(t, "ring", 4, 1, topology.Metropolis)
	plain := draw(t, 4, 12, 40, 15, 2, 2, .1, 1)
	for _, c := range []struct {
		name   string
		p      *difalt.Problem
		o      difalt.Options
		stopAt int // interrupts the run there
		want   difalt.Status
		fault  error
	}{
		{"saddle", saddle, difalt.Options{Method: difalt.Accelerated}, -1, difalt.Converged, nil},
		{"interrupted", plain, difalt.Options{Method: difalt.Accelerated}, 3, difalt.Canceled, context.Canceled},
		{"interrupted gossip", plain, difalt.Options{}, 13, difalt.Canceled, context.Canceled},
		{"diverged", plain, difalt.Options{Step: 1}, -1, difalt.Diverged, difalt.ErrDiverged},
		{"limit", plain, difalt.Options{Iterations: 7}, -1, difalt.IterationLimit, nil},
	} {
		for _, groups := range [][]int{{4}, {1, 2, 1}} {
			want := map[int]string{}
			for _, d := range entryPoints {
				name := fmt.Sprint(c.name, " through ", d.name, " in ", len(groups))
				results, errs := endAll(t, w, groups, c.p, c.o, c.stopAt, d)
				for k, err := range errs {
					res := results[k]
					if res == nil || res.Status != c.want || !errors.Is(err, c.fault) ||
						(err == nil) != (c.fault == nil) {
						t.Fatalf("%s: process %d ends as %v", name, k, outcome(res, err))
					}
					if c.want == difalt.Converged && res.Last.SDMax > 1e-6 {
						t.Errorf("%s: converged %g from the truth", name, res.Last.SDMax)
					}
					text := outcome(res, err)
					if want[k] == "" {
						want[k] = text
					}
					if text != want[k] {
						t.Errorf("%s: process %d has another end than through Run:\n%.200s\n%.200s", name, k, text,
							want[k])
					}
				}
			}
		}
	}
}

// endAll runs a problem to the end through an entry point, in processes of so many nodes each. Every process
// ends its context at iteration stopAt.
func endAll(t *testing.T, w *topology.Weights, sizes []int, p *difalt.Problem, o difalt.Options, stopAt int,
	d entryPoint) (
	[]*difalt.Result, []error) {
	var groups [][]int
	for at, k := 0, 0; k < len(sizes); k++ {
		var group []int
		for range sizes[k] {
			group = append(group, at)
			at++
		}
		groups = append(groups, group)
	}
	one := func(k int, net *consensus.Network) (*difalt.Result, error) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		own := o
		own.Rank, own.Workers = 2, 1
		own.Observer = func(r *difalt.Record) error {
			if r.Iteration == stopAt {
				cancel()
			}
			return nil
		}
		s, err := difalt.NewSolver(part(p, groups[k]), net, own)
		if err != nil {
			return nil, err
		}
		defer s.Close()
		res, err := d.open(ctx, s)
		again, sameErr := s.Step(ctx)
		if res != nil && (again != res.Status || sameErr != nil && !errors.Is(err, sameErr)) {
			t.Errorf("%s: Step after the end says %v, %v", d.name, again, sameErr)
		}
		return res, err
	}
	if len(groups) == 1 {
		res, err := one(0, connect(t, w, nil))
		return []*difalt.Result{res}, []error{err}
	}
	return apart(t, w, groups, one)
}

// TestEndConfirms: whatever the end of a run, through every entry point and in Initialize, no node returns a
// result if the last total on its way to one node had another bit.
func TestEndConfirms(t *testing.T) {
	p, w := draw(t, 3, 12, 24, 15, 2, 1.5, 0, 1), weights(t, "path", 3, 1, topology.Metropolis)
	lie, groups := transport.Link{Node: 1, Peer: 0}, together(3, 3)
	initialize := entryPoint{"Initialize", nil}
	for _, c := range []struct {
		name string
		o    difalt.Options
		want difalt.Status
	}{
		{"converged", difalt.Options{Method: difalt.Accelerated}, difalt.Converged},
		{"gossip", difalt.Options{Tolerance: 1e-3}, difalt.Converged},
		{"limit", difalt.Options{Iterations: 10}, difalt.IterationLimit},
		{"diverged", difalt.Options{Step: 1}, difalt.Diverged},
	} {
		for _, d := range append(entryPoints, initialize) {
			sums := 0 // that came down the link in an honest run, without the one of Confirm
			for _, lies := range []bool{false, true} {
				seen := 0
				tap := testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
					if l != lie || f.Channel() != testnet.Sum {
						return
					}
					seen++
					if lies && seen == sums {
						f.Code()[0] ^= 1
					}
				}}
				_, errs := tapped(t, w, groups, tap, func(k int, net *consensus.Network) (*difalt.Result, error) {
					o := c.o
					o.Rank, o.Workers = 2, 1
					if d.open == nil {
						_, err := difalt.Initialize(t.Context(), part(p, groups[k]), net, o)
						return nil, err
					}
					s, err := difalt.NewSolver(part(p, groups[k]), net, o)
					if err != nil {
						return nil, err
					}
					defer s.Close()
					res, err := d.open(t.Context(), s)
					if !lies && (res == nil || res.Status != c.want) {
						t.Errorf("%s: %v, want %v", c.name, outcome(res, err), c.want)
					}
					return res, err
				})
				for node, err := range errs {
					if lies != errors.Is(err, consensus.ErrInconsistent) {
						t.Errorf("%s through %s: node %d ends with %v, lies: %v", c.name, d.name, node, err, lies)
					}
				}
				sums = seen - 1
			}
		}
	}
}

// TestInner: an inner run ends where the stop rule holds, at a saddle point too, and leaves it to the caller
// to let the nodes confirm.
func TestInner(t *testing.T) {
	res := run(t, atSaddle(), network(t, "ring", 4, 1),
		difalt.Options{Rank: 2, Method: difalt.Accelerated, Tolerance: 1e-5, Inner: true})
	if res.Status != difalt.Converged || res.Last.SDMax < .9 {
		t.Errorf("%v, %.2g from the truth: the test starts at no saddle point", res.Status, res.Last.SDMax)
	}
	p, w := draw(t, 3, 12, 24, 15, 2, 1.5, 0, 1), weights(t, "path", 3, 1, topology.Metropolis)
	gathers := func(inner bool) (count int) {
		link := transport.Link{Node: 1, Peer: 0}
		tap := testnet.Tap{Sent: func(l transport.Link, f testnet.Frame) {
			if l == link && f.Channel() == testnet.Keys {
				count++
			}
		}}
		_, errs := tapped(t, w, together(3, 3), tap, func(k int, net *consensus.Network) (*difalt.Result, error) {
			o := difalt.Options{Rank: 2, Method: difalt.Accelerated, Inner: inner, Workers: 1}
			return difalt.Run(t.Context(), part(p, []int{k}), net, o)
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		return count
	}
	if inner, outer := gathers(true), gathers(false); inner == 0 || inner >= outer {
		t.Errorf("%d frames with keys and tags in an inner run, %d otherwise", inner, outer)
	}
}

// TestComputeTime: execution times of the start and of the iterations are without the time that messages
// take. All sleeps are at least as long as they say, so that the rest bounds the arithmetic on any machine.
func TestComputeTime(t *testing.T) {
	const delay = 2 * time.Millisecond
	p, w := draw(t, 2, 10, 12, 15, 2, 2, 0, 1), weights(t, "complete", 2, 1, topology.LazyMetropolis)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.Accelerated} {
		slept := [2]time.Duration{}
		tap := testnet.Tap{Sent: func(l transport.Link, _ testnet.Frame) {
			time.Sleep(delay)
			slept[l.Node] += delay
		}}
		_, errs := tapped(t, w, together(2, 2), tap, func(k int, net *consensus.Network) (*difalt.Result, error) {
			start := time.Now()
			o := difalt.Options{Rank: 2, Method: method, Iterations: 30, EveryIteration: true, Workers: 1}
			res, err := difalt.Run(t.Context(), part(p, []int{k}), net, o)
			if err != nil {
				return nil, err
			}
			all := res.Last.Compute + res.Initial.Compute
			if most := time.Since(start) - slept[k]; all > most || all <= 0 {
				t.Errorf("%v, node %d: %v of arithmetic, of %v besides messages", method, k, all, most)
			}
			return res, nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLoggedStep: the warning of a diverged run has the step that was taken, through every entry point.
func TestLoggedStep(t *testing.T) {
	p := draw(t, 4, 12, 40, 15, 2, 2, 0, 1)
	for _, d := range entryPoints {
		var log bytes.Buffer
		o := difalt.Options{Rank: 2, Step: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		_, _ = d.open(t.Context(), newSolver(t, p, network(t, "ring", 4, 1), o))
		if !strings.Contains(log.String(), " step=1\n") || strings.Count(log.String(), "the run has ended") != 1 {
			t.Errorf("%s: no step of 1 in %q", d.name, log.String())
		}
	}
}

// TestPlace: an error of the network tells where the algorithm was.
func TestPlace(t *testing.T) {
	p, o := draw(t, 3, 12, 12, 10, 2, 2, .05, 1), difalt.Options{Rank: 2, Rounds: 2, PowerIterations: 3, Iterations: 12}
	_, last, err := runBroken(t, p, o, 0)
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]bool{}
	for k := range last {
		if _, _, err := runBroken(t, p, o, k+1); err != nil {
			places[strings.TrimSuffix(err.Error(), ": consensus: the network is broken")] = true
		}
	}
	for _, want := range []string{"difalt: iteration 0, start", "difalt: iteration 0, stop check",
		"difalt: iteration 7, average",
		"difalt: iteration 10, stop check", "difalt: iteration 12, stop check"} {
		if !places[want] {
			t.Errorf("no error at %q, but at %v", want, places)
		}
	}
}

// TestErrorTypes: errors about options and data are of the documented types, with and without errors.As.
func TestErrorTypes(t *testing.T) {
	good, net := draw(t, 2, 6, 8, 9, 2, 2, 0, 1), network(t, "complete", 2, 1)
	_, err := difalt.NewSolver(good, net, difalt.Options{})
	if e, ok := err.(*difalt.ParameterError); !ok || e.Name != "Rank" {
		t.Errorf("no rank: %T %v", err, err)
	}
	bad := &difalt.Problem{
		Nodes: []*kernel.Tasks{good.Nodes[0], good.Nodes[1].WithResponses(ones(good.Nodes[1].TotalSamples()))}}
	bad.Nodes[1].Y(2)[1] = math.NaN()
	_, err = difalt.NewSolver(bad, net, difalt.Options{Rank: 1})
	if e, ok := err.(*difalt.DataError); !ok || e.Node != 1 || e.Task != 2 || e.Row != 1 {
		t.Errorf("a response that is not a number: %T %v", err, err)
	}
	_, err = (&difalt.Model{U: orthonormal(6, 2, 1)}).Adapt(t.Context(), bad.Nodes[1])
	if e, ok := err.(*kernel.DataError); !ok || e.Task != 2 || e.Row != 1 {
		t.Errorf("Adapt: %T %v", err, err)
	}
}

// TestObserverStays: Iterations calls the observer of the options, which others may have too, and leaves it
// in place when the loop ends early.
func TestObserverStays(t *testing.T) {
	p, seen := draw(t, 3, 20, 40, 15, 2, 2, 0, 1), 0
	s := newSolver(t, p, network(t, "path", 3, 1), difalt.Options{Rank: 2, Observer: func(*difalt.Record) error {
		seen++
		return nil
	}})
	func() {
		defer func() { _ = recover() }()
		for rec := range s.Iterations(t.Context()) {
			if rec.Iteration == 3 {
				panic("the loop ends")
			}
		}
	}()
	step(t, s, t.Context())
	if seen != 5 {
		t.Errorf("the observer saw %d states of 5", seen)
	}
}
