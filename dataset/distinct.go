package dataset

import "math"

// hashes is a set of hashes: exact, and bounded by whoever adds to it.
type hashes struct {
	count int
	zero  bool     // 0 is a member
	table []uint64 // open addressing, 0 is free; at most half is taken
}

// add adds a hash, and reports false if it is a new one and there are as many already as may be.
func (s *hashes) add(h uint64, most int) bool {
	if h == 0 {
		if s.zero {
			return true
		}
		if s.count == most {
			return false
		}
		s.zero = true
		s.count++
		return true
	}
	if 2*(s.count+1) > len(s.table) {
		old := s.table
		s.table = make([]uint64, max(2*len(old), 16))
		for _, k := range old {
			if k != 0 {
				s.table[s.place(k)] = k
			}
		}
	}
	at := s.place(h)
	switch {
	case s.table[at] == h:
		return true
	case s.count == most:
		return false
	}
	s.table[at] = h
	s.count++
	return true
}

// place is where a hash is, or would be.
func (s *hashes) place(h uint64) uint64 {
	mask := uint64(len(s.table) - 1)
	at := h & mask
	for s.table[at] != 0 && s.table[at] != h {
		at = (at + 1) & mask
	}
	return at
}

// hashOf returns a hash of a number, which no other number has: a permutation of its bits, in which 0 and -0 are
// the same (the finaliser of SplitMix64; Steele, Lea and Flood 2014).
func hashOf(v float64) uint64 {
	h := math.Float64bits(v + 0)
	h ^= h >> 30
	h *= 0xbf58476d1ce4e5b9
	h ^= h >> 27
	h *= 0x94d049bb133111eb
	return h ^ h>>31
}
