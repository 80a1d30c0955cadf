package faulty

import (
	"context"
	"errors"

	"github.com/difalt/difalt/consensus"
)

// ErrInjected is the failure of FailOnce.
var ErrInjected = errors.New("faulty: an exchange was made to fail")

// none is the rest of a transport that carries nothing.
type none struct{}

func (none) Exchange(context.Context, uint64, [][]byte, [][]byte) error { return nil }
func (none) Close() error                                               { return nil }

// FailOnce returns t with an Exchange that fails with ErrInjected the first time that
// it is called with sequence number seq: before anything is carried, or after all was.
func FailOnce(t consensus.Transport, seq uint64, after bool) consensus.Transport {
	return &once{Transport: t, seq: seq, after: after}
}

type once struct {
	consensus.Transport
	seq    uint64
	after  bool
	failed bool
}

func (o *once) Exchange(ctx context.Context, seq uint64, out, in [][]byte) error {
	fail := seq == o.seq && !o.failed
	if fail && !o.after {
		o.failed = true
		return ErrInjected
	}
	err := o.Transport.Exchange(ctx, seq, out, in)
	if fail && err == nil {
		o.failed = true
		return ErrInjected
	}
	return err
}
