package difalt

// The tests are about small samples, of which there would be no copies.
func init() { reduceFrom = 0 }

// ReduceFrom sets from how many bytes of samples on there are copies, and returns what it was.
func ReduceFrom(bytes int) (before int) {
	before, reduceFrom = reduceFrom, bytes
	return before
}

// Scaled and Accelerates are rows of the table of methods.
func (m Method) Scaled() bool      { return methods[m].scaled }
func (m Method) Accelerates() bool { return methods[m].accelerated }
