package mixed

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// An owner whose column, or target, is in another unit reads so in its own notes. The others read that some
// owner may have another unit; of two owners each may be the one. Owners whose columns differ as much as
// their spread read nothing. The comparison takes no total.
func TestOtherUnits(t *testing.T) {
	for _, c := range []struct {
		name, column string // "" for none
		change       func(v []float64)
	}{
		{"none", "", func([]float64) {}},
		{"grams", "weight", func(v []float64) { v[0] *= 1000 }},
		{"tonnes", "weight", func(v []float64) { v[0] /= 1000 }},
		{"fahrenheit", "temperature", func(v []float64) { v[1] = 32 + 1.8*v[1] }},
		{"kelvin", "temperature", func(v []float64) { v[1] += 273.15 }},
		{"another sign", "depth", func(v []float64) { v[2] = -v[2] }},
		{"a younger site", "", func(v []float64) { v[3] += 15 }},
		{"a mark", "", func(v []float64) { v[4] = 1 }},
		{"cents", "the target", func(v []float64) { v[5] *= 100 }},
	} {
		for owners := 2; owners <= 3; owners++ {
			for name, rules := range map[string]Options{
				"rules": {NoCurves: true},
				"open":  {NoCurves: true, Disclosure: open.Disclosure},
			} {
				t.Run(fmt.Sprint(c.name, owners, name), func(t *testing.T) {
					list := sites(owners, c.change)
					_, r, err := Together(t.Context(), list, network("complete", owners), rules)
					check.Done(err)
					here, elsewhere := map[string]int{}, map[string]int{} // notes by site
					for _, note := range r.Notes {
						site, text, _ := strings.Cut(note, ": ")
						switch {
						case !strings.Contains(text, "same unit"):
							continue
						case c.column == "" || !strings.Contains(text, c.column):
							t.Errorf("%q", note)
						case strings.Contains(text, "one of them may"):
							elsewhere[site]++
						default:
							here[site]++
						}
					}
					wantHere, wantElsewhere := map[string]int{}, map[string]int{}
					switch {
					case c.column == "":
					case owners == 2:
						wantHere = map[string]int{"site 0": 1, "site 1": 1}
					case c.name == "tonnes": // too near to zero for the means of the others to be far from one another
						wantHere = map[string]int{"site 0": 1}
					default:
						wantHere, wantElsewhere = map[string]int{"site 0": 1}, map[string]int{"site 1": 1, "site 2": 1}
					}
					check.FailIf(t, !maps.Equal(here, wantHere) || !maps.Equal(elsewhere, wantElsewhere),
						"%v, %v of %q",
						here, elsewhere, r.Notes)
				})
			}
		}
	}
}

// A dated table has dates in a column.
type dated struct {
	*Data
	column string
}

func (t dated) Schema() *Schema {
	s := *t.Data.Schema()
	s.Dates = []string{t.column}
	return &s
}

// TestOtherDates: the note about dates has dates, and no numbers of days.
func TestOtherDates(t *testing.T) {
	list := sites(2, func(v []float64) { v[3] -= 2000 })
	for i := range list {
		list[i].Table = dated{list[i].Table.(*Data), "year"}
	}
	_, r, err := Together(t.Context(), list, network("complete", 2),
		Options{NoCurves: true, Disclosure: open.Disclosure})
	check.Done(err)
	const want = `site 0: The mean of "year" is 1969-12-21 here and 1975-06-13 in the rows of all other owners, with ` +
		"standard deviations of 3.1 and 3 days"
	check.FailIf(t, !strings.Contains(strings.Join(r.Notes, "\n"), want), "%q", r.Notes)
}

// sites returns tables of owners; change applies to the numbers of the first one: weight, temperature, depth,
// year, mark and target.
func sites(owners int, change func(v []float64)) (list []Input) {
	r := rand.New(rand.NewPCG(3, 4))
	for i := range owners {
		d := &Data{Names: []string{"weight", "temperature", "depth", "year", "mark"}}
		for task := range 12 {
			level := r.NormFloat64()
			for range 15 {
				v := []float64{
					70 + 12*r.NormFloat64(), 37 + .7*r.NormFloat64(), 10 + .5*r.NormFloat64(),
					1990 + 3*r.NormFloat64(), float64(r.IntN(20) / 19), 0,
				}
				v[5] = 50 + level + .1*(v[0]-70) + v[1] - 37 + .5*r.NormFloat64()
				if i == 0 {
					change(v)
				}
				check.Done(d.Append(fmt.Sprint(i, "-", task), v[5], v[:5]...))
			}
		}
		list = append(list, Input{Name: fmt.Sprint("site ", i), Table: d})
	}
	return list
}
