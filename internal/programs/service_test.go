package programs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

// A service fits a model in a goroutine, reports progress, predicts, and cancels.
type service struct {
	mu        sync.Mutex
	model     *difalt.Model
	err       error
	iteration int
	cancel    context.CancelFunc
	done      chan struct{}
}

// A body of a request: rows and responses of every task.
type body struct {
	X [][][]float64
	Y [][]float64
}

func (s *service) fit(w http.ResponseWriter, r *http.Request) {
	var b body
	if err := json.NewDecoder(r.Body).Decode(&b); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	tasks, err := kernel.NewTasks(b.X, b.Y)
	rank, _ := strconv.Atoi(r.URL.Query().Get("rank"))
	o := difalt.Options{Rank: rank, Observer: s.observe}
	if err == nil {
		err = o.Validate(tasks.Features(), tasks.Len())
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.done = cancel, make(chan struct{})
	go func() {
		defer close(s.done)
		model, err := o.Fit(ctx, tasks)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.model, s.err = model, err
	}()
}

func (s *service) observe(r *difalt.Record) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.iteration = r.Iteration
	return nil
}

func (s *service) predict(w http.ResponseWriter, r *http.Request) {
	<-s.done
	var row []float64
	task, _ := strconv.Atoi(r.URL.Query().Get("task"))
	switch err := json.NewDecoder(r.Body).Decode(&row); {
	case s.err != nil:
		http.Error(w, s.err.Error(), http.StatusInternalServerError)
	case err != nil || task < 0 || task >= s.model.Len():
		http.Error(w, "no such task", http.StatusBadRequest)
	default:
		json.NewEncoder(w).Encode(s.model.Predict(nil, task, row)[0])
	}
}

func TestService(t *testing.T) {
	s := &service{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /fit", s.fit)
	mux.HandleFunc("POST /predict", s.predict)
	server := httptest.NewServer(mux)
	defer server.Close()
	post := func(path string, v any) (int, string) {
		t.Helper()
		r, w := io.Pipe()
		go func() { w.CloseWithError(json.NewEncoder(w).Encode(v)) }()
		res, err := http.Post(server.URL+path, "application/json", r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	rng := rand.New(rand.NewPCG(11, 12))
	var b body
	for range 12 {
		var rows [][]float64
		var y []float64
		slope := rng.NormFloat64()
		for range 8 {
			row := []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}
			rows, y = append(rows, row), append(y, 1e8+slope*(row[0]+2*row[1]))
		}
		b.X, b.Y = append(b.X, rows), append(b.Y, y)
	}
	if code, text := post("/fit?rank=9", b); code != http.StatusBadRequest {
		t.Errorf("rank 9 of 3 features: %d, %s", code, text)
	}
	if code, text := post("/fit?rank=1", b); code != http.StatusOK {
		t.Fatal(code, text)
	}
	code, text := post("/predict?task=3", b.X[3][5])
	var y float64
	if err := json.Unmarshal([]byte(text), &y); err != nil || code != http.StatusOK || math.Abs(y-b.Y[3][5]) > 1e-6 {
		t.Errorf("%d, %s, %v: want %g", code, text, err, b.Y[3][5])
	}
	if code, _ := post("/predict?task=12", b.X[3][5]); code != http.StatusBadRequest || s.iteration == 0 {
		t.Errorf("task 12: %d; %d iterations", code, s.iteration)
	}
	// A canceled run ends, and says so.
	if code, text := post("/fit?rank=1", b); code != http.StatusOK {
		t.Fatal(code, text)
	}
	s.cancel()
	<-s.done
	if s.err != nil && !errors.Is(s.err, context.Canceled) {
		t.Error(s.err)
	}
}

// A web carries frames over HTTP: a node receives those of a neighbour in the order of its requests.
type web struct {
	node   int
	links  []transport.Link
	peers  []string      // the addresses of all nodes
	frames []chan []byte // from each node: at most two are under way
}

func newWeb(node int, g *topology.Graph) *web {
	w := &web{node: node, links: transport.Links(g, []int{node})}
	for range g.Len() {
		w.frames = append(w.frames, make(chan []byte, 2))
	}
	return w
}

func (w *web) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("from"))
	frame, err := io.ReadAll(r.Body)
	if err == nil {
		w.frames[from] <- frame
	}
}

func (w *web) Hosted() []int { return []int{w.node} }

func (w *web) Exchange(ctx context.Context, seq uint64, out, in [][]byte, due []bool) error {
	for k, l := range w.links {
		if len(out[k]) == 0 {
			continue
		}
		url := fmt.Sprintf("%s?from=%d", w.peers[l.Peer], w.node)
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(slices.Clone(out[k])))
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return &transport.PeerError{Peer: l.Peer, Round: seq, Kind: transport.Closed, Err: err}
		}
		res.Body.Close()
	}
	for k, l := range w.links {
		in[k] = nil
		if due != nil && !due[k] {
			continue
		}
		select {
		case in[k] = <-w.frames[l.Peer]:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (w *web) Close() error { return nil }

// threeNodes draws four tasks of rank 1 for each of three nodes.
func threeNodes() (nodes []*kernel.Tasks) {
	rng := rand.New(rand.NewPCG(13, 14))
	for range 3 {
		b := kernel.NewBuilder(6, []int{9, 9, 9, 9}, kernel.Float64)
		for task := range 4 {
			slope := rng.NormFloat64()
			for i := range 9 {
				row := make([]float64, 6)
				for j := range row {
					row[j] = rng.NormFloat64()
				}
				b.SetRow(task, i, row, slope*(row[0]-row[3]))
			}
		}
		nodes = append(nodes, b.Tasks())
	}
	return nodes
}

// Three nodes over HTTP compute the bits of one process.
func TestNodesOverHTTP(t *testing.T) {
	nodes := threeNodes()
	graph, err := topology.Ring(3)
	if err != nil {
		t.Fatal(err)
	}
	problem, net, err := difalt.InProcess(nodes, graph)
	if err != nil {
		t.Fatal(err)
	}
	o := difalt.Options{Rank: 1, Method: difalt.Accelerated}
	want, err := difalt.Run(t.Context(), problem, net, o)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := topology.NewWeights(graph, topology.Metropolis)
	if err != nil {
		t.Fatal(err)
	}
	webs, addresses := make([]*web, 3), make([]string, 3)
	for i := range webs {
		webs[i] = newWeb(i, graph)
		server := httptest.NewServer(webs[i])
		defer server.Close()
		addresses[i] = server.URL
	}
	var processes sync.WaitGroup
	for i, w := range webs {
		w.peers = addresses
		processes.Go(func() {
			net, err := consensus.New(weights, w)
			if err != nil {
				t.Error(err)
				return
			}
			res, err := difalt.Run(t.Context(), &difalt.Problem{Nodes: nodes[i : i+1]}, net, o)
			if err != nil {
				t.Error(err)
				return
			}
			if !slices.Equal(res.B[0], want.B[i]) || !slices.Equal(res.U[0].Data(), want.U[i].Data()) {
				t.Errorf("node %d: other bits than in one process", i)
			}
		})
	}
	processes.Wait()
}
