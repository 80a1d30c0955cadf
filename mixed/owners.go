package mixed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/transport"
)

// An Error has a text for the owner of a table, the text of the embedded error, and a public one.
type Error struct {
	error
	public  string
	certain bool // it follows from the table of this owner alone
}

// Unwrap returns the error for the owner.
func (e *Error) Unwrap() error { return e.error }

// PublicText returns the text that other nodes may receive.
func (e *Error) PublicText() string { return e.public }

// ownFault returns an error about the table or the options of this owner. Its public text is silent about
// them.
func ownFault(err error) error {
	if own := new(Error); errors.As(err, &own) {
		return err
	}
	return &Error{err, "its table cannot be used", true}
}

// contradiction reports a total that cannot be.
func contradiction(what string) error { return fmt.Errorf("%s: %w", what, consensus.ErrContradiction) }

// LargestSum is the largest number of values in one sum over a network; more go in several.
const LargestSum = 1 << 16

// A meeting is the hosted nodes of a network, which add up their numbers together. Each has a goroutine.
type meeting struct {
	net    *consensus.Network
	lock   sync.Mutex
	all    *sync.Cond
	turn   int         // number of the operation
	here   int         // nodes that have come to the operation
	rows   [][]float64 // the rows that the nodes brought
	made   []*Decision // the decisions that the nodes brought, nil for none
	err    error       // error of the last operation
	levels []string    // levels of a column at all hosted nodes
	ended  error       // error with which a node has ended; then no operation is possible any more
}

// A seat is the place of a node in a meeting. It is the Sums of that node.
type seat struct {
	*meeting
	at int // place among the hosted nodes
}

// newMeeting returns the seats of the hosted nodes of a network.
func newMeeting(net *consensus.Network) []*seat {
	m := &meeting{net: net, rows: make([][]float64, len(net.Hosted())), made: make([]*Decision, len(net.Hosted()))}
	m.all = sync.NewCond(&m.lock)
	seats := make([]*seat, len(m.rows))
	for i := range seats {
		seats[i] = &seat{m, i}
	}
	return seats
}

// errLeft is the error of nodes of this process where another one has ended.
var errLeft = errors.New("another owner of this process has ended")

// together lets the last of the hosted nodes that comes do the operation on the rows and decisions of all of
// them.
func (s *seat) together(v []float64, d *Decision, do func(m *meeting) error) error {
	m := s.meeting
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.ended != nil {
		return errLeft
	}
	m.rows[s.at], m.made[s.at] = v, d
	turn := m.turn
	if m.here++; m.here == len(m.rows) {
		m.err = do(m)
		m.here, m.turn = 0, turn+1
		m.all.Broadcast()
		return m.err
	}
	for m.turn == turn && m.ended == nil {
		m.all.Wait()
	}
	if m.turn == turn {
		return errLeft
	}
	return m.err
}

// leave ends the meeting for all.
func (s *seat) leave(err error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.ended = err
	s.all.Broadcast()
}

// Owners implements Sums.
func (s *seat) Owners() int { return s.net.Len() }

// Add implements Sums. The node in the center of the graph decides.
func (s *seat) Add(ctx context.Context, _ string, v []float64, d *Decision) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.together(v, d, func(m *meeting) error {
		from, part := 0, make([][]float64, len(m.rows))
		for ; len(v)-from > LargestSum; from += LargestSum {
			for i, row := range m.rows {
				part[i] = row[from : from+LargestSum]
			}
			if err := m.net.Sum(ctx, part); err != nil {
				return err
			}
		}
		return m.addLast(ctx, from)
	})
}

// addLast adds up the numbers from a place on, and lets the node in the center decide.
func (m *meeting) addLast(ctx context.Context, from int) error {
	part, size := make([][]float64, len(m.rows)), len(m.rows[0])
	for i, row := range m.rows {
		part[i] = row[from:]
		if d := m.made[i]; d != nil {
			part[i] = slices.Concat(part[i], d.Numbers)
		}
	}
	decided := len(part[0]) - (size - from)
	decide := func([]float64) {}
	if at := slices.Index(m.net.Hosted(), m.net.Graph().Center()); at >= 0 && m.made[at] != nil {
		decide = func(row []float64) {
			copy(m.rows[at][from:], row)
			m.made[at].Decide(m.rows[at])
			copy(row[size-from:], m.made[at].Numbers)
		}
	}
	err := m.net.SumThen(ctx, part, decided, decide)
	for i, sum := range part {
		copy(m.rows[i][from:], sum)
		if d := m.made[i]; d != nil {
			copy(d.Numbers, sum[size-from:])
		}
	}
	return err
}

