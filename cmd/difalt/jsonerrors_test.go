package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/cli"
)

// A placedError is what an error in JSON has besides its message.
type placedError struct {
	Code       int
	Flag, File string
	Line       int
}

// errorInJSON runs a command line that must fail, and returns its error. The standard output must be empty.
func errorInJSON(t *testing.T, args ...string) (e placedError, message string) {
	t.Helper()
	stdout, stderr, code := difaltCommand(t, append([]string{"--json", "--quiet"}, args...)...)
	var o struct {
		Error struct {
			placedError
			Message string
		}
	}
	if err := json.Unmarshal([]byte(stderr), &o); err != nil || stdout != "" || code == 0 || o.Error.Code != code {
		t.Errorf("%q: %v, exit code %d, on the standard output %q: %s", args, err, code, stdout, stderr)
	}
	return o.Error.placedError, o.Error.Message
}

// fitXY begins a command that fits a table with the columns t and y.
const fitXY = "fit --task t --target y --no-curves "

// placedFiles returns the content of files, most of which have a fault.
func placedFiles(t *testing.T) map[string]string {
	t.Helper()
	header, rows := "t,x,y,w\n", strings.Repeat("a,1,2,1\nb,2,1,1\nb,3,1,1\n", 4)
	return map[string]string{
		"good.csv":    header + rows,
		"empty.csv":   "",
		"header.csv":  header,
		"ragged.csv":  header + rows + "a,1\n",
		"text.csv":    header + rows + "a,1,two,1\n",
		"missing.csv": header + "a,,1,1\na,NA,1,1\n" + rows,
		"quote.csv":   header + "a,\"1,2,1\n",
		"twice.csv":   "t,x,x,y\n" + rows,
		"return.csv":  "t,x,y,w\ra,1,2,1\r",
		"huge.csv":    header + "a,1e200,1,1\n" + rows,
		"mark.csv":    header + rows + "a,1,2,7\n",
		"weight.csv":  header + rows + "a,1,2,-1\n",
		"latin.csv":   header + rows + "\xe9,1,2,1\n",
		"zero.csv":    strings.ReplaceAll(header+rows, "a,1", "c,1") + "a,1,0,1\n",
		"tiny.csv":    header + rows + "a,1,2,1e-300\n",
		"other.csv":   "t,x,y,w\n" + strings.Repeat("e,1,2,1\nf,2,1,1\nf,3,1,1\n", 4),
		"names.csv":   manyNames(),
		"no.npz":      "PK",
		"no.json":     "{",
		"no.key":      "a key",
		"list.json":   "{\n\"version\": 1,\n\"run\": [5]\n}",
		"three.json":  `{"version": 1, "edges": [[0, 1, 2]]}`,
		"comma.json":  "{\n\"version\": 1,,\n}",
		"p.npz":       string(readFile(t, exported(t))),
		"zero.npz":    string(readFile(t, problemOf(t, 0, 0))),
	}
}

