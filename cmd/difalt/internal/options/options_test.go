package options

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/fit"
)

// all are the commands that train.
var all = map[string]Command{"fit": Fit, "node": Node, "up": Up}

// with returns the options of a command line for a table.
func with(t *testing.T, c Command, args ...string) *Flags {
	t.Helper()
	f := New(c)
	if err := f.Set.Parse(append([]string{"--data", "t.csv", "--task", "t", "--target", "y"}, args...)); err != nil {
		t.Fatal(err)
	}
	return f
}

// Every row says for whom it must be the same, which commands have it, and what it is for.
func TestRowsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, o := range (&Training{}).table() {
		switch {
		case seen[o.Name]:
			t.Errorf("--%s is there twice", o.Name)
		case o.Same < AllNodes || o.Same > Nobody:
			t.Errorf("--%s does not say for whom it must be the same", o.Name)
		case o.Of == 0 || o.Usage == "" || o.Value.Target == nil:
			t.Errorf("--%s lacks a command, its help or what it sets", o.Name)
		case o.Same == AllNodes && o.Of&Node == 0:
			t.Errorf("--%s must be the same at all nodes, but node does not have it", o.Name)
		case o.Engine != "" && o.Of&Node == 0:
			t.Errorf("--%s is for an engine, but node does not have it", o.Name)
		}
		seen[o.Name] = true
	}
}

// notOptions are the fields that no command line sets, and why.
var notOptions = map[string]string{
	"Config.Network":             "made of --graph and --weights, or of cluster.json",
	"Config.Train":               "made of the options of Split",
	"Config.Weights":             "the column that --sample-weights names",
	"Config.Continue":            "the model that --continue names",
	"Config.Plain":               "what a problem file is for",
	"Config.Owners":              "what more than one file of data, or node, is for",
	"Config.U0":                  "in a problem file",
	"Config.Start":               "in a problem file",
	"Config.Truth":               "in a problem file",
	"Config.Drive":               "what --checkpoint does",
	"Config.TaskColumn":          "as Table.Task",
	"Config.TargetColumn":        "as Table.Target",
	"Config.Progress":            "the progress bar",
	"Options.Rank":               "fit.Config has one",
	"Options.Ridge":              "fit.Config has one",
	"Scaled.Step":                "a study's: simulate has it",
	"Accelerated.Memory":         "a study's: simulate has it",
	"Accelerated.Preconditioner": "a study's: simulate has it",
	"Initialization.Kappa":       "a study's: its default suits data of any condition number",
	"Initialization.AsPrinted":   "a study's: simulate has it",
	"Initialization.Mu":          "a study's: its default suits data of any incoherence",
	"Options.StopAtNoise":        "what fit does by itself",
	"Options.AnyStationary":      "what fit does by itself",
	"Options.MixedPrecision":     "what --samples-on-disk does for a problem file",
	"Options.SampleSplit":        "the theory's",
	"Options.EveryIteration":     "what a negative --tolerance and --trace do",
	"Options.Observer":           "what --trace does",
	"Options.Logger":             "silent",
	"Agreement.RoundByRound":     "what nodes do, and so fit on tables",
	"Agreement.Trigger":          "a study's: simulate has it",
	"Table.Features":             "all but those of --drop",
	"Table.Schema":               "that of the model, in predict and adapt",
	"Table.NewLevels":            "predict without --known-only",
	"Table.Progress":             "the command's",
	"Split.Last":                 "what --test-last does",
	"Split.Seed":                 "as Options.Seed",
}

// Every field of the options of a training is set by a row of the table, or there is a
// reason why not.
func TestEveryFieldHasARow(t *testing.T) {
	f := &Training{}
	rows := map[uintptr]string{}
	for _, o := range f.table() {
		at := reflect.ValueOf(o.Value.Target).Pointer()
		if other, twice := rows[at]; twice {
			t.Errorf("--%s and --%s set the same field", other, o.Name)
		}
		rows[at] = o.Name
	}
	reasons := map[string]bool{}
	var walk func(what string, v reflect.Value)
	walk = func(what string, v reflect.Value) {
		for i := range v.NumField() {
			field, name := v.Field(i), v.Type().Field(i).Name
			_, row := rows[field.Addr().Pointer()]
			path := what + "." + name
			switch {
			case field.Kind() == reflect.Struct:
				walk(name, field)
			case notOptions[path] != "" && row:
				t.Errorf("%s has a row, and a reason to have none", path)
			case notOptions[path] != "":
				reasons[path] = true
			case !row:
				t.Errorf("%s has no row, and no reason to have none", path)
			}
		}
	}
	walk("", reflect.ValueOf(f).Elem())
	for path := range notOptions {
		if !reasons[path] {
			t.Errorf("there is no field %s", path)
		}
	}
}