// Check reports the first fault of the tables or the options that [Together], or [Privately] with the budget
// p, would report before it sends anything. owners is the number of nodes of the network. So a caller can ask
// before it connects. The error is an *Error.
func Check(list []Input, o Options, p *Privacy, owners int) error {
	if len(list) == 0 || len(list) > owners {
		return ownFault(fmt.Errorf("there are %d tables for %d owners", len(list), owners))
	}
	var err error
	switch {
	case p != nil:
		err = p.check(&o, owners)
	case o.Refit && owners > 1:
		err = errRefits
	}
	if err != nil {
		return &Error{err, "its options cannot be used", true}
	}
	for i, in := range list {
		if p != nil {
			in = in.bounded()
		}
		err := o.check(&in)
		if err == nil && p != nil && in.Table.Weights() != nil {
			err = errors.New("private training takes no weights of rows")
		}
		if err != nil {
			return ownFault(inTable(err, list, i))
		}
	}
	return nil
}

// Together trains on the tables of all nodes of a network; list[i] is the table of node net.Hosted()[i]. All
// processes call it alike, with equal [Settings]. To rounding, the models of all processes are the model of
// one table with the rows of all owners. Mean and prior have equal bits in all of them, but for Level and
// Slope of [Noise], which each owner finds for its own tasks. The model of a process has the tasks of its
// own tables, whose names must differ.
//
// A node that ends with an error, or whose context ends, must leave the network, so that all nodes end.
// A fault of the table or the options is an *Error; consensus.ErrContradiction is in the chain of errors
// about totals that cannot be.
func Together(ctx context.Context, list []Input, net *consensus.Network, o Options) (*Model, *Report, error) {
	if err := checkTables(ctx, list, net); err != nil {
		return nil, nil, err
	}
	if err := Check(list, o, nil, net.Len()); err != nil {
		return nil, nil, err
	}
	before := net.Traffic()
	alone := o
	alone.Sums, alone.Progress, alone.Refit = nil, nil, false
	models, reports, errs := make([]*Model, len(list)), make([]*Report, len(list)), make([]error, len(list))
	var owners crew
	for i, seat := range newMeeting(net) {
		own := o
		own.Sums = seat
		if i > 0 {
			own.Progress = nil
		}
		owners.run(func() {
			errs[i] = errLeft // after a panic
			defer func() {
				if errs[i] != nil {
					seat.leave(errs[i])
				}
			}()
			models[i], reports[i], errs[i] = (&fitter{Options: own, in: &list[i]}).fit(ctx)
			if r := reports[i]; errs[i] == nil && net.Len() > 1 {
				r.owned = []ownedTable{{&list[i], r.aloneOptions(alone), r.scorer}}
			}
		})
	}
	owners.wait()
	for i, err := range errs {
		if err != nil && !errors.Is(err, errLeft) {
			if own := new(Error); errors.As(err, &own) {
				err = inTable(err, list, i)
			}
			return nil, nil, classify(ctx, net, err)
		}
	}
	m, err := join(models)
	if err != nil {
		return nil, nil, classify(ctx, net, &Error{error: err, public: "its tasks cannot be kept"})
	}
	if !net.AllHosted() {
		m.p.OwnRows = NewOwnRows(list, o)
	}
	if err := net.Confirm(ctx); err != nil {
		return nil, nil, err
	}
	r := joinReports(reports)
	r.Traffic = net.Traffic().Minus(before)
	return m, r, nil
}

// checkTables refuses a missing context or network, and other numbers of tables than one for each node of
// this process.
func checkTables(ctx context.Context, list []Input, net *consensus.Network) error {
	if ctx == nil {
		return errNoContext
	}
	if net == nil || len(list) != len(net.Hosted()) || len(list) == 0 {
		return errors.New("mixed: need a network and one table per node of this process")
	}
	return nil
}

// inTable adds the table of this process that an error is about, by its name or its number.
func inTable(err error, list []Input, i int) error {
	own, public := new(Error), "its table cannot be used"
	if errors.As(err, &own) {
		public = own.public
	}
	name := cmp.Or(list[i].Name, fmt.Sprintf("table %d", i+1))
	if len(list) == 1 {
		return err
	}
	return &Error{fmt.Errorf("%s: %w", name, err), public, own.certain}
}

// classify returns the meaning of an error after the first total. One that is not about the network follows
// from totals. Where other processes contribute to totals it is a contradiction between nodes: one may have
// sent wrong numbers, and no node can know that it is another one than this. An error that is certain is of
// this owner whatever the totals are. Nothing is sent: other nodes may have found no error, and go on.
func classify(ctx context.Context, net *consensus.Network, err error) error {
	var own *Error
	var peer *transport.PeerError
	switch {
	case ctx.Err() != nil || errors.Is(err, consensus.ErrInconsistent) || errors.As(err, &peer):
		return err
	case errors.As(err, &own) && own.certain:
		return err
	case net.AllHosted():
		if errors.Is(err, errNumeric) && !errors.As(err, &own) {
			return &Error{error: err, public: "numbers are out of range"}
		}
		return err
	}
	if errors.Is(err, consensus.ErrContradiction) {
		return err
	}
	return fmt.Errorf("%w, or %w", err, consensus.ErrContradiction)
}
