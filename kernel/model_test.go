package kernel_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/tiertest"
	"github.com/difalt/difalt/internal/tile"
	"github.com/difalt/difalt/kernel"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Random sequences of the calls of groups, executors and workspaces, each compared with the definition:
// tasks of every kind of chunk and views of them, workspaces for any groups, with calls between that do not
// fit.
func TestSequencesOnWorkers(t *testing.T) {
	seeds := 24
	if longtest.Enabled() {
		seeds = 200
	}
	tiertest.Each(t, func(t *testing.T) {
		for _, name := range append([]string{tile.Active().String()}, backends()...) {
			shared, inLanes := 0, 0
			for seed := range seeds {
				t.Run(fmt.Sprintf("%s/seed=%d", name, seed), func(t *testing.T) {
					use(t, name)
					m := &sequence{t: t, rng: rand.New(rand.NewPCG(87, uint64(seed)))}
					m.d, m.r = 1+m.rng.IntN(70), 1+m.rng.IntN(9)
					if seed%12 == 5 {
						m.d = 8200 + m.rng.IntN(100) // for tasks whose rows are shared
					}
					m.r = min(m.r, m.d)
					m.pool = kernel.NewPool(1 + m.rng.IntN(3))
					defer m.pool.Close()
					m.newGroup()
					calls := 40
					if m.d > 8000 {
						calls = 15
					}
					for range calls {
						m.call()
						if t.Failed() {
							return
						}
					}
					for _, g := range m.groups {
						shared += g.g.Shared()
						inLanes += g.g.InLanes()
					}
				})
			}
			if tiles := name == tile.Active().String(); (shared > 0) != tiles ||
				(inLanes > 0) != (tiles && tile.Lanes() > 0) {
				t.Errorf("%s: %d shared tasks, %d tasks in lanes", name, shared, inLanes)
			}
		}
	})
}

// A sequence is a state of the test: all groups have d features and rank r.
type sequence struct {
	t         *testing.T
	rng       *rand.Rand
	d, r      int
	pool      *kernel.Pool
	groups    []*modelGroup
	workspace *kernel.Workspace
	fits      []*modelGroup // groups that the workspace was made for
	executor  *kernel.Executor
	members   []*modelGroup // groups of the executor
}

// A modelGroup is a group, its data, and the results that it should have.
type modelGroup struct {
	g     *kernel.Group
	tasks *kernel.Tasks
	x     []*mat.Dense
	y     [][]float64
	want  reference
}

// call makes one random call.
func (m *sequence) call() {
	g := m.groups[m.rng.IntN(len(m.groups))]
	switch m.rng.IntN(10) {
	case 0, 1:
		if len(m.groups) < 5 {
			m.newGroup()
		}
	case 2:
		m.fits = m.some()
		m.workspace = kernel.NewWorkspace(groupsOf(m.fits)...)
	case 3:
		m.members = m.some()
		m.executor = kernel.NewExecutor(m.pool, groupsOf(m.members))
	case 4:
		m.misuse(g)
	case 5:
		m.gramProduct(g)
	case 6:
		m.spoil(g)
	case 7, 8:
		m.step(g)
	case 9:
		m.execute()
	}
}

// some returns some of the groups, in random order.
func (m *sequence) some() []*modelGroup {
	list := slices.Clone(m.groups)
	m.rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:1+m.rng.IntN(len(list))]
}

func groupsOf(list []*modelGroup) (groups []*kernel.Group) {
	for _, g := range list {
		groups = append(groups, g.g)
	}
	return groups
}

// samples returns numbers of samples. Square problems may be as ill-conditioned as they like: there are none.
func (m *sequence) samples() (n []int) {
	kind := m.rng.IntN(5)
	if m.d > 8000 {
		kind = 3
	}
	switch kind {
	case 0: // tiny
		n = slices.Repeat([]int{m.r + 1 + m.rng.IntN(10)}, 1+m.rng.IntN(30))
	case 1: // ragged
		n = ragged(m.rng, 1+m.rng.IntN(20), 40)
	case 2: // none
		n = make([]int, m.rng.IntN(3))
	case 3: // tall, and shared if rows are long
		n = []int{m.rng.IntN(9), 131 + m.rng.IntN(20), m.rng.IntN(3)}
	case 4: // fewer samples than columns
		n = slices.Repeat([]int{m.rng.IntN(m.r)}, 1+m.rng.IntN(9))
	}
	for i := range n {
		if n[i] == m.r {
			n[i]++
		}
	}
	return n
}

