package simulation

import "testing"

// bandTrials returns n trials of dif with the distances i and 2i. The last diverges after its first row.
func bandTrials(n int) (trials []Trial) {
	for i := range n {
		v := float64(i)
		rows := []Row{
			{SDFirst: v},
			{SDFirst: 2 * v, Rounds: 10, Bytes: int64(8 * i), Seconds: v},
		}
		if i == n-1 {
			rows = rows[:1]
		}
		trials = append(trials, Trial{Number: i + 1, Curves: []Curve{{Method: "dif", Rows: rows}}})
	}
	return trials
}

func TestBands(t *testing.T) {
	sum := Summarize(&Setting{}, bandTrials(11), Origin{})
	curve := sum.Methods[0].Curve
	// 0, ..., 10; then 0, 2, ..., 18 and 10. The band of 11 trials is their range.
	if want := (BandRow{Median: 5, High: 10}); curve[0] != want {
		t.Errorf("row 0 is %+v, want %+v", curve[0], want)
	}
	if want := (BandRow{Median: 10, High: 18, Bytes: 32, Seconds: 4}); curve[1] != want || sum.Band != "range" ||
		sum.Methods[0].Rounds != 10 {
		t.Errorf("row 1 is %+v with the band %q, want %+v", curve[1], sum.Band, want)
	}
	if row := Summarize(&Setting{}, bandTrials(4), Origin{}).Methods[0].Curve[0]; row.Median != 1.5 {
		t.Errorf("the median of 0, 1, 2, 3 is %v", row.Median)
	}
	// From 20 trials on the band is that of the 10th and the 90th percentile.
	sum = Summarize(&Setting{}, bandTrials(21), Origin{})
	if row := sum.Methods[0].Curve[0]; row.Low != 2 || row.High != 18 ||
		sum.TrialsText() != "median and 10–90 % band of 21 trials" {
		t.Errorf("21 trials have the band %v to %v, %q", row.Low, row.High, sum.TrialsText())
	}
}

func TestSummarize(t *testing.T) {
	curve := func(method string, distances ...float64) Curve {
		c := Curve{Method: method}
		for i, v := range distances {
			c.Rows = append(c.Rows,
				Row{Iteration: i, SDFirst: v, Rounds: int64(3 + 2*i), Bytes: int64(7 + 100*i), Seconds: float64(i) / 2})
		}
		return c
	}
	trials := []Trial{
		{Number: 1, Curves: []Curve{curve("dif", .5, 1e-3, 1e-7), curve("dec", .5, .1, .2)}},
		{Number: 2, Curves: []Curve{curve("dif", .5, 1e-2, 1e-5), curve("dec", .5, .1, 1e-4)}},
		{Number: 3, Curves: []Curve{curve("dif", .5, 1e-3, 1e-6), curve("dec", .5, .1, .3)}},
	}
	trials[2].Curves[1].Diverged = true
	sum := Summarize(&Setting{}, trials, Origin{})
	dif, dec := sum.Methods[0], sum.Methods[1]
	if f := dif.Final; f.Median != 1e-6 || f.Min != 1e-7 || f.Max != 1e-5 {
		t.Errorf("final distances of dif are %+v", f)
	}
	if r := dif.To(1e-3); r.Trials != 3 || *r.Iterations != 1 || *r.Bytes != 107 || *r.Seconds != 0.5 ||
		*r.Rounds != 5 {
		t.Errorf("dif to 1e-3: %+v", r)
	}
	if r := dif.To(1e-6); r.Trials != 2 || *r.Iterations != 2 {
		t.Errorf("dif to 1e-6: %+v", r)
	}
	if r := dec.To(1e-3); r.Trials != 1 || r.Iterations != nil || r.Seconds != nil {
		t.Errorf("dec to 1e-3, which one of three trials reaches: %+v", r)
	}
	if dec.Diverged != 1 || dif.Diverged != 0 || dif.Bytes != 207 || dif.Seconds != 1 {
		t.Errorf("totals are %+v, %+v", dif, dec)
	}
}
