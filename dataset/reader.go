package dataset

// A reader reads the files that a sink takes, one after the other.
type reader struct {
	o    *TableOptions
	to   sink
	path string   // of the current file, empty for a stream
	cols *columns // of the current file
	readSoFar
}

// A sink takes the rows of files: a table, or the description of one.
type sink interface {
	// open begins a file with the given columns, whose rows are counted in a unit, line or
	// row, and says what the columns are for.
	open(header []string, unit string) (*columns, error)
	// types takes what a Parquet file says about its columns. It refuses what the sink cannot
	// take, and may change the roles of columns.
	types(file string, list []*parquetColumn) error
	// records takes text from its first record on. undecided is the error about numbers that
	// can be read in several ways, if there is one.
	records(p *recordParser, s *splitter, first []byte, line int, undecided error) error
	// assume takes how a file is read, apart from the plain way.
	assume(a Assumption)
	// add takes the rows of a batch, which it may change, up to one that is wrong.
	add(b *batch) error
	// close ends a file.
	close() error
}

// open begins a file.
func (r *reader) open(header []string, unit string) (err error) {
	r.cols, err = r.to.open(header, unit)
	return err
}
