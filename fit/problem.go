package fit

import (
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/fit/internal/evidence"
)

// maxMoments is the number of features from which on steps by their moments take more
// time than they save.
const maxMoments = 500

// problem returns what the algorithm finds a basis for: the rows of all tasks less the mean of a point, as a model without directions sees them
// (generalised least squares). How their features vary together is known from the sums of the point: as collinear columns do, plain steps
// would take thousands of iterations.
func problem(pt *evidence.Point) *difalt.Problem {
	nodes, moments := pt.Seen()
	p := &difalt.Problem{Nodes: nodes}
	if pt.W <= maxMoments {
		p.Moments = moments
	}
	return p
}
