package wire

import (
	"errors"
	"fmt"
)

// A Journal keeps what the calls since the last Commit returned, where nodes live in other
// processes. A caller whose transport has failed goes back to the last Commit and makes its
// calls again; the other processes do not, since theirs may have succeeded. So a call that
// had succeeded here cannot be carried out again: it returns what it returned. The call
// that failed goes on with the round that failed.
//
// One record would do if a Commit followed every call. But the unit that succeeds or fails
// is an iteration of the caller, which has several calls, and computes what it sends in
// each of them from the results of those before. To keep the frames that have come instead,
// and to compute all rounds again, would need the memory of all rounds of an iteration.
type Journal struct {
	keeps   bool     // nodes live in other processes
	records []record // reused: beyond filled is what was kept before
	filled  int      // how many of them count
	next    int      // the record of the next call, of those that are repeated

	open     bool // the call after the last record has begun and not ended
	call     Call // that one
	done     int  // its rounds
	prepared bool // the next of them has been prepared; see Operation

	ended error // what all calls that are not repeated return from now on
}

// A Call says what was called, as far as it must be the same when it is repeated.
type Call struct {
	Operation string
	Mixer     any    // a pointer; nil: the network itself
	Arguments [5]int // rounds, sizes and whatever else all nodes must have alike
}

// A record is what a call returned, as its caller writes it.
type record struct {
	call    Call
	results []byte
}

// A Progress says what there is to do of a call.
type Progress uint8

// The progress of a call.
const (
	Started  Progress = iota // all of it
	Resumed                  // what the failed attempt before has left
	Repeated                 // nothing: the results are kept
)

var errOther = errors.New("consensus: after Rewind the same calls must be made again")

// Begin begins a call, and returns the results of one that is repeated; they are valid
// until the next Commit. It returns an error if another call is to be repeated.
func (j *Journal) Begin(c Call) (Progress, []byte, error) {
	if j.next < j.filled {
		r := &j.records[j.next]
		if r.call != c {
			return 0, nil, other(c, r.call)
		}
		j.next++
		return Repeated, r.results, nil
	}
	if j.ended != nil {
		return 0, nil, j.ended
	}
	if j.open && j.keeps {
		if j.call != c {
			return 0, nil, other(c, j.call)
		}
		return Resumed, nil, nil
	}
	j.open, j.call, j.done, j.prepared = true, c, 0, false
	return Started, nil, nil
}

func other(c, due Call) error {
	return fmt.Errorf("%w: %s %v in place of %s %v", errOther, c.Operation, c.Arguments, due.Operation, due.Arguments)
}

// End ends the call that has begun. results appends what it returns, where that is kept.
func (j *Journal) End(results func(p []byte) []byte) {
	j.open = false
	if !j.keeps {
		return
	}
	if j.filled == len(j.records) {
		j.records = append(j.records, record{})
	}
	r := &j.records[j.filled]
	j.filled++
	j.next = j.filled
	r.call, r.results = j.call, results(r.results[:0])
}

// Forget drops the record of the call that ended last, which will not be made again.
func (j *Journal) Forget() {
	if j.keeps {
		j.filled--
		j.next = j.filled
	}
}

// Once makes a call that needs no rounds: f returns its results.
func (j *Journal) Once(c Call, f func() []float64) ([]float64, error) {
	progress, kept, err := j.Begin(c)
	if err != nil {
		return nil, err
	}
	if progress == Repeated {
		numbers := make([]float64, len(kept)/8)
		return numbers, ReadFloats(numbers, kept)
	}
	numbers := f()
	j.End(func(p []byte) []byte { return AppendFloats(p, numbers) })
	return numbers, nil
}

// Commit drops what was kept: the calls so far will not be repeated.
func (j *Journal) Commit() { j.filled, j.next = 0, 0 }

// Rewind prepares for the calls since the last Commit to be made again. It reports whether
// they have to be carried out again, since all nodes live in this process.
func (r *Rounds) Rewind() (again bool) {
	r.Journal.next = 0
	if r.keeps {
		return false
	}
	r.open = false
	r.failure = failure{}
	return true
}
