package federate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/fit"
	"github.com/difalt/difalt/cmd/difalt/internal/checkpoint"
	"github.com/difalt/difalt/cmd/difalt/model"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/topology"
)

func path(t *testing.T) *topology.Graph {
	t.Helper()
	g, err := topology.Parse("path", 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A fakeEngine joins two nodes in this process, anew for every attempt. From round gone of the
// first attempt on both find that the other one is gone; 0 is never.
type fakeEngine struct {
	gone  uint64
	mu    sync.Mutex
	pairs [][]wire.Transport // by attempt
}

// A fakeTransport is that of a node in an attempt.
type fakeTransport struct {
	wire.Transport
	gone uint64
	left error
}

func (e *fakeEngine) connect(t *testing.T, node, attempt int) *fakeTransport {
	e.mu.Lock()
	defer e.mu.Unlock()
	if attempt == len(e.pairs) {
		pair, err := testnet.Connect(path(t), [][]int{{0}, {1}}, testnet.Options{RoundTimeout: 10 * time.Second})
		if err != nil {
			t.Error(err)
		}
		e.pairs = append(e.pairs, pair)
	}
	f := &fakeTransport{Transport: e.pairs[attempt][node]}
	if attempt == 0 {
		f.gone = e.gone
	}
	return f
}

func (f *fakeTransport) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if f.gone > 0 && seq >= f.gone {
		return &wire.PeerError{Peer: 1 - f.Hosted()[0], Round: seq, Err: engine.ErrGone}
	}
	return f.Transport.Exchange(ctx, seq, out, in, due)
}

func (f *fakeTransport) Join(context.Context) error          { return nil }
func (f *fakeTransport) Waiting() (peers []int, _ time.Time) { return nil, time.Time{} }
func (f *fakeTransport) Beyond(int) []int                    { return nil }
func (f *fakeTransport) Stats() (s engine.Stats)             { return s }
func (f *fakeTransport) Leave(why error)                     { f.left = why; f.Close() }

// A fakeTraining has a table of two tasks, and remembers what is delivered.
type fakeTraining struct {
	node      int
	broken    error // what reading fails with
	headings  int
	delivered *checkpoint.Outcome
}

func (f *fakeTraining) Read() (*dataset.Table, *fit.Config, error) {
	if f.broken != nil {
		return nil, nil, f.broken
	}
	rng, text := rand.New(rand.NewPCG(uint64(f.node), 1)), "task,x,z,y\n"
	for i := range 60 {
		x, z := rng.NormFloat64(), rng.NormFloat64()
		text += fmt.Sprintf("t%d-%d,%v,%v,%v\n", f.node, i%3, x, z, float64(i%3)*x-z+rng.NormFloat64())
	}
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.TableOptions{Task: "task", Target: "y"})
	if err != nil {
		return nil, nil, err
	}
	if err := table.AssignNode(string(rune('a' + f.node))); err != nil {
		return nil, nil, err
	}
	c := &fit.Config{Options: fit.DefaultOptions(0), TaskColumn: "task", TargetColumn: "y", Rank: 1}
	c.Options.Iterations, c.Options.EveryIteration, c.Options.Tolerance = 40, true, 0
	c.Options.Agreement.RoundByRound = true
	c.Train, err = table.Split(dataset.Split{TestFraction: 0.25, Seed: 1})
	return table, c, err
}

func (f *fakeTraining) Introduce(*dataset.Table, *fit.Config, *topology.Weights) ([]byte, error) {
	f.headings++
	return []byte("heading"), nil
}

func (f *fakeTraining) Outcome(_ *dataset.Table, _ *fit.Config, m *model.Model, _ *fit.Report) (*checkpoint.Outcome, error) {
	p, err := m.MarshalBinary()
	return &checkpoint.Outcome{Model: p}, err
}

func (f *fakeTraining) Deliver(o *checkpoint.Outcome, heading []byte) error {
	if heading != nil {
		f.headings++
	}
	f.delivered = o
	return nil
}

