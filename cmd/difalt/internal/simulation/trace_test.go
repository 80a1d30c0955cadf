package simulation

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestTraceRoundTrip(t *testing.T) {
	trials := []Trial{
		{Number: 1, Curves: []Curve{
			{Method: "dif", Rows: []Row{
				{SDFirst: 0.1, SDMax: 1.0 / 3, SDMean: 1e-300, Disagreement: 5e-324, Objective: math.MaxFloat64},
				{Iteration: 1, Rounds: 10, Messages: 1 << 40, Bytes: math.MaxInt64, Seconds: math.Pi},
			}},
			{Method: "dec", Rows: []Row{{Objective: math.Inf(1)}}},
		}},
		{Number: 2, Curves: []Curve{{Method: "dif", Rows: []Row{{SDFirst: 0.5}}}}},
	}
	text := traceHeader + "\n"
	for i := range trials {
		text += string(trials[i].appendCSV(nil))
	}
	want := "dif,1,0,0.1,0.3333333333333333,1e-300,5e-324,1.7976931348623157e+308,0,0,0,0\n"
	if !strings.Contains(text, want) {
		t.Errorf("trace is %q, without %q", text, want)
	}
	got, err := ReadTrace(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, trials) {
		t.Errorf("read %+v, want %+v", got, trials)
	}
}

func TestReadTraceErrors(t *testing.T) {
	row := "dif,1,0,1,1,1,0,0,0,0,0,0\n"
	for text, want := range map[string]string{
		"a,b\n":                 "line 1 is not the header",
		traceHeader + "\n1,2\n": "line 2",
		traceHeader + "\n" + row + strings.Replace(row, ",1,0,1,", ",1,0,x,", 1): "line 3: column 4",
		traceHeader + "\n" + strings.Replace(row, "dif,1,", "dif,1.5,", 1):       "line 2: column 2",
		traceHeader + "\n" + row +
			strings.Replace(row, ",1,0,1,", ",1,2,1,", 1): "line 3: iteration is 2 of dif: must be 1",
	} {
		if _, err := ReadTrace(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not mention %q", text, err, want)
		}
	}
}

// FuzzReadTrace: whatever a file holds is curves without gaps, or an error.
func FuzzReadTrace(f *testing.F) {
	f.Add(traceHeader + "\ndif,1,0,1,1,1,0,5,0,0,0,0\ndif,1,1,1,1,1,0,5,1,1,1,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		trials, err := ReadTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, trial := range trials {
			for _, c := range trial.Curves {
				for k, row := range c.Rows {
					if row.Iteration != k {
						t.Fatalf("iteration %d in row %d", row.Iteration, k)
					}
				}
			}
		}
	})
}
