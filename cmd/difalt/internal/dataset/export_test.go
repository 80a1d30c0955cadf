package dataset

import "io"

// ReadCSV reads a table from a stream of CSV.
func ReadCSV(in io.Reader, o TableOptions) (*Table, error) {
	r, err := newReader(o)
	if err != nil {
		return nil, err
	}
	if err := r.readCSV(in); err != nil {
		return nil, err
	}
	return r.table()
}
