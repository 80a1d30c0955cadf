package difalt_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
	"github.com/difalt/difalt/topology"
)

// TestSaveRefuses: Save writes nothing that LoadModel would refuse, and a Model without a representation is
// an error, or has no tasks.
func TestSaveRefuses(t *testing.T) {
	k := newTable(rand.New(rand.NewPCG(141, 142)), 6, 9, 4, 2)
	m, err := difalt.Fit(t.Context(), k.tasks(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*difalt.Model){
		"iterations":       func(m *difalt.Model) { m.Iterations = -1 },
		"many iterations":  func(m *difalt.Model) { m.Iterations = difalt.MaxIterations + 1 },
		"status":           func(m *difalt.Model) { m.Status = 99 },
		"residual":         func(m *difalt.Model) { m.Residual = -1 },
		"infinite":         func(m *difalt.Model) { m.Residual = math.Inf(1) },
		"error":            func(m *difalt.Model) { m.StatisticalError = -1 },
		"status of a task": func(m *difalt.Model) { m.Tasks = append(slices.Clone(m.Tasks[1:]), lsq.Status(9)) },
		"zero basis":       func(m *difalt.Model) { m.U = &kernel.Basis{} },
		"no basis":         func(m *difalt.Model) { m.U = nil },
	} {
		c := *m
		change(&c)
		var file bytes.Buffer
		if err := c.Save(&file); err == nil || file.Len() > 0 {
			t.Errorf("%s: %v, and %d bytes", name, err, file.Len())
		}
	}
	none := &difalt.Model{U: &kernel.Basis{}}
	if _, err := none.Adapt(t.Context(), k.tasks(t)); err == nil || none.Len() != 0 {
		t.Errorf("%v, %d tasks", err, none.Len())
	}
	if err := m.Save(nil); err == nil {
		t.Error("Save takes a nil writer")
	}
	if _, err := difalt.LoadModel(nil); err == nil {
		t.Error("LoadModel takes a nil reader")
	}
	if err := m.Save(io.Discard); err != nil {
		t.Error(err)
	}
}

// TestAfterClose: a closed solver returns errors.
func TestAfterClose(t *testing.T) {
	graph, err := topology.Complete(1)
	if err != nil {
		t.Fatal(err)
	}
	k := newTable(rand.New(rand.NewPCG(143, 144)), 20, 20, 6, 2)
	p, net, err := difalt.InProcess([]*kernel.Tasks{k.tasks(t)}, graph)
	if err != nil {
		t.Fatal(err)
	}
	s, err := difalt.NewSolver(p, net, difalt.Options{Rank: 2, AnyFeatures: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s.Close()
	if status, err := s.Step(t.Context()); err == nil || status != difalt.Running {
		t.Errorf("Step after Close: %v, %v", status, err)
	}
	if _, err := s.Result(); err == nil {
		t.Error("Result after Close has no error")
	}
	if res, err := s.Run(t.Context()); err == nil || res != nil {
		t.Errorf("Run after Close: %v, %v", res, err)
	}
	if s, err = difalt.NewSolver(p, net, difalt.Options{Rank: 2, AnyFeatures: true, Iterations: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if status, err := s.Step(t.Context()); err == nil || status != difalt.IterationLimit {
		t.Errorf("Step after the end and Close: %v, %v", status, err)
	}
}

// TestStartIsOrthonormal: a U0 that is not orthonormal would be the start of another run: it is refused, as a
// Truth is.
func TestStartIsOrthonormal(t *testing.T) {
	p := draw(t, 2, 6, 12, 9, 2, 2, 0, 1)
	for _, scale := range []float64{1e-3, .9, 3, 0} {
		u := orthonormal(6, 2, 3)
		p.U0 = []*kernel.Basis{u.Clone(), u}
		for i := range u.Col(1) {
			u.Col(1)[i] *= scale
		}
		_, err := difalt.NewSolver(p, network(t, "path", 2, 1), difalt.Options{Rank: 2})
		if err == nil || !strings.Contains(err.Error(), "U0 of node 1 is not orthonormal") {
			t.Errorf("a column of length %g: %v", scale, err)
		}
	}
}

// TestAverageOfNothing: an Average that returns neither an exchange nor an error is an error, in the
// iterations and in the initialisation.
func TestAverageOfNothing(t *testing.T) {
	p := draw(t, 2, 6, 12, 9, 2, 2, 0, 1)
	for _, method := range []difalt.Method{difalt.DifAltGDmin, difalt.DecAltGDmin, difalt.DGD} {
		o := difalt.Options{Rank: 2, Method: method}
		o.Average = func(*consensus.Network, int, *kernel.Pool) (consensus.Exchange, error) { return nil, nil }
		_, err := difalt.Run(t.Context(), p, network(t, "path", 2, 1), o)
		var parameter *difalt.ParameterError
		if !errors.As(err, &parameter) || parameter.Name != "Average" {
			t.Errorf("%v: %v", method, err)
		}
	}
}

// TestZeroSolver: a Solver that NewSolver did not make returns errors.
func TestZeroSolver(t *testing.T) {
	var s difalt.Solver
	_, stepped := s.Step(t.Context())
	_, ran := s.Run(t.Context())
	_, result := s.Result()
	_, snapshot := s.Snapshot()
	list := []error{stepped, ran, result, snapshot, s.Restore(&difalt.Snapshot{})}
	for _, err := range s.Iterations(t.Context()) {
		list = append(list, err)
	}
	for i, err := range list {
		if err == nil || len(list) != 6 {
			t.Errorf("call %d of %d: no error", i, len(list))
		}
	}
	s.Close()
}

// TestDivergedAdvice: the error of a diverged run says what helps its method.
func TestDivergedAdvice(t *testing.T) {
	p := draw(t, 2, 6, 12, 9, 2, 2, .1, 1)
	_, err := difalt.Run(t.Context(), p, network(t, "path", 2, 1), difalt.Options{Rank: 2, Step: 1})
	if !errors.Is(err, difalt.ErrDiverged) || !strings.Contains(err.Error(), "a shorter step") {
		t.Errorf("dif: %v", err)
	}
	k := newTable(rand.New(rand.NewPCG(149, 150)), 20, 20, 6, 2)
	for _, x := range k.x[3] {
		for j := range x {
			x[j] *= 1e-200
		}
	}
	m, err := difalt.Fit(t.Context(), k.tasks(t), 2)
	if !errors.Is(err, difalt.ErrDiverged) || !strings.Contains(err.Error(), "far apart in size") {
		t.Errorf("accelerated: %v", err)
	}
	if m == nil || m.Status != difalt.Diverged {
		t.Errorf("accelerated: model %+v", m)
	}
}

// TestValidateNothing: a problem without nodes, and a negative rank, are errors.
func TestValidateNothing(t *testing.T) {
	for _, p := range []*difalt.Problem{nil, {}} {
		if err := p.Validate(nil, 1); err == nil {
			t.Errorf("problem %v without nodes is valid", p)
		}
	}
	k := newTable(rand.New(rand.NewPCG(145, 146)), 3, 5, 2, 1).tasks(t)
	var parameter *difalt.ParameterError
	err := (&difalt.Problem{Nodes: []*kernel.Tasks{k}}).Validate([]int{0}, -1)
	if !errors.As(err, &parameter) || parameter.Name != "Rank" {
		t.Errorf("%v is no *ParameterError of Rank", err)
	}
}

// TestResultRange: a node or a task that a result does not have ends at the caller with a constant message.
func TestResultRange(t *testing.T) {
	graph, err := topology.Complete(1)
	if err != nil {
		t.Fatal(err)
	}
	k := newTable(rand.New(rand.NewPCG(147, 148)), 20, 20, 6, 2)
	p, net, err := difalt.InProcess([]*kernel.Tasks{k.tasks(t)}, graph)
	if err != nil {
		t.Fatal(err)
	}
	res, err := difalt.Run(t.Context(), p, net, difalt.Options{Rank: 2, AnyFeatures: true, Iterations: 1})
	if err != nil {
		t.Fatal(err)
	}
	for want, calls := range map[string][]func(){
		"difalt: the result has no such node": {
			func() { res.Theta(1, 0) }, func() { res.Theta(-1, 0) }, func() { res.Model(1, nil) }, func() {
				res.Model(-1, nil)
			},
		},
		"difalt: the node has no such task": {func() { res.Theta(0, 20) }, func() { res.Theta(0, -1) }},
	} {
		for i, call := range calls {
			func() {
				defer func() {
					if got := recover(); got != want {
						t.Errorf("call %d: %v, want %s", i, got, want)
					}
				}()
				call()
			}()
		}
	}
}

// TestUnknownCodec: Validate refuses a codec that does not exist, so that a run does not end in its first
// message.
func TestUnknownCodec(t *testing.T) {
	k := newTable(rand.New(rand.NewPCG(151, 152)), 6, 9, 4, 2)
	for _, codec := range []consensus.Codec{1, 7, 32, 255} {
		o := difalt.Options{Rank: 2, Method: difalt.Accelerated, Codec: codec}
		_, fitted := o.Fit(t.Context(), k.tasks(t))
		for _, err := range []error{o.Validate(4, 6), fitted} {
			var parameter *difalt.ParameterError
			if !errors.As(err, &parameter) || parameter.Name != "Codec" {
				t.Errorf("codec %v: %v", codec, err)
			}
		}
	}
	for _, codec := range []consensus.Codec{0, consensus.Int8, consensus.Int16, consensus.Float64} {
		o := difalt.Options{Rank: 2, Method: difalt.Accelerated, Codec: codec}
		if err := o.Validate(4, 6); err != nil {
			t.Error(err)
		}
	}
}

// TestResultSharesNothing: who writes to all of a Result changes neither the next one nor the run.
func TestResultSharesNothing(t *testing.T) {
	p := draw(t, 2, 6, 12, 9, 2, 2, 0, 1)
	s, err := difalt.NewSolver(p, network(t, "path", 2, 1), difalt.Options{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := s.Result()
	if err != nil {
		t.Fatal(err)
	}
	step := first.Initial.Step
	for i := range first.U {
		clear(first.U[i].Data())
		clear(first.Initial.U[i].Data())
		clear(first.B[i])
	}
	first.Initial.Step = 0
	next, err := s.Result()
	if err != nil {
		t.Fatal(err)
	}
	for i := range next.U {
		if next.U[i].At(0, 0) == 0 || next.Initial.U[i].At(0, 0) == 0 || next.B[i][0] == 0 {
			t.Errorf("node %d: zeros", i)
		}
	}
	if next.Initial.Step != step {
		t.Errorf("step size %g, it was %g", next.Initial.Step, step)
	}
}

// TestZeroSnapshot: a Snapshot without a run has no bytes.
func TestZeroSnapshot(t *testing.T) {
	if b, err := new(difalt.Snapshot).MarshalBinary(); err == nil {
		t.Errorf("%d bytes, which UnmarshalBinary refuses", len(b))
	}
}
