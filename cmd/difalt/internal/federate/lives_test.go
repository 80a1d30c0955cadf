package federate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/longtest"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
	"gonum.org/v1/gonum/mat"
)

const (
	livesNodes      = 3
	livesEvery      = 3
	livesIterations = 30
)

// lives are three nodes that train, are killed at any round, lose folders or change tables, and
// are started again.
type lives struct {
	t       *testing.T
	rng     *rand.Rand
	base    string
	weights *topology.Weights
	cluster *cluster.Cluster
	options difalt.Options
	owners  [livesNodes]owner
	before  [livesNodes][]owner // what they had
	changed bool                // a folder since the last start
	safe    int                 // the iteration of which all have kept a checkpoint since then
	torn    [livesNodes]bool    // a folder has what should have been removed
	whole   map[string]*difalt.Result
	folders int
}

// An owner has a table, of a version, and a folder for its checkpoints.
type owner struct {
	folder  string
	version int
}

// An end is what has become of a node in one start.
type end struct {
	result      *difalt.Result
	err         error
	from, saved int // iterations
}

// A mortal is a transport that fails after so many rounds, once it is told: the process was
// killed.
type mortal struct {
	wire.Transport
	dying bool
	left  int
}

var errKilled = errors.New("killed")

func (m *mortal) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	if m.dying {
		if m.left--; m.left < 0 {
			return errKilled
		}
	}
	return m.Transport.Exchange(ctx, seq, out, in, due)
}

