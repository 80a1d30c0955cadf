package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

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
	buffers         = 8 << 20              // bytes, whatever the number of rows
)

// writeMeasured writes one table as CSV and as Parquet to a folder.
func writeMeasured(dir, task string) {
	r := rand.New(rand.NewPCG(7, 7))
	csv, packed := check.OK(os.Create(filepath.Join(dir, task+".csv"))), check.OK(os.Create(filepath.Join(dir, task+".parquet")))
	text, rows := bufio.NewWriter(csv), parquet.NewGenericWriter[fourNumbers](packed, parquet.MaxRowsPerRowGroup(50_000))
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

// peakOf returns the largest number of bytes of objects, beyond those before, while a command line runs. The
// collector runs often, so that garbage does not count.
func peakOf(t *testing.T, args ...string) float64 {
	t.Helper()
	t.Setenv("GOGC", "10") // a large table does not change it
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	before, largest := sample[0].Value.Uint64(), uint64(0)
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			metrics.Read(sample)
			largest = max(largest, sample[0].Value.Uint64())
			select {
			case <-quit:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	var stderr strings.Builder
	code := run(context.Background(), args, io.Discard, &stderr)
	close(quit)
	<-done
	check.FailIf(t, code != 0, "%q: exit code %d: %s", args, code, stderr.String())
	return float64(largest) - float64(before)
}

// A command on a table of many rows holds at most five times its numbers, and buffers, from CSV and from Parquet.
// predict goes through a table row by row.
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
			{5, []string{"fit", "--task", "task", "--target", "y", "--model", in("m.npz"), in("t" + extension)}},
			{.5, []string{"predict", "--model", in("m.npz"), "--out", in("p.csv"), in("t" + extension)}},
			{.5, []string{"predict", "--model", in("m.npz"), "--out", in("p.parquet"), in("t" + extension)}},
			{3, []string{"adapt", "--task", "task", "--target", "y", "--model", in("m.npz"), "--out", in("a.npz"),
				in("new" + extension)}},
		} {
			got := peakOf(t, c.args...)
			const format = "%s: %.1f MB, %.2f times the numbers of the table"
			t.Logf(format, c.args, got/1e6, got/measuredNumbers)
			check.FailIf(t, got > c.most*measuredNumbers+buffers, format, c.args, got/1e6, got/measuredNumbers)
		}
	}
}