// trainTwo trains two nodes, with checkpoints in a folder unless it is empty, and returns
// what they have delivered and how often each has connected.
func trainTwo(t *testing.T, folder string, gone uint64, log io.Writer) (list []*fakeTraining, attempts [2]int) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	c, e := cluster.Named([]string{"a", "b"}, path(t), "metropolis"), &fakeEngine{gone: gone}
	errs := make([]error, 2)
	var wg sync.WaitGroup
	for i := range 2 {
		training := &fakeTraining{node: i}
		list = append(list, training)
		n := &Node{Cluster: c, Number: i, Training: training, Log: slog.New(slog.NewTextHandler(log, nil)), LogEvery: time.Hour}
		n.Connect = func(engine.Options) (engine.Transport, error) {
			attempts[i]++
			return e.connect(t, i, attempts[i]-1), nil
		}
		if folder != "" {
			n.Checkpoints = &Checkpoints{Folder: folder, Every: 5, Data: data}
		}
		wg.Go(func() { errs[i] = n.Run(t.Context()) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return list, attempts
}

// TestAttempts: nodes that find each other gone join anew, and come to the bits of a training
// without interruption; the heading is printed once. Started again when all is done, a node
// delivers what it has kept, and connects to nobody.
func TestAttempts(t *testing.T) {
	want, _ := trainTwo(t, "", 0, io.Discard)
	for _, gone := range []uint64{0, 1, 60, 100} {
		var log testnet.Buffer
		folder := t.TempDir()
		got, attempts := trainTwo(t, folder, gone, &log)
		for i, f := range got {
			if !bytes.Equal(f.delivered.Model, want[i].delivered.Model) {
				t.Errorf("gone in round %d: node %d has other bits", gone, i)
			}
			if f.headings != 1 || (attempts[i] == 2) != (gone > 0) || !f.delivered.Everybody {
				t.Errorf("gone in round %d: node %d: %d headings, %d attempts", gone, i, f.headings, attempts[i])
			}
		}
		if strings.Contains(log.String(), "joins anew") != (gone > 0) {
			t.Errorf("gone in round %d: the log says %s", gone, log.String())
		}
		if again, attempts := trainTwo(t, folder, 0, io.Discard); attempts != [2]int{} || !bytes.Equal(again[1].delivered.Model, want[1].delivered.Model) {
			t.Errorf("gone in round %d: complete, and connects %d times", gone, attempts)
		}
	}
}

// TestExcuse: a node that cannot read its table tells the others why.
func TestExcuse(t *testing.T) {
	var asked engine.Options
	transport, broken := (&fakeEngine{}).connect(t, 0, 0), errors.New("no such file")
	n := &Node{
		Cluster: cluster.Named([]string{"a", "b"}, path(t), "metropolis"), Training: &fakeTraining{broken: broken},
		Log: slog.New(slog.DiscardHandler), LogEvery: time.Hour,
	}
	n.Connect = func(o engine.Options) (engine.Transport, error) {
		asked = o
		return transport, nil
	}
	if err := n.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if !asked.Probe || !errors.Is(asked.Failed, broken) || !errors.Is(transport.left, broken) {
		t.Errorf("the others are told %v, %v", asked.Failed, transport.left)
	}
}

// An awayTransport is that of a node whose neighbour is gone whenever it joins.
type awayTransport struct{ *fakeTransport }

func (awayTransport) Join(context.Context) error {
	return &wire.PeerError{Peer: 1, Err: engine.ErrGone}
}

// TestAttemptsMakePauses: what is said of a node that was away may go round for as long as those who hear it join anew at once. Each
// makes longer pauses, but for the first time, so that it comes to all before anybody is there again.
func TestAttemptsMakePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		data := filepath.Join(t.TempDir(), "data")
		if err := os.WriteFile(data, nil, 0o666); err != nil {
			t.Fatal(err)
		}
		var at []time.Time
		n := &Node{
			Cluster: cluster.Named([]string{"a", "b"}, path(t), "metropolis"), Training: &fakeTraining{}, Log: slog.New(slog.DiscardHandler), LogEvery: time.Hour,
			Checkpoints: &Checkpoints{Folder: t.TempDir(), Every: 5, Data: data},
			Connect: func(engine.Options) (engine.Transport, error) {
				at = append(at, time.Now())
				return awayTransport{(&fakeEngine{}).connect(t, 0, 0)}, nil
			},
		}
		if err := n.Run(t.Context()); !errors.Is(err, engine.ErrGone) || len(at) != idleAttempts {
			t.Fatalf("%d attempts, error %v", len(at), err)
		}
		if first := at[1].Sub(at[0]); first != 0 {
			t.Errorf("joined anew for the first time after %v", first)
		}
		for k := 3; k < len(at); k++ {
			if now, before := at[k].Sub(at[k-1]), at[k-1].Sub(at[k-2]); before < 10*time.Millisecond || now <= before {
				t.Errorf("pause %d is %v, after one of %v", k, now, before)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := n.Run(ctx); err == nil || time.Since(begun) > time.Second {
			t.Errorf("ended after %v: %v", time.Since(begun), err)
		}
	})
}
