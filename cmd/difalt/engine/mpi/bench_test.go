//go:build mpi

package mpi

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// BenchmarkRound is a round of a ring on this machine: over this package, and in turns
// over a C program's MPI_Neighbor_allgather of as many bytes. It reports the median of each.
func BenchmarkRound(b *testing.B) {
	c := filepath.Join(b.TempDir(), "round")
	if out, err := exec.Command("mpicc", "-O2", "-o", c, "testdata/round.c").CombinedOutput(); err != nil {
		b.Fatalf("mpicc: %v: %s", err, out)
	}
	for _, nodes := range []int{4, 8} {
		for size, rounds := range map[int]int{19 << 10: 500, 1 << 20: 20} {
			b.Run(fmt.Sprintf("nodes=%d/bytes=%d", nodes, size), func(b *testing.B) {
				var ours, floor []float64
				for b.Loop() {
					for range 7 {
						theirs := turn(b, launcher(nodes, c, fmt.Sprint(size), fmt.Sprint(rounds)))
						cmd := launcher(nodes, os.Args[0])
						cmd.Env = append(cmd.Env, partVariable+"=rounds", fmt.Sprintf("%s=%d %d", roundsVariable, size, rounds))
						ours, floor = append(ours, turn(b, cmd)), append(floor, theirs)
					}
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(1e6*median(ours), "us/round")
				b.ReportMetric(1e6*median(floor), "us/round-C")
			})
		}
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// turn returns the median of the times that a program prints.
func turn(b *testing.B, cmd *exec.Cmd) float64 {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	text, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v: %s", err, errs.String())
	}
	var times []float64
	for _, s := range strings.Fields(string(text)) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			b.Fatal(err)
		}
		times = append(times, v)
	}
	return median(times)
}

const roundsVariable = "DIFALT_TEST_ROUNDS"

func init() {
	parts["rounds"] = func(w *World) error {
		var size, rounds int
		if _, err := fmt.Sscan(os.Getenv(roundsVariable), &size, &rounds); err != nil {
			return err
		}
		tr, err := connect(w, ring(w), quick())
		if err != nil {
			return err
		}
		p := frame(size - wire.FrameOverhead)
		out, in := [][]byte{p, p}, make([][]byte, 2)
		seq := uint64(0)
		for range 20 {
			began := time.Now()
			for range rounds {
				if err := tr.Exchange(context.Background(), seq, out, in, nil); err != nil {
					return err
				}
				seq++
			}
			if w.Rank() == 0 {
				fmt.Printf("%.9f\n", time.Since(began).Seconds()/float64(rounds))
			}
		}
		return nil
	}
}
