package federate

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/internal/crowd"
	"github.com/difalt/difalt/difalt"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// A status says in the log, and to who asks, how far a node is and for whom it waits.
type status struct {
	log     *slog.Logger
	cluster *cluster.Cluster
	name    string // of this node

	mu          sync.Mutex
	transport   engine.Transport // of this attempt, nil before the first
	attempts    int
	stage       string
	done, total int
	record      difalt.Record // the last one
}

// The message of such a line, and what has to take time before it is called waiting.
const (
	statusMessage = "progress"
	waitingFrom   = time.Second
)

func (s *status) begin(t engine.Transport) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transport, s.stage, s.done, s.total = t, joining, 0, 0
	s.attempts++
}

func (s *status) progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage, s.done, s.total = stage, done, total
}

func (s *status) observe(rec *difalt.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = *rec
}

// every calls f again and again, until stop is called.
func every(interval time.Duration, f func()) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				f()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

// write logs what has changed.
func (s *status) write() {
	s.mu.Lock()
	t, stage := s.transport, s.stage
	if t == nil {
		stage = reading
	}
	attributes := []any{"node", s.name, "stage", stage, "done", s.done, "total", s.total}
	s.mu.Unlock()
	if t != nil {
		attributes = append(attributes, waiting(s.cluster, t)...)
	}
	s.log.Info(statusMessage, attributes...)
}

// waiting says for whom a node has been waiting, for how long, and for whom those say
// that they wait.
func waiting(c *cluster.Cluster, t engine.Transport) (attributes []any) {
	peers, since := t.Waiting()
	if len(peers) == 0 || time.Since(since) < waitingFrom {
		return nil
	}
	attributes = []any{"waits_for", strings.Join(c.Names(peers), ","), "seconds", math.Round(10*time.Since(since).Seconds()) / 10}
	var beyond []string
	for _, peer := range peers {
		if list := t.Beyond(peer); len(list) > 0 {
			beyond = append(beyond, fmt.Sprintf("%s waits for %s", c.Names([]int{peer})[0], strings.Join(c.Names(list), ",")))
		}
	}
	if beyond != nil {
		attributes = append(attributes, "where", strings.Join(beyond, "; "))
	}
	return attributes
}

const (
	// Anybody may connect to the figures, so a request is short, and few are answered at once.
	requestTimeout = 10 * time.Second
	mostMonitors   = 16
)

// serveMetrics serves the figures of a node until stop is called.
func serveMetrics(address string, s *status) (stop func(), err error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), s)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready() {
			http.Error(w, "not all neighbours are connected", http.StatusServiceUnavailable)
		}
	})
	server := &http.Server{
		Handler: mux, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: 8 << 10,
	}
	server.SetKeepAlivesEnabled(false) // who asks again connects again: a connection is at work, or it ends
	l = crowd.Limit(l, mostMonitors, func(string) {})
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("--metrics", "why", err.Error())
		}
	}()
	return func() { _ = server.Close(); <-done }, nil
}

// ready reports whether all neighbours are connected.
func (s *status) ready() bool {
	s.mu.Lock()
	t := s.transport
	s.mu.Unlock()
	if t == nil {
		return false
	}
	edges := t.Stats().Edges // none before processes of MPI have joined
	return len(edges) > 0 && !slices.ContainsFunc(edges, func(e engine.EdgeStats) bool { return !e.Connected })
}

// Describe implements prometheus.Collector.
func (s *status) Describe(c chan<- *prometheus.Desc) { prometheus.DescribeByCollect(s, c) }

// Collect implements prometheus.Collector: what a node tells Prometheus. Totals begin anew when it joins anew, as counters may.
func (s *status) Collect(c chan<- prometheus.Metric) {
	tell := func(kind prometheus.ValueType, name, help string, v float64, label ...string) {
		var names, values []string
		if label != nil {
			names, values = label[:1], label[1:]
		}
		c <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	s.mu.Lock()
	t, stage, done, total, attempts, rec := s.transport, s.stage, s.done, s.total, s.attempts, s.record
	s.mu.Unlock()
	if t == nil {
		stage = reading
	}
	tell(counter, "difalt_joins_total", "How often this process has joined the others.", float64(attempts))
	tell(gauge, "difalt_iterations", "Iterations of the final run that are done.", float64(rec.Iteration))
	if !math.IsNaN(rec.Objective) {
		tell(gauge, "difalt_objective", "Squared error on the training rows of this node, in the final run.", rec.Objective)
	}
	tell(gauge, "difalt_stage", "1, with what the node is doing.", 1, "stage", stage)
	if t == nil {
		return
	}
	tell(gauge, "difalt_stage_done", "How much of the stage is done: iterations in the stage iterations.", float64(done))
	tell(gauge, "difalt_stage_size", "How much there is to do in the stage at most.", float64(total))
	stats := t.Stats()
	tell(counter, "difalt_rounds_total", "Rounds of messages.", float64(stats.Rounds))
	for _, e := range stats.Edges {
		neighbour, connected := []string{"neighbor", s.cluster.Nodes[e.Peer].Name}, 0.0
		if e.Connected {
			connected = 1
		}
		tell(gauge, "difalt_neighbor_connected", "1 if the neighbour is connected.", connected, neighbour...)
		tell(counter, "difalt_neighbor_connections_total", "Connections made; all but the first because one broke.", float64(e.Connections), neighbour...)
		tell(counter, "difalt_neighbor_sent_bytes_total", "Bytes of frames sent, with those sent again.", float64(e.Sent), neighbour...)
		tell(counter, "difalt_neighbor_received_bytes_total", "Bytes of frames received.", float64(e.Received), neighbour...)
		tell(counter, "difalt_neighbor_wait_seconds_total", "Time spent waiting for the neighbour, alone or with others.", e.Waited.Seconds(), neighbour...)
	}
}
