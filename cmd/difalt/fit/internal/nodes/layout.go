package nodes

// A Layout gives names to the parts of a vector that the nodes sum.
type Layout struct {
	// Len is the length of the vector so far.
	Len int
}

// A Span is a part of a vector.
type Span struct{ from, to int }

// Span appends a part of n numbers.
func (l *Layout) Span(n int) Span {
	s := Span{l.Len, l.Len + n}
	l.Len = s.to
	return s
}

// Of returns the part of a vector, to read and to write.
func (s Span) Of(v []float64) []float64 { return v[s.from:s.to:s.to] }

// First returns the first number of the part.
func (s Span) First(v []float64) float64 { return v[s.from] }

// Add adds to the first number of the part.
func (s Span) Add(v []float64, x float64) { v[s.from] += x }
