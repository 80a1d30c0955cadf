package dataset

import (
	"fmt"
	"strings"

	"github.com/agnivade/levenshtein"
)

// A FormatError is a place of a file that can be read in several ways, or in none,
// until an option says how.
type FormatError struct {
	// Option is the field of TableOptions that decides it.
	Option string
	// Values are what it may be set to; for Categorical, what to add to it.
	Values []string

	err error
}

func (e *FormatError) Error() string { return e.err.Error() }

func (e *FormatError) Unwrap() error { return e.err }

// formatErrorf returns a FormatError.
func formatErrorf(option string, values []string, format string, args ...any) error {
	return &FormatError{option, values, fmt.Errorf(format, args...)}
}

// suggestion returns words about the one of the names that a wrong one may stand for, or
// nothing if none is like it.
func suggestion(wrong string, names []string) string {
	best, least := "", 0
	for _, name := range names {
		d := levenshtein.ComputeDistance(strings.ToLower(clip(wrong)), strings.ToLower(clip(name)))
		if limit := (min(len(wrong), len(name)) + 1) / 3; d <= limit && (best == "" || d < least) {
			best, least = name, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", clip(best))
}
