package federate

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/engine"
	"github.com/difalt/difalt/engine/cluster"
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

// begin begins an attempt to train.
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

// repeat logs every now and then what has changed, until stop is called.
func (s *status) repeat(every time.Duration) (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				s.write()
			case <-quit:
				return
			}
		}
	}()
	return func() { close(quit); <-done }
}

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
