package consensus

import (
	"context"
	"errors"

	"github.com/difalt/difalt/consensus/internal/rounds"
)

var (
	// ErrNotFinite reports a number that cannot be sent: it is NaN, infinite or too large for a sum. The
	// computation that produced it has diverged. If the number belongs to another node the error also wraps
	// ErrContradiction.
	ErrNotFinite = rounds.ErrNotFinite

	// ErrContradiction reports that the messages of the nodes contradict one another. This node has
	// followed the protocol; masks hide which other node has not.
	ErrContradiction = rounds.ErrContradiction

	// ErrInconsistent reports that two nodes have received different results of an earlier operation, so
	// that their masks differ: a node has altered a result on its way down the tree.
	ErrInconsistent = rounds.ErrInconsistent
)

// A signedError is an error that leaves this package: its text begins with the name of the package. Errors of
// the packages in internal, and a transport.PeerError, begin without it.
type signedError struct{ err error }

// signed returns err as a signedError. It returns nil and the errors of a context as they are.
func signed(err error) error {
	if err == nil || err == context.Canceled || err == context.DeadlineExceeded {
		return err
	}
	return &signedError{err}
}

func (e *signedError) Error() string { return "consensus: " + e.err.Error() }

func (e *signedError) Unwrap() error { return e.err }

// Is reports whether e repeats the signed error target, as the errors of a network do that has ended.
func (e *signedError) Is(target error) bool {
	before, ok := target.(*signedError)
	return ok && errors.Is(e.err, before.err)
}
