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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/dataset"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/internal/fault"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/mixed"
	"github.com/difalt/difalt/private"
	"github.com/difalt/difalt/topology"
)

// An end is what the other owners have of a node: the frames and the text that it sent them; and what it
// shows to its own.
type end struct {
	sent  bytes.Buffer
	shown testnet.Buffer
	err   error
}

// life runs three nodes, each with its job and, before it connects, its preparation.
func life(t *testing.T, ctxs []context.Context, node func(i int, n *Node)) []*end {
	check.Limit(t)
	t.Helper()
	names := []string{"north", "south", "west"}
	g := check.OK(topology.Path(len(names)))
	transports := check.OK(testnet.Connect(g, [][]int{{0}, {1}, {2}}))
	ends, gone := make([]*end, len(names)), make(chan transport.PeerError, 100)
	var wait sync.WaitGroup
	for i := range names {
		ends[i] = new(end)
		wait.Go(func() {
			var own sync.Once
			n := &Node{
				Cluster: cluster.Named(names, g),
				Number:  i, LogEvery: time.Hour, Log: slog.New(slog.NewTextHandler(&ends[i].shown, nil)),
				Connect: func(o engine.Options) (engine.Transport, error) {
					o.Report("linked")
					return &line{stats: connected(g, i), Transport: transports[i], end: ends[i], gone: gone,
						all: func(left transport.PeerError) {
							own.Do(func() { gone <- left })
						}}, nil
				},
			}
			node(i, n)
			ends[i].err = Run(ctxs[i], n)
			if ends[i].err != nil {
				io.WriteString(&ends[i].shown, ends[i].err.Error())
			}
		})
	}
	wait.Wait()
	return ends
}

func background(t *testing.T) []context.Context {
	return []context.Context{t.Context(), t.Context(), t.Context()}
}

// secret returns a text that only owner i has, in cells, names of files and tasks, and paths.
func secret(i int) string { return fmt.Sprintf("Secret%dOfOwner", i) }

