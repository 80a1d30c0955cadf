package consensus

// A reduction is a relay that rides in the headers of the rounds of a mixer.
type reduction struct {
	net             *Network
	channel         uint8
	relay           relay // of work
	work, committed riding
	result          []float64 // what take has returned
}

// A riding is the state of a reduction.
type riding struct {
	Active, Ready bool
	Round         int       // done
	Numbers       int       // a node has
	Words         []uint8   // of the hosted nodes
	Sums          []float64 // one row a hosted node
}

func (r *riding) copyFrom(s *riding) {
	words, sums := r.Words, r.Sums
	*r = *s
	r.Words, r.Sums = append(words[:0], s.Words...), append(sums[:0], s.Sums...)
}

func newReduction(n *Network) reduction {
	r := reduction{net: n}
	hosted := len(n.hosted)
	r.relay = relay{net: n, tree: n.tree, how: add, rows: make([][]float64, hosted)}
	r.relay.come = func(k int) []byte { return n.got[k].riding }
	for _, s := range []*riding{&r.work, &r.committed} {
		s.Words = make([]uint8, hosted)
	}
	return r
}

// use makes the relay that of work.
func (r *reduction) use() {
	w := &r.work
	r.relay.round, r.relay.words = w.Round, w.Words
	for i := range r.relay.rows {
		r.relay.rows[i] = w.Sums[i*w.Numbers:][:w.Numbers]
	}
}

func (r *reduction) tell(words []uint8, sums [][]float64) bool {
	w := &r.work
	if w.Active {
		return false
	}
	w.Active, w.Ready, w.Round, w.Numbers = true, false, 0, 0
	w.Words, w.Sums = append(w.Words[:0], words...), w.Sums[:0]
	for i, row := range sums {
		w.Numbers = len(row)
		w.Sums = append(w.Sums, row...)
		if !finite(row) {
			r.net.fail(r.channel, i)
		}
	}
	r.use()
	r.settle()
	return true
}

func (r *reduction) settle() {
	if r.work.Round == r.relay.rounds() {
		r.work.Active, r.work.Ready = false, true
	}
}

// part appends what goes along link k with the round under way.
func (r *reduction) part(dst []byte, k int) []byte {
	if !r.work.Active {
		return dst
	}
	return r.relay.part(dst, k)
}

// hear returns an error if what has come along link k is not what is due.
func (r *reduction) hear(k int) error {
	p := r.net.got[k].riding
	if r.work.Active {
		return r.relay.hear(k, p)
	}
	return noneDue(p)
}

// pass takes over what has come with a round.
func (r *reduction) pass() {
	if r.work.Active {
		r.relay.step(r.channel)
		r.work.Round++
		r.settle()
	}
}

func (r *reduction) take() (word uint8, sums []float64, ok bool) {
	if !r.work.Ready {
		return 0, nil, false
	}
	r.work.Ready = false
	r.result = append(r.result[:0], r.work.Sums[:r.work.Numbers]...)
	return r.work.Words[0], r.result, true
}

func (r *reduction) commit() { r.committed.copyFrom(&r.work) }

func (r *reduction) rewind() {
	r.work.copyFrom(&r.committed)
	r.use()
}
