package consensus

// A combination says what a parent makes of what its children send.
type combination uint8

const (
	bySum combination = iota
	byMax
)

// into combines what a child has sent with what its parent has.
func (c combination) into(parent, child []float64) {
	if c == bySum {
		for k, v := range child {
			parent[k] += v
		}
		return
	}
	for k, v := range child {
		parent[k] = max(parent[k], v)
	}
}

// A relay carries numbers along a tree, one level a round: up to the root, where
// parents combine what comes from their children in ascending order, and down again
// unchanged. So all nodes end with the same bits, wherever they live. A relay that
// only goes down broadcasts what the root has.
type relay struct {
	net   *Network
	tree  *tree
	down  bool // only
	how   combination
	round int // done
	// Of the hosted nodes: a word, combined by maximum, and a row of numbers.
	words []uint8
	rows  [][]float64
}

// rounds returns how many rounds the relay takes.
func (r *relay) rounds() int {
	if r.down {
		return r.tree.height
	}
	return 2 * r.tree.height
}

// level returns the depth of the nodes that send in the next round, and whether they
// send to their parent.
func (r *relay) level() (depth int, up bool) {
	if up = !r.down && r.round < r.tree.height; up {
		return r.tree.height - r.round, true
	}
	depth = r.round
	if !r.down {
		depth -= r.tree.height
	}
	return depth, false
}

// step takes over what the nodes send in the next round, as sends says.
func (r *relay) step() {
	depth, up := r.level()
	r.round++
	if !up {
		depth++
	}
	for _, child := range r.tree.levels[depth] {
		parent := r.tree.parent[child]
		to, from := parent, child
		if !up {
			to, from = child, parent
		}
		i := r.net.index[to]
		if i < 0 {
			continue
		}
		word, row := r.of(from, to)
		if up {
			r.words[i] = max(r.words[i], word)
			r.how.into(r.rows[i], row)
		} else {
			r.words[i] = word
			copy(r.rows[i], row)
		}
	}
}

// of returns what node from sends to hosted node to.
func (r *relay) of(from, _ int) (uint8, []float64) {
	i := r.net.index[from]
	return r.words[i], r.rows[i]
}