// file returns the path of a table of owner i, whose rows a change may spoil.
func file(t *testing.T, i int, change func(rows []string) []string) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(i)))
	rows := []string{"task,age,kind,y"}
	for k := range 40 {
		rows = append(rows,
			fmt.Sprintf("%s-task%d,%.3f,%s%d,%.3f", secret(i), k%5, rng.NormFloat64(), secret(i), k%3,
				rng.NormFloat64()))
	}
	folder := filepath.Join(t.TempDir(), secret(i))
	path := filepath.Join(folder, secret(i)+".csv")
	err := errors.Join(os.MkdirAll(folder, 0o700),
		os.WriteFile(path, []byte(strings.Join(change(rows), "\n")+"\n"), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// set returns a change of a cell of owner 1's third row.
func set(column int, text string) func([]string) []string {
	return func(rows []string) []string {
		cells := strings.Split(rows[3], ",")
		cells[column] = text
		rows[3] = strings.Join(cells, ",")
		return rows
	}
}

// unchanged returns the rows of an owner as they are.
func unchanged(rows []string) []string { return rows }

// nothingLeaksCases are the cases of TestNothingLeaks.
var nothingLeaksCases = map[string]struct {
	change  func(rows []string) []string
	config  func(i int, c *mixed.Options)
	epsilon float64
	ok      bool
}{
	"training":       {change: unchanged, ok: true},
	"private":        {change: unchanged, config: func(_ int, c *mixed.Options) { r := 1; c.Rank = &r }, epsilon: 5},
	"cell":           {change: set(1, secret(1))},
	"target":         {change: set(3, secret(1))},
	"large value":    {change: set(1, "1e300")},
	"large target":   {change: set(3, "1e300")},
	"missing column": {change: func(rows []string) []string { rows[0] = "task,age,y"; return rows }},
	"short row":      {change: func(rows []string) []string { rows[5] = secret(1); return rows }},
	"other column":   {change: func(rows []string) []string { rows[0] = "task,weight,kind,y"; return rows }},
	"no rows":        {change: func(rows []string) []string { return rows[:1] }},
	"no file":        {change: func([]string) []string { return nil }},
	"task of another": {change: func(rows []string) []string {
		return append(rows, secret(0)+"-task1,1,"+secret(1)+",1") // the name of a task of owner 0
	}, ok: true},
	"rank":  {change: unchanged, config: func(_ int, c *mixed.Options) { r := 19; c.Rank = &r }},
	"noise": {change: unchanged, config: func(i int, c *mixed.Options) { c.CommonNoise = i == 1 }},
}

// Nothing of the cells, file names, task names and paths of an owner reaches another one, in a training and
// in every way in which it fails at owner 1.
func TestNothingLeaks(t *testing.T) {
	for name, c := range nothingLeaksCases {
		t.Run(name, func(t *testing.T) {
			ends := life(t, background(t), func(i int, n *Node) {
				path := file(t, i, map[bool]func([]string) []string{true: c.change, false: unchanged}[i == 1])
				var table *dataset.Table
				var budget *mixed.Privacy
				if c.epsilon > 0 {
					budget = &mixed.Privacy{Epsilon: c.epsilon}
				}
				config := mixed.Options{Workers: 1, TaskColumn: "task", TargetColumn: "y",
					Disclosure: mixed.Disclosure{LeastRows: mixed.Off, LeastLevel: mixed.Off, LeastSmall: mixed.Off}}
				if c.config != nil {
					c.config(i, &config)
				}
				n.Prepare = func() (err error) {
					table, err = dataset.ReadFiles([]string{path},
						dataset.TableOptions{Task: "task", Target: "y", Categorical: []string{"kind"}})
					if err == nil {
						n.Settings = mixed.Settings(table, &config, budget)
					}
					return err
				}
				n.Job = func(ctx context.Context, net *consensus.Network) error {
					list := []mixed.Input{{Table: table}}
					if budget != nil {
						_, _, err := mixed.Privately(ctx, list, net, config, *budget)
						return err
					}
					_, _, err := mixed.Together(ctx, list, net, config)
					return err
				}
			})
			for i, e := range ends {
				if (e.err == nil) != c.ok {
					t.Errorf("node %d ends with %v", i, e.err)
				}
				for j := range ends {
					if j == 0 && name == "task of another" {
						continue
					}
					if bytes.Contains(e.sent.Bytes(), []byte(secret(j))) {
						t.Errorf("node %d sends a text of owner %d: %q", i, j,
							e.sent.String()[max(0, e.sent.Len()-300):])
					}
					if j != i && strings.Contains(e.shown.String(), secret(j)) {
						t.Errorf("node %d shows a text of owner %d: %q", i, j, e.shown.String())
					}
				}
			}
		})
	}
}

var errPanic = errors.New("a mistake in the program")

// A node that is interrupted is named by all others, and so is one whose job fails or panics.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		fail    error
		reading bool
		want    string
	}{
		"interrupted":         {nil, false, `node "south" was interrupted`},
		"interrupted reading": {nil, true, `node "south" was interrupted`},
		"panics":              {errPanic, false, `node "south" has failed (closed, round 0): it has failed`},
		"failed": {errors.New("the local text"), false,
			`node "south" has failed (closed, round 0): it has failed`},
	} {
		t.Run(name, func(t *testing.T) {
			ctxs := background(t)
			ctx, cancel := context.WithCancel(t.Context())
			ctxs[1] = ctx
			ends := life(t, ctxs, func(i int, n *Node) {
				n.Prepare = func() error {
					if i == 1 && c.reading {
						cancel()
						return ctx.Err()
					}
					return nil
				}
				n.Job = func(ctx context.Context, net *consensus.Network) error {
					if i == 1 && c.fail == nil {
						cancel()
					}
					if i == 1 && c.fail == errPanic {
						panic(c.fail)
					}
					if i == 1 {
						return errors.Join(c.fail, ctx.Err())
					}
					return net.Sum(ctx, [][]float64{{0}})
				}
			})
			cancel()
			for i, e := range ends {
				if i != 1 && !strings.Contains(fmt.Sprint(e.err), c.want) {
					t.Errorf("node %d: %v, want %s", i, e.err, c.want)
				}
				if c.fail == nil && !errors.Is(e.err, context.Canceled) {
					t.Errorf("node %d: %v is no interruption", i, e.err)
				}
			}
			p, ok := errors.AsType[*fault.Panic](ends[1].err)
			if ok != (c.fail == errPanic) || ok && !strings.Contains(string(p.Stack), "leak_test.go") {
				t.Errorf("the node that fails ends with %T: %[1]v", ends[1].err)
			}
			if c.fail != nil && !strings.Contains(ends[1].err.Error(), c.fail.Error()) ||
				!strings.Contains(ends[1].shown.String(), "linked") {
				t.Errorf("the node that fails: %v, its log %s", ends[1].err, ends[1].shown.String())
			}
		})
	}
}

