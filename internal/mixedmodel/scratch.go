package mixedmodel

import "sync"

// A Scratch is memory for what is computed on the way to a result: there may be millions of tasks, and
// nothing is left of it between them.
type Scratch struct {
	all  []float64
	used int
}

var scratches = sync.Pool{New: func() any { return new(Scratch) }}

// GetScratch returns one for so many numbers in all. Its owner hands it back by Put.
func GetScratch(n int) *Scratch {
	s := scratches.Get().(*Scratch)
	if s.used = 0; len(s.all) < n {
		s.all = make([]float64, n)
	}
	return s
}

// Take returns n of its numbers, of any value.
func (s *Scratch) Take(n int) []float64 {
	s.used += n
	return s.all[s.used-n : s.used : s.used]
}

// Put ends the use of all that was taken.
func (s *Scratch) Put() { scratches.Put(s) }
