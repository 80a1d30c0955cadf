package kernel

// UseBackend lets steps of workspaces that are made from now on compute by a backend. It returns a
// function that puts the former one back.
func UseBackend(name string) (restore func(), err error) {
	b, n := chosen, chosenName
	chosen, chosenName, err = choose(name)
	return func() { chosen, chosenName = b, n }, err
}

// Long returns the number of tasks whose rows workers share.
func (g *Group) Long() (n int) {
	for _, c := range g.chunks {
		if c.long != nil {
			n++
		}
	}
	return n
}

// InLanes returns the number of tasks that the next step computes in lanes.
func (g *Group) InLanes() (n int) {
	for i := range g.chunks {
		if c := &g.chunks[i]; g.inLanes(c) {
			n += c.hi - c.lo - len(c.lanes.rest)
		}
	}
	return n
}