// Every node names the setting that differs. A node with another value than node 0 names itself, and all
// others name the first such node.
func TestSettingsDiffer(t *testing.T) {
	const south, west = `the nodes refuse each other: rank is 3 at node "south", but 2 at node "north"`,
		`the nodes refuse each other: rank is 4 at node "west", but 2 at node "north"`
	for name, c := range map[string]struct{ ranks, want [3]string }{
		"one":  {[3]string{"2", "3", "2"}, [3]string{south, south, south}},
		"last": {[3]string{"2", "2", "4"}, [3]string{west, west, west}},
		"both": {[3]string{"2", "3", "4"}, [3]string{south, south, west}},
	} {
		t.Run(name, func(t *testing.T) {
			ends := life(t, background(t), func(i int, n *Node) {
				n.Settings = []consensus.Setting{{Name: "rank", Value: c.ranks[i]}}
				n.Job = func(context.Context, *consensus.Network) error { return errors.New("the job ran") }
			})
			for i, e := range ends {
				var peer *transport.PeerError
				if !errors.As(e.err, &peer) || e.err.Error() != c.want[i] || peer.Peer == i {
					t.Errorf("node %d: %v, want %s", i, e.err, c.want[i])
				}
			}
		})
	}
}

// The order of the settings is of no account: columns of tables may have any.
func TestSettingsInAnyOrder(t *testing.T) {
	ends := life(t, background(t), func(i int, n *Node) {
		n.Settings = []consensus.Setting{{Name: "rank", Value: "2"}, {Name: "column x", Value: "numbers"}}
		if i == 1 {
			slices.Reverse(n.Settings)
		}
		n.Job = func(context.Context, *consensus.Network) error { return nil }
	})
	for i, e := range ends {
		if e.err != nil {
			t.Errorf("node %d: %v", i, e.err)
		}
	}
}

// A node that alone finds a total below its own part is not accused by the others.
func TestContradictionAccusesNobody(t *testing.T) {
	ends := life(t, background(t), func(i int, n *Node) {
		n.Job = func(ctx context.Context, net *consensus.Network) error {
			if i == 1 {
				return fmt.Errorf("the rows of %s: %w", secret(1), consensus.ErrContradiction)
			}
			return net.Sum(ctx, [][]float64{{1}})
		}
	})
	for i, e := range ends {
		var peer *transport.PeerError
		switch {
		case i == 1 && !errors.Is(e.err, consensus.ErrContradiction):
			t.Errorf("node 1: %v", e.err)
		case i != 1 &&
			(!errors.As(e.err, &peer) ||
				e.err.Error() != `node "south" reports wrong numbers of another node, and masks hide which`):
			t.Errorf("node %d: %v", i, e.err)
		}
	}
}