func newLives(t *testing.T, seed uint64) *lives {
	g, err := topology.Parse("path", livesNodes, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := topology.NewWeights(g, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	l := &lives{t: t, rng: rand.New(rand.NewPCG(seed, 5)), base: t.TempDir(), weights: w, whole: map[string]*difalt.Result{}}
	l.cluster = cluster.Named([]string{"a", "b", "c"}, g, "metropolis")
	l.options = difalt.Options{Rank: 2, Method: difalt.DifAltGDmin, Rounds: 1, Iterations: livesIterations, EveryIteration: true, Workers: 1}
	l.options.Agreement.RoundByRound = true
	if seed%2 == 0 {
		l.options.Method, l.options.Agreement.Polynomial = difalt.Accelerated, consensus.Tree
	}
	for i := range l.owners {
		l.owners[i].folder = l.newFolder()
	}
	return l
}

func (l *lives) newFolder() string {
	l.folders++
	return filepath.Join(l.base, fmt.Sprint("state", l.folders))
}

// tasks returns what is in the table of a node.
func (l *lives) tasks(node int) *kernel.Tasks {
	rng := rand.New(rand.NewPCG(uint64(node), uint64(l.owners[node].version)))
	var x []mat.Matrix
	var y [][]float64
	for range 4 {
		values, response := make([]float64, 10*6), make([]float64, 10)
		for i := range values {
			values[i] = rng.NormFloat64()
		}
		for i := range response {
			response[i] = values[6*i] - values[6*i+1] + rng.NormFloat64()
		}
		x, y = append(x, mat.NewDense(10, 6, values)), append(y, response)
	}
	return kernel.NewTasks(x, y, kernel.Float64)
}

// uninterrupted returns what training without checkpoints comes to on the tables as they are.
func (l *lives) uninterrupted() *difalt.Result {
	key := ""
	p := &difalt.Problem{}
	for i, o := range l.owners {
		key += fmt.Sprint(o.version, " ")
		p.Nodes = append(p.Nodes, l.tasks(i))
	}
	if l.whole[key] == nil {
		net, err := consensus.New(l.weights, nil)
		if err != nil {
			l.t.Fatal(err)
		}
		if l.whole[key], err = difalt.Run(l.t.Context(), p, net, l.options); err != nil {
			l.t.Fatal(err)
		}
	}
	return l.whole[key]
}

// A fate says in which iteration all are killed, or one asked to leave; 0 is never. The others
// die a few rounds before or after.
type fate struct {
	die, leave int
	// torn leaves what the last checkpoint would have removed: it was killed before.
	torn bool
}

// start starts all nodes.
func (l *lives) start(f fate) (ends [livesNodes]end) {
	links, err := testnet.Connect(l.weights.Graph(), [][]int{{0}, {1}, {2}}, testnet.Options{RoundTimeout: 20 * time.Second})
	if err != nil {
		l.t.Fatal(err)
	}
	var wg sync.WaitGroup
	who := l.rng.IntN(livesNodes)
	for i := range ends {
		own := f
		m := &mortal{Transport: links[i], dying: f.die < 0, left: l.rng.IntN(4)}
		if i != who {
			own.leave = 0
		}
		wg.Go(func() {
			defer m.Close()
			ends[i] = l.live(i, m, own)
		})
	}
	wg.Wait()
	return ends
}

// live is one node's part in a start.
func (l *lives) live(i int, m *mortal, f fate) (e end) {
	ctx, cancel := context.WithCancel(l.t.Context())
	defer cancel()
	folder := l.owners[i].folder
	data := filepath.Join(l.base, fmt.Sprintf("table-%d-%d", i, l.owners[i].version))
	if e.err = os.WriteFile(data, fmt.Append(nil, i, l.owners[i].version), 0o600); e.err != nil {
		return e
	}
	n := &Node{Cluster: l.cluster, Number: i, Checkpoints: &Checkpoints{Folder: folder, Every: livesEvery, Data: data}}
	k := &keeper{every: livesEvery, log: slog.New(slog.DiscardHandler)}
	if e.err = k.open(n); e.err != nil {
		return e
	}
	if k.net, e.err = consensus.New(l.weights, m); e.err != nil {
		return e
	}
	o, last, before := l.options, 0, map[string][]byte{}
	e.from = -1
	o.Observer = func(r *difalt.Record) error {
		if last = r.Iteration; e.from < 0 {
			e.from = last
		}
		if f.torn && last%livesEvery == 0 {
			before = contents(l.t, folder)
		}
		if f.leave > 0 && last >= f.leave {
			cancel()
		}
		m.dying = m.dying || f.die > 0 && last >= f.die
		return nil
	}
	s, err := difalt.NewSolver(&difalt.Problem{Nodes: []*kernel.Tasks{l.tasks(i)}}, k.net, o)
	if err != nil {
		e.err = err
		return e
	}
	defer s.Close()
	e.result, e.err = k.drive(ctx, s)
	for path, content := range before {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			l.t.Error(err)
		}
	}
	e.from = max(e.from, 0)
	if e.saved = (e.from/livesEvery + k.count()) * livesEvery; k.count() == 0 {
		e.saved = e.from
	}
	if errors.Is(e.err, engine.ErrGone) {
		e.saved = last
	}
	return e
}

// contents returns the files of a folder by their paths.
func contents(t *testing.T, folder string) map[string][]byte {
	all := map[string][]byte{}
	paths, err := filepath.Glob(filepath.Join(folder, "*"))
	for _, path := range paths {
		content, failed := os.ReadFile(path)
		all[path], err = content, errors.Join(err, failed)
	}
	if err != nil {
		t.Error(err)
	}
	return all
}

// check fails if something went wrong that nobody has done, or if progress was lost.
func (l *lives) check(what string, f fate, ends [livesNodes]end) {
	l.t.Helper()
	least := livesIterations
	for i, e := range ends {
		var peer *wire.PeerError
		if e.err != nil && !errors.Is(e.err, errKilled) && !errors.Is(e.err, engine.ErrGone) && !(errors.As(e.err, &peer) && peer.Kind == wire.Closed) {
			l.t.Errorf("%s: node %d: %v", what, i, e.err)
		}
		if e.from != ends[0].from && e.from > 0 && ends[0].from > 0 {
			l.t.Errorf("%s: node %d goes on from %d, node 0 from %d", what, i, e.from, ends[0].from)
		}
		if !l.changed && e.saved > 0 && e.from < l.safe {
			l.t.Errorf("%s: node %d goes on from %d, but all have kept %d", what, i, e.from, l.safe)
		}
		least = min(least, e.saved)
		files, err := filepath.Glob(filepath.Join(l.owners[i].folder, "*.ckpt"))
		most := (2+livesEvery-1)/livesEvery + 3
		if l.torn[i] = f.torn || l.torn[i] && e.saved == e.from; l.torn[i] {
			most += most // until a checkpoint has been written, and what is too much removed
		}
		if err != nil || len(files) > most {
			l.t.Errorf("%s: node %d keeps %d files, %d at most are promised", what, i, len(files), most)
		}
	}
	if l.changed || least > l.safe {
		l.safe = least
	}
	l.changed = false
}

// meddle removes a folder, changes a table, or goes back to what was before.
func (l *lives) meddle() string {
	i := l.rng.IntN(livesNodes)
	o := &l.owners[i]
	l.changed = true
	switch n := len(l.before[i]); {
	case l.rng.IntN(3) == 0:
		if err := os.RemoveAll(o.folder); err != nil {
			l.t.Fatal(err)
		}
		return fmt.Sprintf("node %d loses its folder", i)
	case n == 0 || l.rng.IntN(3) == 0:
		l.before[i] = append(l.before[i], *o)
		*o = owner{l.newFolder(), len(l.before[i])}
		return fmt.Sprintf("node %d changes its table", i)
	}
	k := l.rng.IntN(len(l.before[i]))
	*o, l.before[i][k] = l.before[i][k], *o
	return fmt.Sprintf("node %d goes back to a table it had", i)
}

// TestLives: whatever is killed, removed and changed between, nobody meets an error but
// the one who has made it, all go on from the last checkpoint that all have of one run, no more
// files are kept than promised, and in the end there are the bits of an uninterrupted training.
func TestLives(t *testing.T) {
	many := uint64(14)
	switch {
	case longtest.Enabled():
		many = 300
	case testing.Short():
		many = 4
	}
	for seed := range many {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := newLives(t, seed)
			for range 16 {
				what := "started again"
				if l.rng.IntN(2) == 0 {
					what = l.meddle()
				}
				f := fate{die: l.rng.IntN(livesIterations+1) - 1, torn: l.rng.IntN(4) == 0}
				if l.rng.IntN(4) == 0 {
					f = fate{leave: 1 + l.rng.IntN(livesIterations)}
				}
				l.check(what, f, l.start(f))
			}
			want := l.uninterrupted()
			ends := l.start(fate{})
			for i, e := range ends {
				if e.err != nil || !mat.Equal(e.result.U[0], want.U[i]) {
					t.Errorf("node %d: in the end %v, or other bits", i, e.err)
				}
			}
		})
	}
}
