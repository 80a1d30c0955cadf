package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/kernel"
)

// Over runs one method of a trial at the nodes that t hosts, nil for all of them in this
// process, which then average round by round as the processes of a network do. It draws
// only the data of these nodes. When all are ready, begin is called; observe is called with
// every record. It returns the basis of every hosted node, as the SHA-256 of its numbers.
func (s *Setting) Over(ctx context.Context, trial int, method string, t wire.Transport, workers int, begin func(), observe func(*difalt.Record) error) (bases []string, err error) {
	weights, err := s.Mixing(trial)
	if err != nil {
		return nil, err
	}
	net, err := consensus.New(weights, t)
	if err != nil {
		return nil, err
	}
	p, err := s.Data().Generate(ctx, s.Nodes, net.Hosted(), derive(s.Seed, trial, forData), workers)
	if err != nil {
		return nil, err
	}
	p.Start = s.start(trial)
	o, err := s.methodOptions(method, workers)
	if err != nil {
		return nil, err
	}
	o.Agreement.RoundByRound = o.Agreement.Polynomial != consensus.Tree
	o.Observer = observe
	z := make([][]float64, len(net.Hosted()))
	for i := range z {
		z[i] = make([]float64, 1)
	}
	if err := net.Sum(ctx, z); err != nil {
		return nil, err
	}
	net.Commit()
	begin()
	res, err := difalt.Run(ctx, p, net, o)
	if err != nil && !errors.Is(err, difalt.ErrDiverged) {
		return nil, err
	}
	if res.Status == difalt.Canceled {
		return nil, context.Canceled
	}
	for _, u := range res.U {
		bases = append(bases, hash(u))
	}
	return bases, nil
}

func hash(u *kernel.Basis) string {
	h := sha256.New()
	_, r := u.Dims()
	for j := range r {
		for _, v := range u.Col(j) {
			_ = binary.Write(h, binary.LittleEndian, math.Float64bits(v)) // to memory
		}
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// MeasuredFile is the name of the file with what was measured over an engine.
const MeasuredFile = "measured.csv"

// MeasuredHeader is its first line. Seconds are real ones since all processes were ready,
// of the slowest node, and those of the model beside them.
const MeasuredHeader = "method,trial,iteration,sd_max,rounds,seconds,modelled_seconds"

// A MeasuredRow is a line of it.
type MeasuredRow struct {
	Iteration         int
	SDMax             float64
	Rounds            int64
	Seconds, Modelled float64
}

// AppendMeasured appends the lines of a method in a trial to b.
func AppendMeasured(b []byte, method string, trial int, rows []MeasuredRow) []byte {
	for i := range rows {
		r := &rows[i]
		b = appendRow(b, -1, []any{&method, &trial, &r.Iteration, &r.SDMax, &r.Rounds, &r.Seconds, &r.Modelled})
	}
	return b
}
