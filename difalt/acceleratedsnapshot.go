package difalt

import (
	"math"
	"slices"
)

func (m *accelerated) save(i int) NodeState {
	n := m.nodes[i]
	if !m.begun {
		return NodeState{}
	}
	state := NodeState{Anderson: &AndersonState{
		Known: n.known, Floor: m.floor,
		L: slices.Clone(n.lastL), G: slices.Clone(n.lastG), M: slices.Clone(n.m), Norms: slices.Clone(n.norms),
		Filled: n.filled, Next: n.next, Lowest: known(m.lowest),
		Safe: slices.Clone(m.safe[i].Data()), Tried: slices.Clone(m.tried[i].Data()),
	}}
	for k := range n.dl.Cols {
		state.Anderson.DL = append(state.Anderson.DL, slices.Clone(column(n.dl, k)))
		state.Anderson.DG = append(state.Anderson.DG, slices.Clone(column(n.dg, k)))
	}
	if m.entries > 0 {
		state.P = slices.Clone(m.scaled.nodes[i].p)
	}
	if t := m.scaled.tracker; t != nil {
		state.Anderson.Waiting = t.waiting
		state.Tracked, state.Previous = slices.Clone(t.sum[i].Data()), slices.Clone(t.previous[i].Data())
	}
	return state
}

func (m *accelerated) fits(state *NodeState) bool {
	if state.empty() {
		return true
	}
	a, n, size := state.Anderson, m.nodes[0], len(m.nodes[0].l)
	if a == nil || len(a.DL) != n.dl.Cols || len(a.DG) != n.dg.Cols || len(a.M) != len(n.m) || len(a.Norms) > m.memory ||
		a.Filled < 0 || a.Filled > m.memory || a.Next < 0 || a.Next > m.memory || len(state.P) != m.entries {
		return false
	}
	for _, v := range slices.Concat(a.DL, a.DG, [][]float64{a.L, a.G, a.Safe, a.Tried}) {
		if len(v) != size {
			return false
		}
	}
	tracked := 0
	if m.scaled.tracker != nil {
		tracked = size
	}
	return len(state.Tracked) == tracked && len(state.Previous) == tracked
}

func (m *accelerated) restore(i int, state *NodeState) {
	n, a := m.nodes[i], state.Anderson
	n.forget()
	if m.begun = a != nil; !m.begun {
		m.reset()
		return
	}
	n.known = a.Known
	m.floor = a.Floor
	copy(n.lastL, a.L)
	copy(n.lastG, a.G)
	copy(n.m, a.M)
	n.norms = append(n.norms, a.Norms...)
	n.filled, n.next = a.Filled, a.Next
	for k := range n.dl.Cols {
		copy(column(n.dl, k), a.DL[k])
		copy(column(n.dg, k), a.DG[k])
	}
	copy(m.safe[i].Data(), a.Safe)
	copy(m.tried[i].Data(), a.Tried)
	if m.lowest = math.Inf(1); a.Lowest != nil {
		m.lowest = *a.Lowest
	}
	copy(m.scaled.nodes[i].p, state.P)
	m.scaled.shared = m.entries > 0
	if t := m.scaled.tracker; t != nil {
		copy(t.sum[i].Data(), state.Tracked)
		copy(t.previous[i].Data(), state.Previous)
		t.waiting = a.Waiting
	}
}