// Reports name who reports, and who refuses whom.
func TestExplain(t *testing.T) {
	c := cluster.Named([]string{"a", "b", "c", "d"}, check.OK(topology.Path(4)))
	for _, x := range []struct {
		err  transport.PeerError
		want string
	}{
		{transport.PeerError{Peer: 1, Kind: transport.Refused, Err: errors.New("why")},
			`node "b" and this one refuse each other: why`},
		{transport.PeerError{Peer: 1, Kind: transport.Refused, Via: []int{2, 3}, Err: errors.New("why")},
			`node "c" reports that node "d" reports that node "b" and node "d" refuse each other: why`},
		{transport.PeerError{Peer: 0, Kind: transport.Closed, Via: []int{1, 4}},
			`node "b" reports that node ? reports that node "a" has failed (closed, round 0)`},
		{transport.PeerError{Peer: 1, Kind: transport.Waiting, Err: errors.New("why")},
			`node "b" reports that it waits: why`},
		{transport.PeerError{Peer: 1, Kind: transport.Closed, Round: 7}, `node "b" has failed (closed, round 7)`},
		{transport.PeerError{Peer: 1, Kind: transport.Interrupted, Err: errors.New("whatever it says")},
			`node "b" was interrupted: nothing was written`},
		{transport.PeerError{Peer: 0, Kind: transport.Interrupted, Via: []int{1, 2}},
			`node "b" reports that node "c" reports that node "a" was interrupted: nothing was written`},
		{transport.PeerError{Peer: 0, Kind: transport.Closed, Via: []int{1}, Err: errors.New(contradicted)},
			`node "b" reports that node "a" reports wrong numbers of another node, and masks hide which`},
		{transport.PeerError{Peer: 0, Kind: transport.Waiting, Round: 7,
			Err: fmt.Errorf("%w for 6s", engine.ErrBeyond)},
			`node "a", or one that it waits for, has failed (round 7): nothing has come from it for 6s`},
	} {
		if got := Explain(c, &x.err).Error(); got != x.want {
			t.Errorf("%q, want %q", got, x.want)
		}
		// What counts as spent stands behind the cause, here and not at other nodes.
		const spent = "; the privacy budget counts as spent, epsilon 2 at delta 0.01: another training spends as " +
			"much again"
		err := Explain(c, &private.SpentError{Err: &x.err, Epsilon: 2, Delta: .01})
		if err.Error() != x.want+spent || strings.Contains(engine.PublicText(err), "spent") {
			t.Errorf("%q, public %q", err, engine.PublicText(err))
		}
	}
}

// A text of another node stays on its line, and is cut between characters.
func TestClean(t *testing.T) {
	for said, want := range map[string]string{
		"rank is 3\u2028difalt: all is well\u2029\n\x1b[2J": "rank is 3 difalt: all is well   [2J",
		"\u202eabc\u2066":                      " abc ",
		"Größe":                                "Größe",
		strings.Repeat("é", longestText):       strings.Repeat("é", longestText/2),
		"a" + strings.Repeat("é", longestText): "a" + strings.Repeat("é", longestText/2-1),
	} {
		if got := clean(said); got != want {
			t.Errorf("%q: %q, want %q", said, got, want)
		}
	}
}

// A member whose settings are not those of the hash that it has sent is named.
func TestSettingsOfAnotherHash(t *testing.T) {
	c := cluster.Named([]string{"a", "b", "c"}, check.OK(topology.Path(3)))
	w := check.OK(topology.NewWeights(check.OK(c.Graph()), topology.Metropolis))
	errs := testnet.Run(w.Graph(), nil, func(i int, tr transport.Transport) error {
		n := &Node{Cluster: c, Number: i, Settings: []consensus.Setting{{Name: "rank", Value: "2"}}}
		net := check.OK(consensus.New(w, tr))
		if i < 2 {
			return n.compare(t.Context(), net)
		}
		for _, said := range []string{"a hash of nothing", `[{"what":"rank","value":"2"}]`} {
			if _, err := net.Gather(t.Context(), [][]byte{[]byte(said)}); err != nil {
				return err
			}
		}
		return nil
	})
	for i, err := range errs[:2] {
		var peer *transport.PeerError
		if !errors.As(err, &peer) || peer.Peer != 2 {
			t.Errorf("node %d: %v", i, err)
		}
	}
}
