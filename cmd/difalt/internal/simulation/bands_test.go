package simulation

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestBands(t *testing.T) {
	var trials []Trial
	for i := range 11 {
		v := float64(i)
		rows := []Row{
			{SDFirst: v, SDMax: v + 1},
			{SDFirst: 2 * v, SDMax: 3 * v, Disagreement: v * v, Objective: 5 * v, Rounds: 10, Messages: int64(i), Bytes: int64(8 * i), Seconds: v},
		}
		if i == 10 {
			rows = rows[:1] // diverged: keeps its last row
		}
		trials = append(trials, Trial{Number: i + 1, Curves: []Curve{{Method: "dif", Rows: rows}}})
	}
	b := Summarize(&Setting{}, trials, nil).Methods
	if len(b) != 1 || b[0].Method != "dif" || len(b[0].Curve) != 2 {
		t.Fatalf("summaries are %+v", b)
	}
	// 0, ..., 10; then 0, 2, ..., 18 and 10.
	if got, want := b[0].Curve[0], (BandRow{Trials: 11, Mean: 5, Median: 5, Low: 1, High: 9, SDMax: 6}); got != want {
		t.Errorf("row 0 is %+v, want %+v", got, want)
	}
	want := BandRow{Trials: 11, Mean: 100.0 / 11, Median: 10, Low: 2, High: 16, SDMax: 12, Disagreement: 16, Objective: 20,
		Rounds: 10, Messages: 4, Bytes: 32, Seconds: 4}
	if got := b[0].Curve[1]; got != want {
		t.Errorf("row 1 is %+v, want %+v", got, want)
	}
}

func TestBandsRoundTrip(t *testing.T) {
	sum := &Summary{Methods: []MethodSummary{
		{Method: "dif", Curve: []BandRow{{Trials: 100, Mean: 0.5, Median: 1e-300, High: math.Inf(1)}, {Trials: 100, Seconds: 0.25}}},
		{Method: "dec", Curve: []BandRow{{Trials: 3, Rounds: 1.5, Bytes: 1e12}}},
	}}
	text := string(sum.curves())
	got, err := readCurves(strings.NewReader(text))
	if want := map[string][]BandRow{"dif": sum.Methods[0].Curve, "dec": sum.Methods[1].Curve}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, error %v", got, err)
	}
	lines := strings.SplitAfter(text, "\n")
	for want, text := range map[string]string{
		"line 1: ":             "",
		"line 1: not the":      "method,seconds\n",
		"line 2: column 2":     lines[0] + lines[2],
		"line 3: column 4":     lines[0] + lines[1] + strings.Replace(lines[2], ",0,", ",x,", 1),
		"line 2: wrong number": lines[0] + "dif,0\n",
	} {
		if _, err := readCurves(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not mention %q", err, want)
		}
	}
}
