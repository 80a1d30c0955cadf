package consensus

import "github.com/difalt/difalt/kernel"

// blockLen is the number of entries of a message that are averaged at a time: eight
// cache lines, so that they come in one go from wherever the message is, and few enough
// that a block of a hundred nodes is a small part of the second-level cache. A multiple
// of the padding of a basis, so that workers write to different cache lines.
const blockLen = 64

// A sweep deals the entries of the messages of all nodes, cut into blocks, to the
// workers of a pool. What is done to a block does not depend on the worker, so
// results do not depend on their number.
type sweep struct {
	pool *kernel.Pool // nil: serial
	// each averages the entries [lo, hi) of rows[i], i < L, hi-lo <= blockLen.
	each func(worker int, rows [][]float64, lo, hi int)

	// bases[i] and scalars[i] alias the message of node i during run. They are cut
	// separately: a block never holds entries of both.
	bases, scalars [][]float64
	share          func(worker int) // stored, so that run does not allocate
}

func newSweep(l int, pool *kernel.Pool, each func(worker int, rows [][]float64, lo, hi int)) *sweep {
	s := &sweep{pool: pool, each: each}
	s.bases = make([][]float64, l)
	s.scalars = make([][]float64, l)
	s.share = s.runShare
	return s
}

func (s *sweep) workers() int {
	if s.pool == nil {
		return 1
	}
	return s.pool.Workers()
}

// run averages all blocks of z, which check has found good.
func (s *sweep) run(z []Message) {
	for i, m := range z {
		if m.Basis != nil {
			s.bases[i] = m.Basis.Data()
		}
		s.scalars[i] = m.Scalars
	}
	if s.blocks() > 1 && s.workers() > 1 {
		s.pool.Run(s.share)
	} else {
		s.runBlocks(0, 0, s.blocks())
	}
	clear(s.bases)
	clear(s.scalars)
}

func (s *sweep) blocks() int {
	return blocksOf(s.bases[0]) + blocksOf(s.scalars[0])
}

func blocksOf(row []float64) int { return (len(row) + blockLen - 1) / blockLen }

// runShare does the contiguous share of the blocks that belongs to a worker.
func (s *sweep) runShare(worker int) {
	n, k := s.blocks(), s.workers()
	s.runBlocks(worker, n*worker/k, n*(worker+1)/k)
}

func (s *sweep) runBlocks(worker, from, to int) {
	ofBases := blocksOf(s.bases[0])
	for b := from; b < to; b++ {
		rows, lo := s.bases, b*blockLen
		if b >= ofBases {
			rows, lo = s.scalars, (b-ofBases)*blockLen
		}
		s.each(worker, rows, lo, min(lo+blockLen, len(rows[0])))
	}
}
