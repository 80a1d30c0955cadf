package grpc

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/consensus/wire"
)

// kill ends a transport as the end of its process would: without a farewell.
func (t *Transport) kill() {
	t.once.Do(func() { t.cancel(); t.server.Stop() })
	t.wg.Wait()
}

// begin joins and makes a first exchange.
func begin(t *testing.T, list []*Transport) {
	t.Helper()
	good := frame(t, 0, 8)
	if err := errors.Join(each(list, func(tr *Transport) error {
		out := [][]byte{good, good, good}[:len(tr.edges)]
		return errors.Join(tr.Join(t.Context()), tr.Exchange(t.Context(), 0, out, make([][]byte, len(out)), nil))
	})...); err != nil {
		t.Fatal(err)
	}
}

// exchange exchanges from frame seq on until there is an error.
func exchange(t *testing.T, tr *Transport, seq uint64) error {
	for ; ; seq++ {
		f := frame(t, seq, 8)
		out := [][]byte{f, f, f}[:len(tr.edges)]
		if err := tr.Exchange(t.Context(), seq, out, make([][]byte, len(out)), nil); err != nil {
			return err
		}
	}
}

// TestRestartedTooLate: once frames have been exchanged a new process of a node cannot enter the run, and is
// informed; while the first process is connected, it changes nothing.
func TestRestartedTooLate(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 2)
	list := p.all(t, quick())
	begin(t, list)
	o := quick()
	o.JoinTimeout, o.Linger = 2*time.Second, 50*time.Millisecond
	second := must[*Transport](t)(New(p.c, p.id(1), must[net.Listener](t)(net.Listen("tcp", "127.0.0.1:0")), o))
	err := second.Join(t.Context())
	second.Leave(err)
	peerError(t, "second process", err, 0, wire.Closed, "another process")
	good := frame(t, 1, 8)
	for _, err := range each(list, func(tr *Transport) error {
		return tr.Exchange(t.Context(), 1, [][]byte{good}, make([][]byte, 1), nil)
	}) {
		if err != nil {
			t.Errorf("disturbed: %v", err)
		}
	}
}

// A secretError has a local text and a public one.
type secretError struct{}

func (secretError) Error() string      { return "mine.csv: line 7 is wrong" }
func (secretError) PublicText() string { return "cannot read its data" }

// TestFailedBefore: a node that cannot take part joins and leaves at once; the others end with its public
// text, and nothing of the local one reaches them.
func TestFailedBefore(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		why  error
		text string
	}{{secretError{}, "cannot read its data"}, {errors.New("mine.csv: line 7 is wrong"), "it has failed"}} {
		for victim := range 3 {
			p := newParty(t, "path", 3)
			for i, err := range each(p.all(t, quick()), func(tr *Transport) error {
				err := tr.Join(t.Context())
				if tr.node == victim {
					tr.Leave(x.why)
					return nil
				}
				if err == nil {
					err = exchange(t, tr, 0)
				}
				tr.Leave(err)
				return err
			}) {
				if i == victim {
					continue
				}
				peerError(t, "failed before", err, victim, wire.Closed, x.text)
				if strings.Contains(err.Error(), "mine.csv") {
					t.Errorf("node %d receives %v", i, err)
				}
			}
		}
	}
}

// TestWaitsToJoin: a node whose neighbours are all there does not blame one that still
// waits for another; the latter says who is missing.
func TestWaitsToJoin(t *testing.T) {
	t.Parallel()
	p := newParty(t, "path", 3)
	o := quick()
	o.RoundTimeout, o.JoinTimeout = patienceOfTests, 3*time.Second
	errs := each([]*Transport{p.transport(t, 0, o), p.transport(t, 1, o)}, func(tr *Transport) error {
		err := tr.Join(t.Context())
		if err == nil {
			err = exchange(t, tr, 0)
		}
		tr.Leave(err)
		return err
	})
	for i, err := range errs {
		peerError(t, p.c.Label(i), err, 2, wire.Timeout, "not there after 3s")
	}
}
