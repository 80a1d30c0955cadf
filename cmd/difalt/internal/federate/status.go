package federate

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/connlimit"
	"github.com/difalt/difalt/cmd/difalt/internal/engine"
)

// A status is how far a node is and for whom it waits. Nothing in it depends on data.
type status struct {
	node *Node

	mu        sync.Mutex
	transport engine.Transport // nil before the node connects
	progress  Progress
}

// Shorter times are not reported as waiting.
const waitingFrom = time.Second

// set sets the progress, and the transport unless that is nil.
func (s *status) set(t engine.Transport, p Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = p
	if t != nil {
		s.transport = t
	}
}

func (s *status) get() (engine.Transport, Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.transport, s.progress
}

// write logs the status.
func (s *status) write() {
	t, p := s.get()
	attributes := []any{"node", s.node.Cluster.Nodes[s.node.Number].Name, "stage", p.Stage}
	if p.Most > 0 {
		attributes = append(attributes, "done", p.Done, "of_at_most", p.Most)
	}
	if t != nil {
		attributes = append(attributes, "sums", p.Sums)
		attributes = append(attributes, s.waiting(t)...)
	}
	s.node.Log.Info("progress", attributes...)
}

// waiting returns the nodes for which this one waits, the seconds, and the nodes for which those report that
// they wait.
func (s *status) waiting(t engine.Transport) (attributes []any) {
	peers, since := t.Waiting()
	if len(peers) == 0 || time.Since(since) < waitingFrom {
		return nil
	}
	names := s.node.Cluster.Names
	seconds := math.Round(10*time.Since(since).Seconds()) / 10
	attributes = []any{"waits_for", strings.Join(names(peers), ","), "seconds", seconds}
	var beyond []string
	for _, peer := range peers {
		if list := t.Beyond(peer); len(list) > 0 {
			beyond = append(beyond,
				fmt.Sprintf("%s waits for %s", names([]int{peer})[0], strings.Join(names(list), ",")))
		}
	}
	if beyond != nil {
		attributes = append(attributes, "where", strings.Join(beyond, "; "))
	}
	return attributes
}

const (
	// Every process on the network may connect to the metrics, so requests are short and few at a time.
	requestTimeout = 10 * time.Second
	mostMonitors   = 16
)

// serve answers /healthz and /metrics until stop is called.
func serve(address string, s *status, log *slog.Logger) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{
		Handler: mux, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: 8 << 10,
	}
	server.SetKeepAlivesEnabled(false)
	l = connlimit.Limit(l, mostMonitors, func(string) {})
	var done sync.WaitGroup
	done.Go(func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error("--metrics", "why", err.Error())
		}
	})
	return func() { _ = server.Close(); done.Wait() }, nil
}

// metrics answers /metrics with seven metrics, which do not depend on data.
func (s *status) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	head := func(name, kind, help string) { fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }
	t, p := s.get()
	head("difalt_stage_steps_done", "gauge", "Steps of the stage of the job that are done.")
	fmt.Fprintf(w, "difalt_stage_steps_done{stage=%q} %d\n", p.Stage, p.Done)
	head("difalt_stage_steps_most", "gauge", "Largest number of steps of the stage, 0 if it is unknown.")
	fmt.Fprintf(w, "difalt_stage_steps_most{stage=%q} %d\n", p.Stage, p.Most)
	if t == nil {
		return
	}
	stats, nodes := t.Stats(), s.node.Cluster.Nodes
	head("difalt_sums_total", "counter", "Sums over all nodes that are done.")
	fmt.Fprintf(w, "difalt_sums_total{node=%q} %d\n", nodes[s.node.Number].Name, p.Sums)
	head("difalt_rounds_total", "counter", "Rounds of messages.")
	fmt.Fprintf(w, "difalt_rounds_total{node=%q} %d\n", nodes[s.node.Number].Name, stats.Rounds)
	for _, m := range []struct {
		name, kind, help string
		value            func(e engine.EdgeStats) float64
	}{
		{"difalt_neighbor_connected", "gauge", "1 if the neighbour is connected.",
			func(e engine.EdgeStats) float64 { return map[bool]float64{true: 1}[e.Connected] }},
		{"difalt_neighbor_sent_bytes_total", "counter", "Bytes of frames sent, repeated ones included.",
			func(e engine.EdgeStats) float64 { return float64(e.Sent) }},
		{"difalt_neighbor_wait_seconds_total", "counter", "Time spent waiting for the neighbour.",
			func(e engine.EdgeStats) float64 { return e.Waited.Seconds() }},
	} {
		head(m.name, m.kind, m.help)
		for _, e := range stats.Edges {
			fmt.Fprintf(w, "%s{neighbor=%q} %g\n", m.name, nodes[e.Peer].Name, m.value(e))
		}
	}
}