// newGroup makes a group of new tasks, or of a view of the tasks of another group.
func (m *sequence) newGroup() {
	g := new(modelGroup)
	if len(m.groups) == 0 || m.rng.IntN(2) == 0 {
		g.tasks, g.x, g.y = randomTasks(m.rng, m.d, m.samples(), kernel.Storage(m.rng.IntN(2)))
	} else {
		*g = *m.groups[m.rng.IntN(len(m.groups))]
		switch m.rng.IntN(3) {
		case 0:
			g.tasks = g.tasks.Compressed()
		case 1:
			g.tasks = g.tasks.Edit().Tasks()
		case 2:
			all := slices.Concat(g.y...)
			if len(all) != g.tasks.TotalSamples() {
				return // it was compressed
			}
			floats.Scale(-2, all)
			g.y = slices.Clone(g.y)
			for at, i := 0, 0; i < len(g.y); i++ {
				g.y[i] = all[at:][:len(g.y[i])]
				at += len(g.y[i])
			}
			g.tasks = g.tasks.WithResponses(all)
		}
	}
	g.g = kernel.NewGroup(g.tasks, m.r)
	g.want = reference{B: make([]float64, len(g.g.B)), Grad: mat.NewDense(m.d, m.r, nil)}
	g.want.Status = slices.Clone(g.g.Status)
	m.groups = append(m.groups, g)
}

// basis returns a random basis, with or without numbers in the padding that a call should clear.
func (m *sequence) basis() *kernel.Basis {
	u := randomBasis(m.rng, m.d, m.r)
	if m.rng.IntN(3) == 0 {
		for j := range m.r {
			for i := range u.Data()[j*u.Stride()+m.d : (j+1)*u.Stride()] {
				u.Data()[j*u.Stride()+m.d+i] = 7
			}
		}
	}
	return u
}

// The calls of a step.
const (
	stepCall = iota
	minimizeCall
	gradientCall
)

// step calls a group with a workspace or without.
func (m *sequence) step(g *modelGroup) {
	var ws *kernel.Workspace
	if slices.Contains(m.fits, g) && m.rng.IntN(3) > 0 {
		ws = m.workspace
	}
	u, ridge, kind := m.basis(), float64(m.rng.IntN(2))*.3, m.rng.IntN(3)
	switch kind {
	case stepCall:
		g.g.Step(u, ridge, ws)
	case minimizeCall:
		g.g.Minimize(u, ridge, ws)
	case gradientCall:
		g.g.Gradient(u, ws)
	}
	m.check(g, u, ridge, kind)
}

// execute calls the executor.
func (m *sequence) execute() {
	if m.executor == nil {
		return
	}
	u, ridge, kind := make([]*kernel.Basis, len(m.members)), float64(m.rng.IntN(2))*.3, m.rng.IntN(3)
	for i := range u {
		u[i] = m.basis()
		if i > 0 && m.rng.IntN(2) == 0 {
			u[i] = u[i-1] // groups may share a basis
		}
	}
	switch kind {
	case stepCall:
		m.executor.Step(u, ridge)
	case minimizeCall:
		m.executor.Minimize(u, ridge)
	case gradientCall:
		m.executor.Gradient(u)
	}
	for i, g := range m.members {
		m.check(g, u[i], ridge, kind)
	}
}

// check compares the results of a call with the definition, and results that the call leaves alone with their
// former values.
func (m *sequence) check(g *modelGroup, u *kernel.Basis, ridge float64, kind int) {
	m.t.Helper()
	now := stepReference(u, ridge, g.x, g.y, g.x, g.y)
	switch kind {
	case stepCall:
		g.want = *now
	case minimizeCall:
		now.Grad, now.GradScale = g.want.Grad, g.want.GradScale
		g.want = *now
	case gradientCall:
		gradientReference(&g.want, u, g.x, g.y)
	}
	g.want.check(m.t, g.g, m.r)
	if m.t.Failed() {
		m.t.Logf("call %d with ridge %g, %d tasks of at most %d samples, %v, d = %d, r = %d, %d shared, %d in lanes",
			kind, ridge,
			g.tasks.Len(), g.tasks.MaxSamples(), g.tasks.Storage(), m.d, m.r, g.g.Shared(), g.g.InLanes())
	}
}

