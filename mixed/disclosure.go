package mixed

import "fmt"

// An owner who trains with others adds nothing to a total before its own rows satisfy these limits. They are
// about own rows only, so that no other owner can argue.
const (
	leastTraining = 25 // training rows of positive weight
	leastHeldOut  = 5  // held-out rows, if there are any
)

// disclosable reports the first limit that a table does not satisfy.
func (in *Input) disclosable() error {
	training, held := 0, 0
	for i := range in.Table.Rows() {
		switch {
		case in.weight(i) == 0:
		case in.trains(i):
			training++
		default:
			held++
		}
	}
	var err error
	switch {
	case training < leastTraining:
		err = fmt.Errorf("the table has %d training rows of positive weight: must have at least %d, so that sums hide a row",
			training, leastTraining)
	case held > 0 && held < leastHeldOut:
		err = fmt.Errorf("the table has %d held-out rows: must have none or at least %d, so that sums hide a row", held, leastHeldOut)
	default:
		return nil
	}
	return &Error{err, fewRows}
}

// fewRows is the public text about a table that does not satisfy a limit.
const fewRows = "its table has too few rows"