// errorsHavePlacesCases are the cases of TestErrorsHavePlaces.
var errorsHavePlacesCases = []struct {
	line string
	want placedError
}{
	{fitXY + "empty.csv", placedError{1, "", "empty.csv", 0}},
	{fitXY + "header.csv", placedError{1, "", "header.csv", 0}},
	{fitXY + "ragged.csv", placedError{1, "", "ragged.csv", 14}},
	{fitXY + "good.csv ragged.csv", placedError{1, "", "ragged.csv", 14}},
	{fitXY + "text.csv", placedError{1, "", "text.csv", 14}},
	{fitXY + "missing.csv", placedError{1, "", "missing.csv", 2}},
	{fitXY + "quote.csv", placedError{1, "", "quote.csv", 2}},
	{fitXY + "twice.csv", placedError{1, "", "twice.csv", 1}},
	{fitXY + "return.csv", placedError{1, "", "return.csv", 1}},
	{fitXY + "huge.csv", placedError{1, "", "huge.csv", 2}},
	{fitXY + "--holdout w mark.csv", placedError{1, "", "mark.csv", 14}},
	{fitXY + "--sample-weights w weight.csv", placedError{1, "", "weight.csv", 14}},
	{fitXY + "latin.csv", placedError{1, "", "latin.csv", 14}},
	{fitXY + ".", placedError{1, "", ".", 0}},
	{fitXY + "none.csv", placedError{1, "", "none.csv", 0}},
	{fitXY + "--holdout w good.csv", placedError{1, "", "good.csv", 0}},
	{fitXY + "--drop none good.csv", placedError{1, "", "good.csv", 0}},
	{fitXY + "--model none/m.npz good.csv", placedError{1, "model", "none/m.npz", 0}},
	{fitXY + "--model net good.csv", placedError{1, "model", "net", 0}},
	{"up --task t --target y good.csv text.csv", placedError{1, "", "text.csv", 14}},
	{"check names.csv", placedError{1, "", "names.csv", 10002}},
	{"check text.csv --numbers --drop t", placedError{1, "", "text.csv", 14}},
	{"predict --model m.npz huge.csv", placedError{1, "", "huge.csv", 2}},
	{"predict --model no.npz good.csv", placedError{1, "model", "no.npz", 0}},
	{"predict --model net good.csv", placedError{1, "model", "net", 0}},
	{"predict --model none.npz good.csv", placedError{1, "model", "none.npz", 0}},
	{"adapt --model m.npz --out o.npz text.csv", placedError{1, "", "text.csv", 14}},
	{"model show no.npz", placedError{1, "", "no.npz", 0}},
	{"run --rank 1 --data no.npz", placedError{1, "", "no.npz", 0}},
	{"node --cluster no.json --key net/a.key good.csv", placedError{1, "cluster", "no.json", 0}},
	{"node --cluster none.json --key net/a.key good.csv", placedError{1, "cluster", "none.json", 0}},
	{"node --cluster net/cluster.json --key no.key good.csv", placedError{1, "key", "no.key", 0}},
	{"cluster key --out net/a.key", placedError{1, "out", "net/a.key", 0}},
	{"cluster new --nodes a=a:1,b=b:2 --out net", placedError{1, "out", "net/cluster.json", 0}},
	{fitXY + "--log-target zero.csv", placedError{1, "", "zero.csv", 14}},
	{fitXY + "--log-target good.csv zero.csv", placedError{1, "", "zero.csv", 14}},
	{"up --task t --target y --test-fraction 0 --log-target other.csv zero.csv",
		placedError{1, "", "zero.csv", 14}},
	{fitXY + "--sample-weights w tiny.csv", placedError{1, "", "tiny.csv", 14}},
	{"run --rank 1 --data p.npz --out none/o.npz", placedError{1, "out", "none/o.npz", 0}},
	{"run --rank 1 --data p.npz", placedError{2, "rank", "p.npz", 0}},
	{"run --rank 2 --data p.npz --from good.csv", placedError{1, "from", "good.csv", 0}},
	{"run --rank 2 --data p.npz --from p.npz", placedError{1, "from", "p.npz", 0}},
	{"run --rank 2 --data zero.npz", placedError{1, "", "zero.npz", 0}},
	{"node --cluster list.json --key net/a.key good.csv", placedError{1, "cluster", "list.json", 3}},
	{"node --cluster three.json --key net/a.key good.csv", placedError{1, "cluster", "three.json", 0}},
	{"node --cluster comma.json --key net/a.key good.csv", placedError{1, "cluster", "comma.json", 2}},
	{"results --from none", placedError{1, "from", "none", 0}},
	{"results --from net", placedError{1, "from", "net", 0}},
}

// The help promises the flag, the file and the line of an error as values: of every file that a command
// reads or writes, at each command.
func TestErrorsHavePlaces(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, content := range placedFiles(t) {
		write(t, ".", name, content)
	}
	must(t, "fit", "--task", "t", "--target", "y", "--drop", "w", "--rank", "0", "--no-curves", "--model", "m.npz",
		"good.csv")
	must(t, "cluster", "new", "--nodes", "a=127.0.0.1:1,b=127.0.0.1:2", "--out", "net", "--task", "t", "--target", "y")
	for _, c := range errorsHavePlacesCases {
		got, message := errorInJSON(t, strings.Fields(c.line)...)
		got.File = filepath.ToSlash(got.File)
		if got != c.want || !strings.Contains(filepath.ToSlash(message), c.want.File) {
			t.Errorf("%s: %+v, want %+v: %s", c.line, got, c.want, message)
		}
	}
}

// manyNames returns a table in which every row has a name of its own.
func manyNames() string {
	var b strings.Builder
	b.WriteString("t,x,y\n")
	for i := range 10_050 {
		fmt.Fprintf(&b, "name %d,%d,1\n", i, i%7)
	}
	return b.String()
}

