package kernel

// UseBackend lets groups that are made from now on compute by a backend. It returns a function that puts the
// former one back.
func UseBackend(name string) (restore func(), err error) {
	before := inUse
	inUse, err = choose(name)
	return func() { inUse = before }, err
}

// Shared returns the number of tasks whose rows workers share.
func (g *Group) Shared() (n int) {
	for _, c := range g.chunks {
		if _, ok := c.(*sharedTask); ok {
			n++
		}
	}
	return n
}

// InLanes returns the number of tasks that the group computes in lanes.
func (g *Group) InLanes() (n int) {
	for _, c := range g.chunks {
		if c, ok := c.(*laneChunk); ok {
			n += c.hi - c.lo - len(c.rest)
		}
	}
	return n
}
