package consensus

// A reduction is what rides in the headers of the rounds of a mixer.
type reduction struct {
	net             *Network
	work, committed riding
}

// A riding is the state of a reduction.
type riding struct {
	Active, Ready bool
	Round         int
	Words         []uint8
	Rows          [][]float64
}

func (r *riding) copyFrom(s *riding) {
	r.Active, r.Ready, r.Round = s.Active, s.Ready, s.Round
	r.Words = append(r.Words[:0], s.Words...)
	for len(r.Rows) < len(s.Rows) {
		r.Rows = append(r.Rows, nil)
	}
	for i, row := range s.Rows {
		r.Rows[i] = append(r.Rows[i][:0], row...)
	}
}

func (r *reduction) relay() relay {
	return relay{net: r.net, tree: r.net.tree, round: r.work.Round, words: r.work.Words, rows: r.work.Rows}
}

func (r *reduction) tell(words []uint8, sums [][]float64) bool {
	if r.work.Active {
		return false
	}
	if sums == nil {
		sums = make([][]float64, len(words))
	}
	given := riding{Active: true, Words: words, Rows: sums}
	r.work.copyFrom(&given)
	r.pass(0, false)
	return true
}

// pass counts rounds of Mix.
func (r *reduction) pass(rounds int, server bool) {
	if !r.work.Active {
		return
	}
	c := r.relay()
	for ; c.round < c.rounds() && (rounds > 0 || server); rounds-- {
		c.step()
	}
	r.work.Round = c.round
	if c.round == c.rounds() {
		r.work.Active, r.work.Ready = false, true
	}
}

func (r *reduction) take() (uint8, []float64, bool) {
	if !r.work.Ready {
		return 0, nil, false
	}
	r.work.Ready = false
	return r.work.Words[0], r.work.Rows[0], true
}

func (r *reduction) commit() { r.committed.copyFrom(&r.work) }
func (r *reduction) rewind() { r.work.copyFrom(&r.committed) }
