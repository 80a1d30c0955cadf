package rounds

import "errors"

// Errors of operations; see package consensus.
var (
	ErrNotFinite     = errors.New("a message is not finite")
	ErrContradiction = errors.New("another node sends wrong numbers, and masks hide which")
	ErrInconsistent  = errors.New("the nodes received different totals")
)
