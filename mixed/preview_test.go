package mixed

import (
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A preview has the rows in totals and the notes that a training has, for each number of owners that pool
// what they know.
func TestPreviewIsTheTraining(t *testing.T) {
	victim, _ := withFlag(12, 8, 4)
	own, _ := withFlag(20, 2, 0)
	list := []Input{{Table: victim, Name: "mine"}, {Table: own}, {Table: own}}
	var totals []int
	for _, d := range []Disclosure{{}, {Colluding: 2}, {Strict: true}, open.Disclosure} {
		o := Options{NoCurves: true, Disclosure: d}
		p := check.OK(NewPreview(t.Context(), list[0], o, len(list)))
		fits, errs := describeTogether(t, list, o)
		check.Done(errs[0])
		g := fits[0].rows.guard
		want := len(g.counted())
		check.FailIf(t, p.Rows != victim.Rows() || p.Total != want, "%+v: %+v, want %d rows", d, p, want)
		check.FailIf(t, !slices.Equal(p.Notes, g.did), "%+v: notes %q, want %q", d, p.Notes, g.did)
		totals = append(totals, p.Total)
	}
	check.FailIf(t, totals[1] >= totals[0] || totals[3] != victim.Rows(), "rows in totals: %v", totals)
}

// An owner that would take no part reads why, and one with few rows that it would vote for fewer knots.
func TestPreviewOfFewRows(t *testing.T) {
	for rows, want := range map[int]string{2: "would take no part", 20: "with 5 knots in place of 8", 200: ""} {
		in := Input{Table: drawn(3, "v", 2, rows, rows)}
		p := check.OK(NewPreview(t.Context(), in, Options{}, 3))
		said := strings.Join(p.Notes, " ")
		wrong := !strings.Contains(said, want) || want == "" && said != ""
		check.FailIf(t, wrong, "%d rows: %+v, want %q", rows, p, want)
		check.FailIf(t, (p.Total == 0) != (rows == 2), "%d rows: %+v", rows, p)
	}
	_, err := NewPreview(t.Context(), Input{Table: drawn(3, "v", 2, 20)}, Options{}, 1)
	check.FailIf(t, err == nil, "one owner has a preview")
}
