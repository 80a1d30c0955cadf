package federate

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
)

// A counted is a transport with statistics.
type counted struct{ engine.Transport }

func (counted) Stats() engine.Stats {
	return engine.Stats{Rounds: 7, Edges: []engine.EdgeStats{
		{Peer: 1, Connected: true, Sent: 1234567, Waited: 1500 * time.Millisecond}, {Peer: 2},
	}}
}

// The metrics are in the text format of Prometheus, version 0.0.4: a line for each sample, and before those
// of a metric its help and its type.
func TestMetrics(t *testing.T) {
	s := status{node: &Node{Cluster: &cluster.Cluster{Nodes: []cluster.Node{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}}
	s.set(counted{}, "ranks", .25)
	w := httptest.NewRecorder()
	s.metrics(w, nil)
	const want = `# HELP difalt_stage Completed share of the stage of the job.
# TYPE difalt_stage gauge
difalt_stage{stage="ranks"} 0.25
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
