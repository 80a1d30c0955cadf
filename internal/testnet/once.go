package testnet

import (
	"context"
	"errors"

	"github.com/difalt/difalt/consensus/wire"
)

// ErrInjected is the failure of FailOnce.
var ErrInjected = errors.New("testnet: an exchange was made to fail")

// FailOnce returns t with an Exchange that fails with ErrInjected the first time that
// it is called with sequence number seq: before anything is carried, or after all was.
func FailOnce(t wire.Transport, seq uint64, after bool) wire.Transport {
	return &once{Transport: t, seq: seq, after: after}
}

type once struct {
	wire.Transport
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