// typed returns a number as one types it.
func typed(o *Option, v float64) string {
	switch o.Value.Target.(type) {
	case *time.Duration:
		return time.Duration(v).String()
	case *int:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprint(v)
}

// beyond returns the number next to an end of a range, towards an infinity.
func beyond(o *Option, end, infinity float64) float64 {
	switch o.Value.Target.(type) {
	case *int, *time.Duration:
		return end + math.Copysign(1, infinity)
	}
	return math.Nextafter(end, infinity)
}

// Numbers can be typed up to the ends of their ranges, and are refused by the name of their
// option just beyond; what difalt.Options.Validate says is the same.
func TestEndsOfRanges(t *testing.T) {
	numbers := map[string]bool{}
	for _, c := range all {
		for _, o := range New(c).options {
			if o.Value.Least == 0 && o.Value.Most == 0 {
				switch o.Value.Target.(type) {
				case *int, *float64, **float64, *time.Duration:
					t.Errorf("--%s is a number without a range", o.Name)
				}
				continue
			}
			numbers[o.Name] = true
			for _, value := range []float64{o.Value.Least, o.Value.Most} {
				if err := resolved(t, c, &o, value); err != nil {
					t.Errorf("--%s=%s: %v", o.Name, typed(&o, value), err)
				}
			}
			for _, value := range outside(&o) {
				var usage *UsageError
				if err := resolved(t, c, &o, value); !errors.As(err, &usage) || !strings.HasPrefix(err.Error(), "--"+o.Name) {
					t.Errorf("--%s=%s: %v", o.Name, typed(&o, value), err)
				}
			}
		}
	}
	if len(numbers) < 20 {
		t.Errorf("only %d options are numbers", len(numbers))
	}
}

// outside returns numbers that the range of an option does not have. An infinite ridge stands
// for no deviation at all.
func outside(o *Option) []float64 {
	all := []float64{beyond(o, o.Value.Least, math.Inf(-1))}
	if most := beyond(o, o.Value.Most, math.Inf(1)); !math.IsInf(most, 1) {
		all = append(all, most)
	}
	switch o.Value.Target.(type) {
	case *int, *time.Duration:
		return all
	case *float64:
		all = append(all, math.Inf(1))
	}
	return append(all, math.Inf(-1), math.NaN())
}

// resolved returns what Resolve or the check of the algorithm's options say when a number is
// typed.
func resolved(t *testing.T, c Command, o *Option, value float64) error {
	args := []string{"--" + o.Name + "=" + typed(o, value)}
	if o.Name == "every" {
		args = append(args, "--checkpoint", "dir")
	}
	switch o.Name {
	case "epsilon":
		args = append(args, "--rank", "1")
	case "delta", "colluding":
		args = append(args, "--rank", "1", "--epsilon", "1")
	}
	if strings.HasSuffix(o.Name, "rounds") {
		args = append(args, "--agree", "plain")
	}
	f := with(t, c, args...)
	if err := f.Resolve(); err != nil {
		return err
	}
	algorithm := f.algorithm()
	algorithm.Rank = 1
	return algorithm.Validate()
}

// What nodes compare names every option that must be the same at all of them, once, and
// nothing that concerns one node only.
func TestSettings(t *testing.T) {
	f := with(t, Node, "--tolerance", "1e-7", "--checkpoint", "dir", "--every", "7")
	if err := f.Resolve(); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, s := range f.Settings(AllNodes) {
		if _, twice := values[s.Name]; twice {
			t.Errorf("%s is there twice", s.Name)
		}
		values[s.Name] = s.Value
	}
	for name, value := range map[string]string{
		"--task": "t", "--rank": "auto", "--method": "accelerated", "--agree": "tree", "--tolerance": "1e-07", "--every": "7", "--iterations": fmt.Sprint(fit.DefaultOptions(0).Iterations),
	} {
		if values[name] != value {
			t.Errorf("%s is %q: want %q", name, values[name], value)
		}
	}
	for _, name := range []string{"--data", "--workers", "--model", "--drop", "--round-timeout"} {
		if _, there := values[name]; there {
			t.Errorf("%s is compared", name)
		}
	}
	for _, s := range f.Settings(Checkpoint) {
		if _, there := values[s.Name]; there {
			t.Errorf("%s is in two scopes", s.Name)
		}
	}
}

// A command line that is passed on says the same again.
func TestArguments(t *testing.T) {
	given := []string{"--drop", `a,"b,c"`, "--rank", "2", "--no-header", "--round-timeout", "3m", "--processes", "2"}
	f := with(t, Up, given...)
	args := f.Arguments(Node, "data")
	g := New(Node)
	if err := g.Set.Parse(args); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(g.Table.Drop, []string{"a", "b,c"}) || g.text("rank") != "2" || !g.Table.NoHeader || g.Member.RoundTimeout != 3*time.Minute {
		t.Errorf("%q", args)
	}
	if strings.Contains(strings.Join(args, " "), "processes") {
		t.Errorf("%q has an option of up", args)
	}
}

// TestDefaultAgreement: how nodes agree is said by --agree alone; nothing else that is said about
// the method or the codes changes it, and the codes and the method that go with gossip come
// with it only.
func TestDefaultAgreement(t *testing.T) {
	for args, want := range map[string][3]string{
		"":                                  {"accelerated", "tree", ""},
		"--compress int8":                   {"accelerated", "tree", "int8"},
		"--method tracking":                 {"tracking", "tree", ""},
		"--method dif --compress int4":      {"dif", "tree", "int4"},
		"--agree plain":                     {"accelerated-tracking", "plain", "int8"},
		"--agree chebyshev --compress none": {"accelerated-tracking", "chebyshev", "none"},
		"--agree plain --method dif":        {"dif", "plain", ""},
		"--data p.npz":                      {"dif", "plain", ""},
		"--data p.npz --compress int8":      {"dif", "plain", "int8"},
		"--data p.npz --method accelerated": {"accelerated", "tree", ""},
		"--data p.npz --method newton":      {"newton", "tree", ""},
	} {
		f := New(Fit)
		given := []string{"--data", "t.csv", "--task", "t", "--target", "y"}
		if strings.Contains(args, "npz") {
			given = nil
		}
		err := f.Set.Parse(append(given, strings.Fields(args)...))
		if err == nil {
			err = f.Resolve()
		}
		if got := [3]string{f.text("method"), f.text("agree"), f.text("compress")}; err != nil || got != want {
			t.Errorf("%s: %v, %v, want %v", args, got, err, want)
		}
	}
}