// errorsHaveFlagsCases are the cases of TestErrorsHaveFlags.
var errorsHaveFlagsCases = []struct {
	line          []string
	flag, message string
}{
	{[]string{"fit", "--no-such", "a.csv"}, "no-such", `--no-such: unknown flag (see "difalt fit --help")`},
	{[]string{"fit", "a.csv", "--task"}, "task", `--task: it needs a value (see "difalt fit --help")`},
	{[]string{"fit", "--task", "t", "a.csv"}, "target", `--target: it is required (see "difalt fit --help")`},
	{[]string{"fit", "a.csv"}, "task", `--task and --target are required (see "difalt fit --help")`},
	{[]string{"fit", "--workers", "-1"}, "workers", "--workers is -1: must be a whole number from 0 to 1024"},
	{[]string{"fit", "--na", ","}, "na", `--na is ",": one of its entries is empty`},
	{[]string{"fit", "--dates", "a b"}, "dates", `--dates is "a b": must be one of ymd, dmy, mdy`},
	{[]string{"fit", "--task="}, "task", "--task is empty: leave it out, or give it a value"},
	{[]string{"node", "--listen", "x"}, "listen", `--listen is "x": must be HOST:PORT or :PORT`},
	{[]string{"node", "--metrics", "a:99999"}, "metrics", `--metrics is "a:99999": must be HOST:PORT or :PORT`},
	{[]string{"cluster", "new", "--nodes", "a=a:1,b=b:1", "--out", "net", "--task", "t", "--target", "t"}, "target",
		`--task and --target are both "t": name two columns`},
	{[]string{"fit", "--data", "x.csv", "a.csv", "--task", "t", "--target", "y"}, "data",
		`a.csv is named besides --data x.csv`},
	{[]string{"fit", "a.csv", "--task", "t", "--target", "y", "--features", "x", "--drop", "z"}, "drop",
		`only one of --features and --drop may be given`},
	{[]string{"fit", "a.csv", "--task", "t", "--target", "y", "--holdout", "t"}, "holdout",
		`--task and --holdout are both "t": name two columns`},
	{[]string{"fit", "a.csv", "--task", "t", "--target", "y", "--model", "a.csv"}, "model",
		`--model: it would overwrite a.csv, which is read`},
	{[]string{"fit", "a.csv", "--task", "t", "--target", "y", "--model", "x", "--report", "x"}, "model",
		`--report and --model would both write x`},
	{[]string{"node", "a.csv", "--task", "t", "--target", "y"}, "cluster", `--cluster and --key are required`},
	{[]string{"node", "a.csv", "--target", "y"}, "task", `--task must be given, here or in cluster.json`},
	{[]string{"simulate", "--graph", "x"}, "graph", `--graph is "x": must be one of er:P, ring`},
	{[]string{"simulate", "--graph", "er:2"}, "graph", `--graph is "er:2": must be er: and a probability`},
	{[]string{"simulate", "--weights", "x"}, "weights", `--weights is "x": must be one of metropolis, equal`},
	{[]string{"simulate", "--method", "x"}, "method", `--method is "x": must be one of dif, altgdmin`},
	{[]string{"simulate", "--method", "dif:int8"}, "method",
		`--method is "dif:int8": only accelerated has a codec`},
	{[]string{"simulate", "--preset", "x"}, "preset", `--preset is "x": must be one of fig1, fig2`},
	{[]string{"simulate", "--features", "1000000000"}, "tasks",
		`--tasks is 120: tasks x samples x features, and nodes x features x rank, have`},
	{[]string{"run", "--rank", "2", "--data", "p.npz", "--graph", "x"}, "graph",
		`--graph is "x": must be one of er:P, ring`},
	{[]string{"fit", "--dates", strings.Repeat("x", 5000)}, "dates",
		`--dates is "` + strings.Repeat("x", 100) + `"...: must be one of ymd`},
	{[]string{"up", "a.csv", "--task", "t", "--target", "y"}, "",
		`up needs a file for each of at least two owners, but got a.csv alone`},
	{[]string{"ft"}, "", `unknown command "ft" (did you mean "difalt fit"?)`},
	{[]string{"predic"}, "", `unknown command "predic" (did you mean "difalt predict"?)`},
	{[]string{"x"}, "", `unknown command "x" (see "difalt --help")`},
	{[]string{"help", "no-such"}, "", `unknown command "no-such" (see "difalt --help")`},
	{[]string{"help", "model", "no-such"}, "", `unknown command "no-such" (see "difalt model --help")`},
	{[]string{"help", "fit", "x"}, "", `difalt fit takes no arguments`},
	{[]string{"completion", "no-such"}, "", `unknown command "no-such" (see "difalt completion --help")`},
	{[]string{"completion", "bash", "x"}, "", `difalt completion bash takes no arguments, only flags, but got "x"`},
}

