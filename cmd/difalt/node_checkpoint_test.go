//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/internal/longtest"
)

// kept are flags of a training that takes half a second, with checkpoints.
func (f *federation) kept(more ...string) []string {
	return append([]string{"--checkpoint", f.path("state"), "--every", "11"}, append(slices.Clone(trainedLong), more...)...)
}

var trainedLong = []string{"--iterations", "250", "--method", "dif", "--starts", "1", "--rank", "2", "--ridge", "2", "--tolerance", "-1", "--agree", "plain", "--compress", "int8"}

// checkpoints returns the files of a node, old ones first.
func (f *federation) checkpoints(t *testing.T, name string) []string {
	t.Helper()
	list, err := filepath.Glob(f.path("state/" + name + "-*.ckpt"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// finish waits until all processes have ended well, and compares the models.
func (f *federation) finish(t *testing.T, what string, list []*process, whole *model.Model) {
	t.Helper()
	for i, p := range list {
		if code := p.code(t, time.Minute); code != 0 {
			t.Fatalf("%s: %s ends with %d: %s", what, nodeNames[i], code, tail(p))
		}
	}
	f.sameBits(t, what, whole)
	for _, name := range nodeNames {
		if n := len(f.checkpoints(t, name)); n == 0 || n > 5 {
			t.Errorf("%s: %s has kept %d checkpoints", what, name, n)
		}
	}
	if left, _ := filepath.Glob(f.path("state/.*")); len(left) > 0 {
		t.Errorf("%s: leaves %q", what, left)
	}
}

// An interruption is whom a signal ends in the middle of a training with some flags.
type interruption struct {
	signal  syscall.Signal
	victims []int
	flags   []string
}

// TestTakenUp: whoever is killed or told to stop, at whatever moment, and is started again
// by the same command: the others wait, and all come to the bits of a training without
// interruption. The same when all are, and when the last checkpoints are damaged.
func TestTakenUp(t *testing.T) {
	inFull(t)
	t.Parallel()
	cases := []interruption{
		{syscall.SIGKILL, []int{0}, nil},
		{syscall.SIGTERM, []int{1}, []string{"--iterations", "150", "--method", "accelerated-tracking"}},
		{syscall.SIGKILL, []int{0, 1, 2}, []string{"--iterations", "250", "--method", "scaled"}},
	}
	if longtest.Enabled() {
		cases = append(cases, []interruption{
			{syscall.SIGKILL, []int{2}, []string{"--method", "accelerated", "--compress", "none", "--agree", "tree"}},
			{syscall.SIGTERM, []int{2}, nil},
			{syscall.SIGTERM, []int{0, 1, 2}, []string{"--iterations", "600", "--method", "tracking", "--compress", "float32", "--agree", "chebyshev"}},
		}...)
	}
	for k, x := range cases {
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			t.Parallel()
			x.takenUp(t, k)
		})
	}
}

func (x *interruption) takenUp(t *testing.T, seed int) {
	f := newFederation(t, "path", nil)
	whole := f.whole(t, "path", append(slices.Clone(trainedLong), x.flags...)...)
	list := f.launch(t, f.kept(x.flags...)...)
	for i, name := range nodeNames {
		list[i].said(t, "stage=iterations")
		for k := 0; len(f.checkpoints(t, name)) < 3; k++ { // one may be damaged, and one be too new
			if time.Sleep(5 * time.Millisecond); k == 4000 {
				t.Fatalf("%s writes no three checkpoints: %s", name, tail(list[i]))
			}
		}
	}
	rng := rand.New(rand.NewPCG(uint64(seed), 4))
	time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
	for _, i := range x.victims {
		_ = list[i].cmd.Process.Signal(x.signal)
	}
	for _, i := range x.victims {
		code := list[i].code(t, 20*time.Second)
		if x.signal == syscall.SIGTERM && (code != exitTerminated || !strings.Contains(list[i].err.String(), "the same command goes on")) {
			t.Fatalf("%v: exit code %d: %s", x.victims, code, tail(list[i]))
		}
		if x.signal == syscall.SIGTERM && len(f.checkpoints(t, nodeNames[i])) == 0 {
			t.Errorf("%v: told to stop, and no checkpoint", x.victims)
		}
	}
	all := len(x.victims) == len(nodeNames)
	if all { // what cannot be used does not count
		f.damageLast(t, "site-b")
	}
	for _, i := range x.victims {
		list[i] = launch(t, f.arguments(i, f.kept(x.flags...)...)...)
	}
	f.finish(t, x.signal.String(), list, whole)
	if !strings.Contains(list[0].err.String(), "goes on from a checkpoint") {
		t.Errorf("%v, %v: nothing was taken up: %s", x.victims, x.signal, tail(list[0]))
	}
	if all && !strings.Contains(list[1].err.String(), "another checksum") {
		t.Errorf("the damaged checkpoint is not named: %s", tail(list[1]))
	}
	// And once more, when it is over: the same models again.
	if seed == 0 {
		f.finish(t, "again", f.launch(t, f.kept()...), whole)
	}
}

// damageLast changes a bit of the last checkpoint of a node, and leaves a part of another one.
func (f *federation) damageLast(t *testing.T, name string) {
	t.Helper()
	files := f.checkpoints(t, name)
	last := files[len(files)-1]
	p, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	p[len(p)/2] ^= 8
	if os.WriteFile(last, p, 0o600) != nil || os.WriteFile(f.path("state/."+name+"-000000700.ckpt.0123456789abc.part"), p[:9], 0o600) != nil {
		t.Fatal("cannot damage a checkpoint")
	}
}

// TestCheckpointsRefused: those of other data or options are refused by the name of what
// differs, before anything is sent; and the others hear of it.
func TestCheckpointsRefused(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := newFederation(t, "path", nil)
	f.finish(t, "first", f.launch(t, f.kept("--iterations", "30")...), f.whole(t, "path", append(slices.Clone(trainedLong), "--iterations", "30")...))
	refused := []struct {
		flags []string
		want  string
	}{
		{[]string{"--rank", "3"}, "--rank was 2, and is 3 now"},
		{[]string{"--iterations", "40"}, "--iterations was 30, and is 40 now"},
		{[]string{"--sample-weights", "visits"}, "--sample-weights was not given, and is visits now"},
		{[]string{"--every", "8"}, "--every was 11, and is 8 now"},
		{[]string{"--test-fraction", "0.5"}, "--test-fraction was 0.25, and is 0.5 now"},
		{[]string{"--data", f.path("site-b.csv")}, "the SHA-256 of the data was"},
	}
	var list []*process
	for _, x := range refused { // at once: none gets so far as to need a port
		p := launch(t, f.arguments(0, f.kept(append([]string{"--iterations", "30"}, x.flags...)...)...)...)
		list = append(list, p)
	}
	for k, x := range refused {
		p := list[k]
		if code := p.code(t, 20*time.Second); code != exitFailure || !strings.Contains(p.err.String(), x.want) {
			t.Errorf("%q: exit code %d: %s", x.flags, code, tail(p))
		}
	}
	if err := os.Remove(f.path("state/site-b.done")); err != nil { // or it would not wait
		t.Fatal(err)
	}
	waiting := launch(t, f.arguments(1, f.kept("--iterations", "30")...)...)
	waiting.said(t, "stage=joining")
	launch(t, f.arguments(0, f.kept("--iterations", "31")...)...)
	if code := waiting.code(t, 10*time.Second); code != exitPeer || !strings.Contains(waiting.err.String(), `node "site-a" has failed (closed`) || !strings.Contains(waiting.err.String(), "--iterations was 30") {
		t.Errorf("the other: exit code %d: %s", code, tail(waiting))
	}
	// One node with checkpoints and one without.
	one, two := launch(t, f.arguments(1)...), launch(t, f.arguments(2, "--checkpoint", f.path("other"))...)
	if code := two.code(t, 20*time.Second); code != exitPeer || !strings.Contains(two.err.String(), "--every is no checkpoints at node 1") {
		t.Errorf("only one keeps checkpoints: exit code %d: %s", code, tail(two))
	}
	_ = one.cmd.Process.Kill()
}

// TestUpTakenUp: up starts a process again that was killed; and when all of up is told to
// end, or is killed, the same command goes on.
func TestUpTakenUp(t *testing.T) {
	t.Parallel()
	inFull(t)
	f := &federation{folder: sites(t)}
	whole := f.whole(t, "ring", trainedLong...)
	args := append(append([]string{"up", "--graph", "ring", "--data", f.path("site-*.csv"), "--model", f.path("m.npz")}, clinicFlags...), f.kept()...)
	trains := func() *process { // until it has written a checkpoint
		before := strings.Join(f.checkpoints(t, "site-c"), " ")
		p := launch(t, args...)
		for range 1000 {
			if strings.Join(f.checkpoints(t, "site-c"), " ") != before {
				return p
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("no checkpoint: %s", p.err.String())
		return nil
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		p := trains()
		_ = p.cmd.Process.Signal(signal)
		if code := p.code(t, 20*time.Second); signal == syscall.SIGTERM && code != exitTerminated {
			t.Fatalf("exit code %d: %s", code, p.err.String())
		}
		for range 1000 { // the processes of one that was killed leave by themselves
			if len(children(t, f.folder)) == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	p := trains()
	victims := children(t, f.path("site-b.csv"))
	if len(victims) != 1 {
		t.Fatalf("processes of site-b: %d", victims)
	}
	_ = syscall.Kill(victims[0], syscall.SIGKILL)
	if code := p.code(t, time.Minute); code != 0 {
		t.Fatalf("exit code %d: %s", code, p.err.String())
	}
	if out := p.out.String(); !strings.Contains(out, "iteration limit: 250 iterations") {
		t.Errorf("--tolerance -1 did not reach the nodes: %s", out)
	}
	f.sameBits(t, "up", whole)
}

// children returns the processes of nodes with a word in their command line.
func children(t *testing.T, word string) (pids []int) {
	t.Helper()
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	if len(paths) == 0 {
		t.Skip("skipped: no /proc")
	}
	for _, path := range paths {
		line, _ := os.ReadFile(path)
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err == nil && strings.Contains(string(line), word) && strings.Contains(string(line), "\x00node\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}
