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

// A status is how far a node is and for whom it waits. Nothing in it depends on own rows but by totals.
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

// A metric is a figure of a node, or of each of its neighbours. None may be computed from the rows of the
// owner: TestMetricsFollowFromTotals and TestPrivateMetrics compare all of them but times.
type metric struct {
	name, kind, help string
	samples          func(s *status, t engine.Transport, p Progress) []sample
}

// A sample is a number with its label.
type sample struct {
	label, of string
	value     float64
}

// allMetrics are all that /metrics has, in its order. The first two are there before the node connects, too.
var allMetrics = []metric{
	{"difalt_stage_steps_done", "gauge", "Steps of the stage of the job that are done.",
		func(_ *status, _ engine.Transport, p Progress) []sample {
			return []sample{{"stage", p.Stage, float64(p.Done)}}
		}},
	{"difalt_stage_steps_most", "gauge", "Largest number of steps of the stage, 0 if it is unknown.",
		func(_ *status, _ engine.Transport, p Progress) []sample {
			return []sample{{"stage", p.Stage, float64(p.Most)}}
		}},
	{"difalt_sums_total", "counter", "Sums over all nodes that are done.",
		ofNode(func(_ engine.Stats, p Progress) float64 { return float64(p.Sums) })},
	{"difalt_rounds_total", "counter", "Rounds of messages.",
		ofNode(func(stats engine.Stats, _ Progress) float64 { return float64(stats.Rounds) })},
	{"difalt_neighbor_connected", "gauge", "1 if the neighbour is connected.",
		ofNeighbours(func(e engine.EdgeStats) float64 { return map[bool]float64{true: 1}[e.Connected] })},
	{"difalt_neighbor_sent_bytes_total", "counter", "Bytes of frames sent, repeated ones included.",
		ofNeighbours(func(e engine.EdgeStats) float64 { return float64(e.Sent) })},
	{waitMetric, "counter", "Time spent waiting for the neighbour.",
		ofNeighbours(func(e engine.EdgeStats) float64 { return e.Waited.Seconds() })},
}

// waitMetric is the name of the only metric that is a time.
const waitMetric = "difalt_neighbor_wait_seconds_total"

// ofNode returns the samples of a metric with one number, none before the node connects.
func ofNode(value func(engine.Stats, Progress) float64) func(*status, engine.Transport, Progress) []sample {
	return func(s *status, t engine.Transport, p Progress) []sample {
		if t == nil {
			return nil
		}
		return []sample{{"node", s.node.Cluster.Nodes[s.node.Number].Name, value(t.Stats(), p)}}
	}
}

// ofNeighbours returns the samples of a metric with a number for each neighbour.
func ofNeighbours(value func(engine.EdgeStats) float64) func(*status, engine.Transport, Progress) []sample {
	return func(s *status, t engine.Transport, _ Progress) (list []sample) {
		if t == nil {
			return nil
		}
		for _, e := range t.Stats().Edges {
			list = append(list, sample{"neighbor", s.node.Cluster.Nodes[e.Peer].Name, value(e)})
		}
		return list
	}
}

// metrics answers /metrics.
func (s *status) metrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	t, p := s.get()
	for _, m := range allMetrics {
		samples := m.samples(s, t, p)
		if samples == nil {
			continue
		}
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s %s\n", m.name, m.help, m.name, m.kind)
		for _, v := range samples {
			fmt.Fprintf(w, "%s{%s=%q} %g\n", m.name, v.label, v.of, v.value)
		}
	}
}