// The flag and the value of a wrong command line are values, too: the value as it was given, also an empty
// one, and in quotes in the message unless it is a number.
func TestErrorsHaveFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "a.csv", "t,x,y\na,1,2\n")
	for _, c := range errorsHaveFlagsCases {
		got, message := errorInJSON(t, c.line...)
		if got.Code != 2 || got.Flag != c.flag || !strings.HasPrefix(message, c.message) {
			t.Errorf("%q: %+v: %s, want %s", c.line, got, message, c.message)
		}
	}
	for given, want := range map[string]string{"": `"value":""`, "a b": `"value":"a b"`, "-1": `"value":"-1"`} {
		if _, stderr, _ := difaltCommand(t, "fit", "--json", "--decimal="+given); !strings.Contains(stderr, want) {
			t.Errorf("--decimal %q: %s", given, stderr)
		}
	}
}

// Flags that name one column in two roles are refused before a table is read: by cluster new and node, too,
// whose options all owners get.
func TestColumnsWithTwoRoles(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct{ flags, flag, message string }{
		{"--features t", "features", `--task and --features both name the column "t"`},
		{"--features x,y", "features", `--target and --features both name the column "y"`},
		{"--features x,x", "features", `--features: column "x" is named twice`},
		{"--drop t", "drop", `--task and --drop both name the column "t"`},
		{"--drop y", "drop", `--target and --drop both name the column "y"`},
		{"--drop z,z", "drop", `--drop: column "z" is named twice`},
		{"--categorical t", "categorical", `--task and --categorical both name the column "t"`},
		{"--categorical y", "categorical", `--target and --categorical both name the column "y"`},
		{"--categorical x --drop x", "categorical", `--drop and --categorical both name the column "x"`},
		{"--features x --categorical z", "categorical", `--categorical names the column "z", but --features does not`},
		{"--sample-weights y", "sample-weights", `--target and --sample-weights are both "y": name two columns`},
		{"--sample-weights w --drop w", "drop", `--sample-weights and --drop both name the column "w"`},
		{"--sample-weights w --features x,w", "features", `--sample-weights and --features both name the column "w"`},
	} {
		for _, command := range []string{
			"fit a.csv", "up a.csv b.csv", "check a.csv", "node a.csv",
			"cluster new --nodes a=a:1,b=b:1 --out net",
		} {
			line := command + " --task t --target y " + c.flags
			got, message := errorInJSON(t, strings.Fields(line)...)
			if got.Code != cli.ExitUsage || got.Flag != c.flag || message != c.message {
				t.Errorf("%s: %+v: %s, want %s", line, got, message, c.message)
			}
		}
	}
}

// A column of many names is the column of tasks, more often than not.
func TestManyNames(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "names.csv", manyNames())
	const want = "; use --drop t or --task t"
	if _, message := errorInJSON(t, "check", "names.csv"); !strings.HasSuffix(message, want) {
		t.Errorf("%s, want %s", message, want)
	}
	must(t, "check", "--task", "t", "names.csv")
}

// A file that is named twice, under any name, is refused by every command that reads tables.
func TestSameTableTwice(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "a.csv", string(smallTable(rand.New(rand.NewPCG(1, 2)), 4, 8, 2)))
	must(t, "fit", "--task", "t", "--target", "y", "--rank", "0", "--no-curves", "--model", "m.npz", "a.csv")
	if err := os.Link("a.csv", "b.csv"); err != nil {
		t.Skip(err)
	}
	for _, command := range []string{
		"fit --task t --target y", "up --task t --target y", "check", "predict --model m.npz",
		"adapt --model m.npz --out m2.npz",
	} {
		for _, other := range []string{"./a.csv", "b.csv"} {
			refuses(t, cli.ExitUsage, "a.csv and "+other+" are the same file",
				append(strings.Fields(command), "a.csv", other)...)
		}
	}
}

// The option that helps is a flag of the command.
func TestHintsAreFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, ".", "a.csv", string(smallTable(rand.New(rand.NewPCG(1, 2)), 4, 8, 2)))
	write(t, ".", "b.csv", "t,x0,x1,y\ntask 1,1,many,2\n")
	must(t, "fit", "--task", "t", "--target", "y", "--rank", "0", "--no-curves", "--model", "m.npz", "a.csv")
	for _, command := range []string{"predict --model m.npz", "adapt --model m.npz --out m2.npz"} {
		_, message := errorInJSON(t, append(strings.Fields(command), "b.csv")...)
		want := `b.csv: line 2, column "x1": "many" is not a number; use --na many for a missing value`
		if message != want {
			t.Errorf("%s: %s, want %s", command, message, want)
		}
	}
}
