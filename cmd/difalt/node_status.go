package main

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/difalt/difalt/difalt"
)

// A nodeStatus says in the log, and to who asks, how far a node is and for whom it waits.
type nodeStatus struct {
	log  *slog.Logger
	name string

	mu          sync.Mutex
	member      *member // of this attempt, nil before the first
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
func (s *nodeStatus) begin(m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.member, s.stage, s.done, s.total = m, "joining", 0, 0
	s.attempts++
}

func (s *nodeStatus) progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage, s.done, s.total = stage, done, total
}

func (s *nodeStatus) observe(rec *difalt.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = *rec
}

// watch logs every now and then what has changed, until stop is called.
func (s *nodeStatus) watch(every time.Duration) (stop func()) {
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

func (s *nodeStatus) write() {
	s.mu.Lock()
	m, stage := s.member, s.stage
	if m == nil {
		stage = "reading"
	}
	attributes := []any{"node", s.name, "stage", stage, "done", s.done, "total", s.total}
	s.mu.Unlock()
	if m != nil {
		attributes = append(attributes, m.waiting()...)
	}
	s.log.Info(statusMessage, attributes...)
}

// waiting says for whom a node has been waiting, for how long, and for whom those say
// that they wait.
func (m *member) waiting() (attributes []any) {
	peers, since := m.transport.Waiting()
	if len(peers) == 0 || time.Since(since) < waitingFrom {
		return nil
	}
	attributes = []any{"waits_for", strings.Join(m.names(peers), ","), "seconds", tenths(time.Since(since))}
	var beyond []string
	for _, peer := range peers {
		if list := m.transport.Beyond(peer); len(list) > 0 {
			beyond = append(beyond, fmt.Sprintf("%s waits for %s", m.names([]int{peer})[0], strings.Join(m.names(list), ",")))
		}
	}
	if beyond != nil {
		attributes = append(attributes, "where", strings.Join(beyond, "; "))
	}
	return attributes
}
