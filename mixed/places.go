package mixed

// placeCells is the number of cells of a list of places.
const placeCells = 256

// places are increasing numbers, some of them equal. Cells of equal width between the first and the last one
// lead to the places near a number: in a binary search the processor mispredicts every other branch.
type places struct {
	at    []float64
	scale float64 // cells a unit
	first []int32 // the number of places in cells before each cell, and before the end
}

// newPlaces returns the places of an increasing list.
func newPlaces(at []float64) *places {
	p := &places{at: at, first: make([]int32, placeCells+1)}
	if len(at) == 0 {
		return p
	}
	if p.scale = placeCells / (at[len(at)-1] - at[0]); !finite(p.scale) {
		p.scale = 0 // one cell has all
	}
	for _, v := range at {
		if c := p.cell(v); c < placeCells {
			p.first[c+1]++
		}
	}
	for c := range placeCells {
		p.first[c+1] += p.first[c]
	}
	return p
}

// cell returns the cell of a number, which never falls as the number rises.
func (p *places) cell(v float64) int {
	c := (v - p.at[0]) * p.scale
	switch {
	case !(c > 0):
		return 0
	case c >= placeCells:
		return placeCells
	}
	return int(c)
}

// below returns the number of places below v, of one place at least.
func (p *places) below(v float64) int {
	k := int(p.first[p.cell(v)])
	for k < len(p.at) && p.at[k] < v {
		k++
	}
	return k
}
