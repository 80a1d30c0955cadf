package mixed

import "math"

// A frequent finds the most frequent value of every column: exactly for few rows, and for many rows a value
// that more than half of them have, if there is one.
type frequent struct {
	counts []map[float64]int // of few rows; NaN is stored as infinity
	value0 []float64         // of many rows: the candidate of Boyer and Moore (1981), and its lead
	lead   []int
}

func newFrequent(columns int, few bool) *frequent {
	f := &frequent{value0: make([]float64, columns), lead: make([]int, columns)}
	if few {
		f.counts = make([]map[float64]int, columns)
		for j := range f.counts {
			f.counts[j] = map[float64]int{}
		}
	}
	return f
}

// add counts the values of a row.
func (f *frequent) add(x []float64) {
	for j, v := range x {
		if math.IsNaN(v) {
			v = math.Inf(1) // which no table has
		}
		switch {
		case f.counts != nil:
			f.counts[j][v]++
		case f.lead[j] == 0:
			f.value0[j], f.lead[j] = v, 1
		case f.value0[j] == v:
			f.lead[j]++
		default:
			f.lead[j]--
		}
	}
}

// value returns the value of a column; of several the smallest.
func (f *frequent) value(column int) float64 {
	v, most := f.value0[column], 0
	if f.counts != nil {
		for x, n := range f.counts[column] {
			if n > most || n == most && x < v {
				v, most = x, n
			}
		}
	}
	if math.IsInf(v, 1) {
		return math.NaN()
	}
	return v
}
