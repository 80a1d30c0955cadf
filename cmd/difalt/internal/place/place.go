// Package place adds to an error the place of its fault as values: the file and the line.
package place

import (
	"fmt"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// An Error is an error whose text names the file or the line, and which has them as values, too.
type Error struct {
	File string // as the user named it; empty if it is not known here
	Line int    // of the file, from 1; 0 for none
	Err  error
}

// Error returns the text of Err.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// In adds a file as a value to an error whose text names it. Nil stays nil.
func In(file string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{File: file, Err: err}
}

// Named adds a file to an error, to its text and as a value. Nil stays nil.
func Named(file string, err error) error {
	if err == nil {
		return nil
	}
	return In(file, fmt.Errorf("%s: %w", file, err))
}

// NamedAll adds the names of all files of a table to an error: as Named for one file, and to the text only
// for several; for none the error stays as it is.
func NamedAll(files []string, err error) error {
	if len(files) == 0 || err == nil {
		return err
	}
	if len(files) == 1 {
		return Named(files[0], err)
	}
	return fmt.Errorf("%s: %w", text.List(files), err)
}

// OnLine adds a line as a value to an error whose text names it.
func OnLine(line int, err error) error { return &Error{Line: line, Err: err} }
