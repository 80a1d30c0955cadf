package dataset

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

var (
	// added are the names of columns that other programs add to every table they write: pandas, dask, Arrow,
	// Spark.
	added = regexp.MustCompile(`^(__index_level_\d+__|Unnamed: \d+(\.\d+)*|__null_dask_index__|` +
		`__fragment_index|__batch_index|__last_in_fragment|__filename|__row_index__?|_rescued_data|_metadata)$`)
	// addedOften are names that they give to columns of row numbers, and that others may give to other
	// columns.
	addedOften = regexp.MustCompile(`^(X(\.\d+)?|index|level_\d+|_c0|\.\.\.\d+|V1|Column1|` +
		`rowid|rownames?|row[._]names?|Row)$`)
)

// addedName reports whether a column of that name belongs to the program that wrote the table.
func addedName(name string) bool { return added.MatchString(name) }

// withoutAdded divides names into those to keep, and those that other programs add and no option lists.
func withoutAdded(names, listed []string) (kept, out []string) {
	for _, name := range names {
		if addedName(name) && !slices.Contains(listed, name) {
			out = append(out, name)
		} else {
			kept = append(kept, name)
		}
	}
	return kept, out
}

// A column of text may have at most one level for every textShare rows. Up to fewTexts levels are always
// allowed.
const (
	textShare = 2
	fewTexts  = 20
)

// leaveOut takes row numbers of other programs out of the features. It refuses columns of text with about as
// many levels as rows. Columns that options list stay.
func (r *reader) leaveOut() error {
	t, o := r.t, &r.o
	if o.Schema != nil {
		return nil
	}
	starts := t.places.starts(t.Rows())
	var out, texts, inferred []string
	var most []string // the levels of the first of texts
	for j := 0; j < len(t.schema.Columns); j++ {
		name, own := t.schema.Columns[j], r.levels[featureSlot+j]
		suspect := o.Features == nil && (addedOften.MatchString(name) || slices.Contains(r.indices, name)) &&
			!r.notations[featureSlot+j].dates
		switch {
		case own != nil && !own.inferred:
		case suspect && (own == nil && t.numbersRows(j, starts) || own != nil && len(own.list) == t.Rows()):
			out = append(out, name)
			r.out[name] = "it numbers the rows"
			r.remove(j)
			j--
		case own != nil && len(own.list) > fewTexts && len(own.list)*textShare > t.Rows():
			if texts == nil {
				most = own.list
			}
			texts = append(texts, name)
			if r.lenient {
				r.out[name] = fmt.Sprintf("it has %d different texts", len(own.list))
				r.remove(j)
				j--
			}
		case own != nil:
			inferred = append(inferred, name)
		}
	}
	if texts != nil && !r.lenient {
		const format = "column %.60q has %d different texts in %s, such as %.60q, as ids, remarks and numbers with a " +
			"unit have"
		return formatErrorf("Texts", texts, format, texts[0], len(most), text.Plural(t.Rows(), "row"), most[0])
	}
	r.path = ""
	if out != nil {
		r.note(fmt.Sprintf("Row numbers are left out: %s.", text.Names(out)))
	}
	if inferred != nil {
		r.note(fmt.Sprintf("Text is read as categories: %s.", text.Names(inferred)))
	}
	if t.empty > 0 {
		r.note(text.Plural(t.empty, "empty row") + " left out.")
	}
	return nil
}

// remove takes column j out of the features.
func (r *reader) remove(j int) {
	slot := featureSlot + j
	r.t.x.remove(j)
	r.t.schema.Columns = slices.Delete(r.t.schema.Columns, j, j+1)
	r.levels, r.gaps = slices.Delete(r.levels, slot, slot+1), slices.Delete(r.gaps, slot, slot+1)
	r.notations = slices.Delete(r.notations, slot, slot+1)
}

// numbersRows reports whether column j holds whole numbers that are all different in each file, and either
// close together, or increasing from row to row. starts are the first rows of the files, and the end.
func (t *Table) numbersRows(j int, starts []int) bool {
	for f := range len(starts) - 1 {
		first, end := starts[f], starts[f+1]
		least, most, rising := math.Inf(1), math.Inf(-1), true
		for i := first; i < end; i++ {
			v := t.x.row(i)[j]
			if v != math.Trunc(v) || math.Abs(v) > 1<<53 { // also NaN
				return false
			}
			rising = rising && v > most
			least, most = min(least, v), max(most, v)
		}
		if rising {
			continue
		}
		n := end - first
		if most-least >= 2*float64(n) {
			return false
		}
		seen := make([]bool, int(most-least)+1)
		for i := first; i < end; i++ {
			k := int(t.x.row(i)[j] - least)
			if seen[k] {
				return false
			}
			seen[k] = true
		}
	}
	return true
}