// gradientReference sets the gradient and the objective at the coefficients of s.
func gradientReference(s *reference, u mat.Matrix, x []*mat.Dense, y [][]float64) {
	d, r := u.Dims()
	s.Grad, s.Objective, s.GradScale, s.ObjectiveScale = mat.NewDense(d, r, nil), 0, 0, 0
	for t := range x {
		if x[t] == nil {
			continue
		}
		var a, outer mat.Dense
		var e, g mat.VecDense
		b, target := mat.NewVecDense(r, s.B[t*r:][:r]), mat.NewVecDense(len(y[t]), y[t])
		a.Mul(x[t], u)
		e.MulVec(&a, b)
		size := mat.Norm(&e, 2) + mat.Norm(target, 2)
		e.SubVec(&e, target)
		g.MulVec(x[t].T(), &e)
		outer.Outer(1, &g, b)
		s.Grad.Add(s.Grad, &outer)
		s.Objective += mat.Dot(&e, &e)
		s.GradScale += mat.Norm(x[t], 2) * size * mat.Norm(b, 2)
		s.ObjectiveScale += size * size
	}
}

// gramProduct compares a Gram product with the definition.
func (m *sequence) gramProduct(g *modelGroup) {
	u, got, want := m.basis(), kernel.NewBasis(m.d, m.r), mat.NewDense(m.d, m.r, nil)
	ws := m.workspace
	if !slices.Contains(m.fits, g) {
		ws = []*kernel.Workspace{nil, g.tasks.NewWorkspace(m.r)}[m.rng.IntN(2)]
	}
	g.tasks.GramProduct(got, u, ws)
	for _, x := range g.x {
		if x != nil {
			var a, p mat.Dense
			a.Mul(x, u)
			p.Mul(x.T(), &a)
			want.Add(want, &p)
		}
	}
	sameMatrix(m.t, "Gram product", got, want, 1e-11)
}

// spoil writes what a caller may write: coefficients before Gradient, and fields of the results.
func (m *sequence) spoil(g *modelGroup) {
	for i := range g.want.B {
		g.want.B[i] = m.rng.NormFloat64()
		g.g.B[i] = g.want.B[i]
	}
	b, status, grad := g.g.B, g.g.Status, g.g.Grad
	g.g.B, g.g.Status, g.g.Grad = nil, nil, nil
	u := m.basis()
	g.g.Gradient(u, nil)
	g.g.B, g.g.Status, g.g.Grad = b, status, grad
	m.check(g, u, 0, gradientCall)
}

// misuse makes calls that do not fit, and leaves everything as it was.
func (m *sequence) misuse(g *modelGroup) {
	u, ridge := m.basis(), 0.0
	before := g.g.Grad.Clone()
	wide := kernel.NewBasis(m.d, m.r+1)
	faults := map[string]func(){
		"basis":     func() { g.g.Step(wide, ridge, nil) },
		"workspace": func() { g.g.Step(u, ridge, new(kernel.Workspace)) },
		"ridge":     func() { g.g.Minimize(u, -1, nil) },
		"alias":     func() { g.g.Gradient(g.g.Grad, nil) },
		"nil":       func() { g.g.Gradient(nil, nil) },
	}
	if m.executor != nil {
		bases := slices.Repeat([]*kernel.Basis{u}, len(m.members))
		faults["bases"] = func() { m.executor.Step(bases[1:], ridge) }
		faults["members"] = func() {
			m.executor.Step(append(bases[1:len(bases):len(bases)], m.members[0].g.Grad), ridge)
		}
	}
	for name, f := range faults {
		wantPanic(m.t, name, f)
	}
	if !sameBits(before.Data(), g.g.Grad.Data()) {
		m.t.Error("a call that does not fit wrote the gradient")
	}
}
