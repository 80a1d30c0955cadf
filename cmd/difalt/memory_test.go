package main

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/difalt/difalt/internal/check"
	"github.com/parquet-go/parquet-go"
)

// A fourNumbers is a row with few columns, so that what is kept of every row counts most.
type fourNumbers struct {
	Task string  `parquet:"task"`
	A    float64 `parquet:"a"`
	B    float64 `parquet:"b"`
	C    float64 `parquet:"c"`
	Y    float64 `parquet:"y"`
}

const (
	measuredRows    = 200_000
	measuredTasks   = 4_000
	measuredNumbers = measuredRows * 4 * 8 // bytes of features and targets
	buffers         = 4 << 20              // bytes, whatever the number of rows
)

// writeMeasured writes one table as CSV and as Parquet to a folder.
func writeMeasured(dir, task string) {
	r := rand.New(rand.NewPCG(7, 7))
	csv := check.OK(os.Create(filepath.Join(dir, task+".csv")))
	packed := check.OK(os.Create(filepath.Join(dir, task+".parquet")))
	text := bufio.NewWriter(csv)
	rows := parquet.NewGenericWriter[fourNumbers](packed, parquet.MaxRowsPerRowGroup(50_000))
	fmt.Fprintln(text, "task,a,b,c,y")
	levels := make([]float64, measuredTasks)
	for k := range levels {
		levels[k] = r.NormFloat64()
	}
	for i := range measuredRows {
		k := i % measuredTasks
		m := fourNumbers{Task: fmt.Sprint(task, k), A: r.NormFloat64(), B: r.NormFloat64(), C: r.NormFloat64()}
		m.Y = levels[k] + m.A + .5*m.B + r.NormFloat64()
		fmt.Fprintf(text, "%s,%.6f,%.6f,%.6f,%.6f\n", m.Task, m.A, m.B, m.C, m.Y)
		check.OK(rows.Write([]fourNumbers{m}))
	}
	check.Done(text.Flush())
	check.Done(csv.Close())
	check.Done(rows.Close())
	check.Done(packed.Close())
}

const (
	wideRows    = 400
	wideColumns = 4_000
	wideTasks   = 20
	wideNumbers = wideRows * (wideColumns + 1) * 8
)

// writeWide writes a table with many more columns than rows as CSV.
func writeWide(path string) {
	r := rand.New(rand.NewPCG(8, 8))
	file := check.OK(os.Create(path))
	text := bufio.NewWriter(file)
	fmt.Fprint(text, "task,y")
	for j := range wideColumns {
		fmt.Fprintf(text, ",x%d", j)
	}
	fmt.Fprintln(text)
	for i := range wideRows {
		fmt.Fprintf(text, "t%d,%.6f", i%wideTasks, r.NormFloat64())
		for range wideColumns {
			fmt.Fprintf(text, ",%.6f", r.NormFloat64())
		}
		fmt.Fprintln(text)
	}
	check.Done(text.Flush())
	check.Done(file.Close())
}

// collection finds the bytes that were reachable after a collection in its trace, in MiB.
var collection = regexp.MustCompile(`(?m)^gc \d+ @.*->(\d+) MB, `)

// reachableOf returns the largest number of bytes that a collection found reachable while a command line ran,
// as a process on two processors. It neither counts garbage nor asks a clock: a collection stops everything,
// so that nothing is allocated while it looks, and comes whenever a fourth more was allocated.
func reachableOf(t *testing.T, args ...string) float64 {
	t.Helper()
	command := exec.Command(os.Args[0], args...)
	command.Env = append(os.Environ(), asCommand+"=1", "GOMAXPROCS=2", "GOGC=25", "GODEBUG=gctrace=1,gcstoptheworld=1")
	var stderr strings.Builder
	command.Stderr = &stderr
	err := command.Run()
	check.FailIf(t, err != nil, "%q: %v: %s", args, err, &stderr)
	found := collection.FindAllStringSubmatch(stderr.String(), -1)
	check.FailIf(t, len(found) < 5, "%q: %d collections: %s", args, len(found), &stderr)
	largest := 0
	for _, match := range found {
		largest = max(largest, check.OK(strconv.Atoi(match[1])))
	}
	return float64(largest << 20)
}

// A command on a table of many rows holds at most some times its numbers, and buffers, from CSV and from
// Parquet: each limit leaves no room for one copy more. predict goes through a table row by row, and its file
// in Parquet gathers rows.
func TestMemoryOfCommands(t *testing.T) {
	inFull(t)
	dir := t.TempDir()
	writeMeasured(dir, "t")
	writeMeasured(dir, "new")
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, extension := range []string{".csv", ".parquet"} {
		for _, c := range []struct {
			most float64 // times the numbers of the table
			args []string
		}{
			{2, []string{"check", "--task", "task", "--target", "y", in("t" + extension)}},
			{4.4, []string{"fit", "--task", "task", "--target", "y", "--model", in("m.npz"), in("t" + extension)}},
			{.5, []string{"predict", "--model", in("m.npz"), "--out", in("p.csv"), in("t" + extension)}},
			{.8, []string{"predict", "--model", in("m.npz"), "--out", in("p.parquet"), in("t" + extension)}},
			{1.2, []string{"predict", "--model", in("m.npz"), "--out", in("p.parquet"),
				"--standard-errors", "--keep", "a,y",
				in("t" + extension)}},
			{2.4, []string{"adapt", "--task", "task", "--target", "y", "--model", in("m.npz"), "--out", in("a.npz"),
				in("new" + extension)}},
		} {
			got := reachableOf(t, c.args...)
			const format = "%s: %.1f MB, %.2f times the numbers of the table"
			t.Logf(format, c.args, got/1e6, got/measuredNumbers)
			check.FailIf(t, got > c.most*measuredNumbers+buffers, format, c.args, got/1e6, got/measuredNumbers)
		}
	}
}

// To look for strange values in a table with many columns takes little memory beside it.
func TestMemoryOfWideTable(t *testing.T) {
	inFull(t)
	path := filepath.Join(t.TempDir(), "wide.csv")
	writeWide(path)
	got := reachableOf(t, "check", "--task", "task", "--target", "y", path)
	check.FailIf(t, got > 1.5*wideNumbers+buffers, "%.1f MB, %.2f times the numbers of the table", got/1e6,
		got/wideNumbers)
}
