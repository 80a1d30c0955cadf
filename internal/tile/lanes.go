package tile

const (
	// LaneColumns is the largest rank of LeastSquaresLanes.
	LaneColumns = 8
	// LaneRows is the smallest number of rows of a block, and LaneFeatures that of features.
	LaneRows, LaneFeatures = 5, 8

	laneZeros, laneResults = LaneColumns + 4, 5
)

// LaneResults are those of LeastSquaresLanes, in its workspace.
type LaneResults struct {
	// B holds b_j of lane l at j*Stride+l.
	B      []float64
	Stride int
	// With A = QR, Lo is the square of the smallest diagonal entry of R for each lane, and Hi the sum of the
	// squares of R. Product multiplies the squares of the diagonal, each divided by Hi. Size is the largest
	// absolute value of b, and Squares the sum of the squares of A b - y.
	Lo, Hi, Size, Squares, Product []float64 // in the order of the tile
}

// LaneStride returns how many numbers a row of LeastSquaresLanes has.
func LaneStride(r int) int { return r + 4 }

// LaneWork returns the length of work of LeastSquaresLanes.
func LaneWork(r int) int { return (laneZeros + r*LaneStride(r) + laneResults) * Lanes() }
