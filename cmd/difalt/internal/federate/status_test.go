package federate

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/internal/engine"
	"github.com/difalt/difalt/cmd/difalt/internal/engine/cluster"
	"github.com/difalt/difalt/internal/check"
	"github.com/difalt/difalt/topology"
)

var abc = cluster.Named([]string{"a", "b", "c"}, check.OK(topology.Path(3)))

// A counted is a transport with statistics, which waits for its neighbours.
type counted struct{ engine.Transport }

func (counted) Stats() engine.Stats {
	return engine.Stats{Rounds: 7, Edges: []engine.EdgeStats{
		{Peer: 1, Connected: true, Sent: 1234567, Waited: 1500 * time.Millisecond}, {Peer: 2},
	}}
}

func (counted) Waiting() ([]int, time.Time) { return []int{1, 2}, time.Now().Add(-time.Hour) }

func (counted) Beyond(peer int) []int { return map[int][]int{2: {0}}[peer] }

// The log names the nodes that a node waits for, and the nodes that those wait for.
func TestWaiting(t *testing.T) {
	var log bytes.Buffer
	n := &Node{Cluster: abc, Log: slog.New(slog.NewTextHandler(&log, nil))}
	s := &n.status
	s.node = n
	n.Progress(Progress{Stage: "reading"})
	s.write()
	s.set(counted{}, Progress{Stage: "ranks", Done: 1, Most: 4, Sums: 12})
	s.write()
	for _, want := range []string{
		"stage=reading\n", `stage=ranks done=1 of_at_most=4 sums=12 waits_for=b,c seconds=3600`,
		`where="c waits for a"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("log %s, want %s", log.String(), want)
		}
	}
}

// The metrics are in the text format of Prometheus, version 0.0.4: a line for each sample, and before those
// of a metric its help and its type.
func TestMetrics(t *testing.T) {
	s := status{node: &Node{Cluster: abc}}
	s.set(counted{}, Progress{Stage: "ranks", Done: 1, Most: 4, Sums: 12})
	w := httptest.NewRecorder()
	s.metrics(w, nil)
	const want = `# HELP difalt_stage_steps_done Steps of the stage of the job that are done.
# TYPE difalt_stage_steps_done gauge
difalt_stage_steps_done{stage="ranks"} 1
# HELP difalt_stage_steps_most Largest number of steps of the stage, 0 if it is unknown.
# TYPE difalt_stage_steps_most gauge
difalt_stage_steps_most{stage="ranks"} 4
# HELP difalt_sums_total Sums over all nodes that are done.
# TYPE difalt_sums_total counter
difalt_sums_total{node="a"} 12
# HELP difalt_rounds_total Rounds of messages.
# TYPE difalt_rounds_total counter
difalt_rounds_total{node="a"} 7
# HELP difalt_neighbor_connected 1 if the neighbour is connected.
# TYPE difalt_neighbor_connected gauge
difalt_neighbor_connected{neighbor="b"} 1
difalt_neighbor_connected{neighbor="c"} 0
# HELP difalt_neighbor_sent_bytes_total Bytes of frames sent, repeated ones included.
# TYPE difalt_neighbor_sent_bytes_total counter
difalt_neighbor_sent_bytes_total{neighbor="b"} 1.234567e+06
difalt_neighbor_sent_bytes_total{neighbor="c"} 0
# HELP difalt_neighbor_wait_seconds_total Time spent waiting for the neighbour.
# TYPE difalt_neighbor_wait_seconds_total counter
difalt_neighbor_wait_seconds_total{neighbor="b"} 1.5
difalt_neighbor_wait_seconds_total{neighbor="c"} 0
`
	if got := w.Body.String(); got != want || w.Header().Get("Content-Type") != "text/plain; version=0.0.4" {
		t.Errorf("%v: %s", w.Header(), got)
	}
}

// A node that cannot connect ends with its own error: an address in use, or data that it cannot read. It has
// logged it before it tries to inform the neighbours.
func TestOwnError(t *testing.T) {
	l := check.Listen(t)
	unreadable := func() error { return errors.New("unreadable") }
	for want, n := range map[string]*Node{"--metrics: ": {Metrics: l.Addr().String()},
		"unreadable": {Prepare: unreadable}, "no network": {}} {
		var log bytes.Buffer
		n.Cluster, n.Log, n.LogEvery = abc, slog.New(slog.NewTextHandler(&log, nil)), time.Hour
		n.Connect = func(engine.Options) (engine.Transport, error) {
			if want != "no network" && !strings.Contains(log.String(), want) {
				t.Errorf("the log does not contain %s: %s", want, log.String())
			}
			return nil, errors.New("no network")
		}
		err := Run(t.Context(), n)
		if err == nil || !strings.HasPrefix(err.Error(), want) || n.status.progress.Stage != "reading" {
			t.Errorf("error %v in stage %q, want %s", err, n.status.progress.Stage, want)
		}
	}
}
