package bench

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/measure"
	"github.com/difalt/difalt/internal/synth"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

var (
	diskShape  = flag.String("disk", "", "measure a run in mixed precision on samples of this size, such as 3000x64x2048x16")
	diskFolder = flag.String("folder", "", "keep the samples of -disk in files there; empty for memory")
)

// BenchmarkDisk is a whole run of Accelerated in mixed precision at four nodes, of which an
// iteration reads either copies of the samples in 16 bits or, at an anchor, the samples
// themselves. scripts/disk.sh compares samples on disk, in little memory, with samples in
// memory.
func BenchmarkDisk(b *testing.B) {
	if *diskShape == "" {
		b.Skip("needs -disk, and takes minutes: see scripts/disk.sh")
	}
	shapes, err := measure.ParseShapes(*diskShape)
	if err != nil {
		b.Fatal(err)
	}
	const nodes = 4
	s := shapes[0]
	data := synth.Data{Features: s.Features, Tasks: s.Tasks, Samples: s.Samples, Rank: s.Rank, Kappa: 3, Folder: *diskFolder}
	p, err := data.Generate(b.Context(), nodes, nil, seed, 0)
	if err != nil {
		b.Fatal(err)
	}
	graph, err := topology.Complete(nodes)
	if err != nil {
		b.Fatal(err)
	}
	net := network(b, graph, topology.Metropolis)
	for b.Loop() {
		var all []moment
		last := now()
		res, err := difalt.Run(context.Background(), p, net, difalt.Options{
			Method: difalt.Accelerated, Rank: s.Rank, MixedPrecision: true, Tolerance: 1e-10,
			Observer: func(r *difalt.Record) error {
				took := now().minus(last)
				if last = now(); r.Iteration == 0 {
					b.ReportMetric(took.seconds, "start-s")
					return nil
				}
				all = append(all, took)
				return nil
			},
		})
		if err != nil || res.Status != difalt.Converged {
			b.Fatal(res.Status, err)
		}
		spent, times := split(all)
		for k, name := range []string{"between", "anchor"} {
			b.ReportMetric(times[k], name+"-n")
			b.ReportMetric(spent[k].seconds/times[k], name+"-s")
			b.ReportMetric(spent[k].processor/times[k], name+"-cpu-s")
		}
		b.ReportMetric(spent[1].read/times[1]/1e9, "anchor-GB-read")
		b.ReportMetric(float64(number("/proc/self/status", "VmHWM:"))*1024/1e9, "peak-GB")
		b.Logf("digest %s", digest(res.U))
	}
}

// split adds up the iterations between anchors, and the anchors: those that take more than twice the
// median of the processor time.
func split(all []moment) (spent [2]moment, times [2]float64) {
	byTime := slices.Clone(all)
	slices.SortFunc(byTime, func(a, b moment) int { return cmp.Compare(a.processor, b.processor) })
	for _, m := range all {
		k := 0
		if m.processor > 2*byTime[len(byTime)/2].processor {
			k = 1
		}
		spent[k] = spent[k].plus(m)
		times[k]++
	}
	return spent, times
}

// digest returns a hash of the bits of bases.
func digest(bases []*kernel.Basis) string {
	h := fnv.New64a()
	for _, u := range bases {
		for _, v := range u.Data() {
			fmt.Fprintf(h, "%x", math.Float64bits(v))
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// A moment is by the clock, by the processors, and by the bytes read from disks.
type moment struct{ seconds, processor, read float64 }

var started = time.Now()

func now() moment {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return moment{time.Since(started).Seconds(), float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, float64(number("/proc/self/io", "read_bytes:"))}
}

func (m moment) plus(o moment) moment {
	return moment{m.seconds + o.seconds, m.processor + o.processor, m.read + o.read}
}

func (m moment) minus(o moment) moment {
	return moment{m.seconds - o.seconds, m.processor - o.processor, m.read - o.read}
}

// number returns a number of a file of lines such as "VmHWM: 12 kB", 0 if it has none.
func number(file, key string) (n int64) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	if _, rest, ok := bytes.Cut(text, []byte("\n"+key)); ok {
		fmt.Sscan(string(rest), &n)
	}
	return n
}
