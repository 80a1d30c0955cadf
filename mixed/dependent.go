package mixed

import (
	"math"
	"slices"
)

const (
	// leastOwn is the least share of the squares of a column that other columns do not explain. A column
	// with less follows from them: a sum over rows has about 15 digits.
	leastOwn = 1e-12
	// leastPart is the least coefficient, of columns of length 1, that counts where a column follows from
	// others.
	leastPart = 1e-4
)

// dependences returns groups of features that are linearly dependent in the training rows, together with the
// constant: the effect of a single one is then unknown. A group lists a feature and those that it follows
// from, in the order of the table. Levels of one category always add up to 1 and do not count as a group.
// The groups follow from the total of X'X alone, so that all owners find equal groups. few reports whether
// there are at most as many rows as independent columns: then every feature follows from others, and the
// list is empty.
func (f *fitter) dependences() (groups [][]int, few bool) {
	s := f.plain
	if s.design.Axes != nil {
		return nil, false // another note of the report names them
	}
	columns := s.independentOf(categories(f.rows.schema, s.design))
	n := len(columns)
	g := make([]float64, n*n)
	length := func(j int) float64 { return math.Sqrt(s.total[j*s.p+j]) }
	for i, a := range columns {
		for j, b := range columns[i:] {
			g[i*n+i+j] = s.total[a*s.p+b] / (length(a) * length(b))
		}
	}
	r := factorOf(g, n, leastOwn)
	if len(r.others) == 0 {
		return nil, false
	}
	if float64(len(r.pivots)) >= s.tasks.rows {
		return nil, true
	}
	for k, j := range r.others {
		group := []int{columns[j] - 1}
		for i, pivot := range r.pivots {
			if part := columns[pivot]; part > 0 && math.Abs(r.by.Data[i*r.by.Stride+k]) > leastPart {
				group = append(group, part-1)
			}
		}
		slices.Sort(group)
		groups = append(groups, group)
	}
	slices.SortFunc(groups, slices.Compare)
	return groups, false
}

// independentOf returns the constant and the linear columns that vary. It leaves out the first level with
// rows of each of the categories: it follows from the constant and the other levels.
func (s *stats) independentOf(list []category) (columns []int) {
	skipped := make([]bool, s.linear)
	for _, c := range list {
		for j := 1 + c.first; j <= c.first+c.levels; j++ {
			if s.active[j] {
				skipped[j] = true
				break
			}
		}
	}
	for j, active := range s.active[:s.linear] {
		if active && !skipped[j] && s.total[j*s.p+j] > 0 {
			columns = append(columns, j)
		}
	}
	return columns
}
