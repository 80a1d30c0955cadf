package dataset

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// oddTable has a column for everything that is suspicious, between honest ones.
func oddTable(rows int) string {
	r := rand.New(rand.NewPCG(3, 4))
	var b strings.Builder
	b.WriteString("clinic,age,dose,total,copy,constant,nearly,offset,id,mixed,region,comment,day,gone,huge,y\n")
	for i := range rows {
		age, dose := r.IntN(80), float64(r.IntN(1000))/8
		mixed := fmt.Sprint(r.IntN(9))
		if i%50 == 7 {
			mixed = "n. d."
		}
		fmt.Fprintf(&b, "c%d,%d,%g,%g,%d,3,%.17g,%.17g,%d,%s,%s,note %d,%d.%d.2020,,%g,%g\n",
			i%7, age, dose, 2*float64(age)-dose+5, age, 0.1+1e-16*float64(i%3), 1e12+float64(i*i%1000), 1000+i, mixed,
			[]string{"north", "south", "=east"}[i%3], i, 1+i%28, 1+i%12, 1e120*r.Float64(), 3*dose+float64(age))
	}
	return b.String()
}

func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, "odd.csv", []byte(oddTable(600)))
	d, err := Describe(path, TableOptions{Task: "clinic", Target: "y"})
	if err != nil {
		t.Fatal(err)
	}
	if d.Rows != 600 || len(d.Columns) != 16 || d.Tasks == nil || d.Tasks.Tasks != 7 || d.Tasks.Min != 85 || d.Tasks.Max != 86 || !strings.Contains(d.Assumed, `dates (day first) in "day"`) {
		t.Errorf("%+v, tasks %+v", d, d.Tasks)
	}
	types := map[string]string{}
	for _, c := range d.Columns {
		types[c.Name] = c.Type
	}
	for name, want := range map[string]string{"clinic": "text", "age": "integer", "dose": "number", "mixed": "mixed", "day": "date", "gone": "empty", "id": "integer", "region": "text"} {
		if types[name] != want {
			t.Errorf("%q is %s, want %s", name, types[name], want)
		}
	}
	want := []string{
		`"constant" is constant (3).`,
		`"nearly" is constant but for rounding (0.1 to 0.10000000000000`,
		`"offset" varies by `,
		`"id" is a different whole number in every row`,
		`"mixed" mixes 588 numbers with 12 cells that are not (first: line 9, "n. d.").`,
		`"comment" is text that is different in every row`,
		`"gone" is empty.`,
		`"huge" has values up to`,
		`"copy" has the same values as "age".`,
		`"total" is an exact linear combination of "age", "dose".`,
		`"y" is an exact linear combination of "age", "dose".`,
	}
	all := strings.Join(d.Remarks, "\n")
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("no remark with %q", w)
		}
	}
	if len(d.Remarks) != len(want) || t.Failed() {
		t.Errorf("%d remarks, want %d:\n%s", len(d.Remarks), len(want), all)
	}
}

// The numbers are those of two passes over the values.
func TestDescribeNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	values := make([]float64, 5000)
	var b strings.Builder
	b.WriteString("a,b\n")
	for i := range values {
		values[i] = 1e6 + r.NormFloat64()
		fmt.Fprintf(&b, "%.17g,%d\n", values[i], r.IntN(10))
	}
	sum, squares := 0.0, 0.0
	for _, v := range values {
		sum += v - 1e6
	}
	mean := sum / float64(len(values))
	for _, v := range values {
		squares += (v - 1e6 - mean) * (v - 1e6 - mean)
	}
	d, err := Describe(write(t, t.TempDir(), "n.csv", []byte(b.String())), TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c := d.Columns[0]
	if math.Abs(*c.Mean-1e6-mean) > 1e-8 || math.Abs(*c.SD-math.Sqrt(squares/float64(len(values)-1))) > 1e-8 || c.Distinct != 5000 || d.Columns[1].Distinct != 10 {
		t.Errorf("mean %v, sd %v, distinct %d and %d", *c.Mean, *c.SD, c.Distinct, d.Columns[1].Distinct)
	}
}

// What training refuses is described.
func TestDescribeBroken(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name, text string
		rows       int
		want       string
	}{
		{"twice.csv", "a,a,,b\n1,2,3,4\n", 1, `Columns 1 and 2 are both named "a".`},
		{"unnamed.csv", "a,a,,b\n1,2,3,4\n", 1, "Column 3 has no name: training leaves it out."},
		{"ragged.csv", "a,b\n1,2\n3\n4,5,6\n", 3, "2 rows of another length: 2 cells were expected (first: line 3 with 1 cells)."},
		{"quote.csv", "a,b\n1,2\n\"x,3\n", 1, "Reading stopped: line 3: a quoted cell does not end"},
		{"ambiguous.csv", "a;b\n1,234;2\n", 1, "How numbers are written cannot be told: line 2"},
		{"money.csv", "a,b\n\"$1,000.5\",1\n$7,2\n", 2, `"a" holds numbers with the sign "$": take it out of the column.`},
		{"latin1.csv", "gr\xf6\xdfe,b\n1,2\n3,\xe4\n", 2, "mixes 1 number with 1 cell"},
		{"infinite.csv", "a,b\nInf,1\n2,3\n", 2, `"a" mixes 1 number with 1 cell that are not (first: line 2, "Inf")`},
	} {
		d, err := Describe(write(t, dir, c.name, []byte(c.text)), TableOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if all := strings.Join(d.Remarks, "\n"); d.Rows != c.rows || !strings.Contains(all, c.want) {
			t.Errorf("%s: %d rows, remarks\n%s\nwant %q", c.name, d.Rows, all, c.want)
		}
	}
	// One column that can be read in two ways leaves the others as they are.
	d, err := Describe(write(t, dir, "partly.csv", []byte("a;b;c\n1,5;48.123;1.2.2024\n2,5;11.000;31.3.2024\n")), TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if a, c := d.Columns[0], d.Columns[2]; a.Type != "number" || *a.Max != 2.5 || c.Type != "date" || !strings.Contains(d.Remarks[0], `column "b": "48.123"`) {
		t.Errorf("%+v, remarks %q", d.Columns, d.Remarks)
	}
	for text, want := range map[string]string{"": "the table is empty", "a,b\n": "zero rows", "a\x00b": "not text"} {
		_, err := Describe(write(t, dir, "e.csv", []byte(text)), TableOptions{})
		checkMessage(t, text, err, []string{"e.csv: ", want})
	}
	_, err = Describe(write(t, dir, "t.csv", []byte("clinic,b\n1,2\n")), TableOptions{Task: "clinik"})
	checkMessage(t, "no task", err, []string{`no column "clinik"`, `did you mean "clinic"?`})
}

// Combinations are named by their own columns, also where others are correlated with
// them, and honest columns never are.
func TestCombinations(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		var b strings.Builder
		b.WriteString("a,x,b,z,sum\n")
		for range 60 {
			a := r.NormFloat64()
			x, bb := a+r.NormFloat64(), a-r.NormFloat64()
			fmt.Fprintf(&b, "%.17g,%.17g,%.17g,%.17g,%.17g\n", a, x, bb, bb+x+1e-5*r.NormFloat64(), 3*a-2*bb+100)
		}
		d, err := Describe(write(t, t.TempDir(), "c.csv", []byte(b.String())), TableOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Remarks) != 1 || d.Remarks[0] != `"sum" is an exact linear combination of "a", "b".` {
			t.Fatalf("remarks %q", d.Remarks)
		}
	}
}
