package main

import (
	"log/slog"
	"strings"
	"sync"
	"time"
)

// A nodeStatus says in the log how far a node is, and for whom it waits.
type nodeStatus struct {
	log    *slog.Logger
	member *member

	mu          sync.Mutex
	stage       string
	done, total int
}

// The message of such a line, and what has to take time before it is called waiting.
const (
	statusMessage = "progress"
	waitingFrom   = time.Second
)

func (s *nodeStatus) progress(stage string, done, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stage, s.done, s.total = stage, done, total
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
	stage := s.stage
	if stage == "" {
		stage = "joining"
	}
	attributes := []any{"node", s.member.name(), "stage", stage, "done", s.done, "total", s.total}
	s.mu.Unlock()
	if peers, since := s.member.transport.Waiting(); len(peers) > 0 && time.Since(since) >= waitingFrom {
		attributes = append(attributes, "waits_for", strings.Join(s.member.names(peers), ","), "seconds", tenths(time.Since(since)))
	}
	s.log.Info(statusMessage, attributes...)
}
