package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/consensus/wire"
)

// An Outcome is what a run that is complete has come to at a node.
type Outcome struct {
	Settings []wire.Setting `cbor:"Terms"`
	// Everybody says that all nodes have kept theirs: nobody needs this node any more.
	Everybody bool
	// What was printed when all had joined, and at the end.
	Heading, Report []byte
	Model, Trace    []byte // files
}

const (
	outcomeMagic = "difalt outcome 1 \n"
	doneSuffix   = ".done"
)

// DecodeOutcome returns what the content of a file of an outcome says, or an error if it is
// damaged.
func DecodeOutcome(p []byte) (*Outcome, error) {
	o := &Outcome{}
	return o, decode(outcomeMagic, p, o)
}

func (f *Folder) outcome() string { return filepath.Join(f.path, f.name+doneSuffix) }

// Finish keeps an outcome, complete and on the disk.
func (f *Folder) Finish(o *Outcome) error {
	o.Settings = f.settings
	return f.write(f.outcome(), outcomeMagic, o)
}

// Outcome returns what Finish has kept; nil if there is nothing, or nothing that can be
// used, of which report is told. It is an error if it is of other settings.
func (f *Folder) Outcome(report func(text string)) (*Outcome, error) {
	p, err := os.ReadFile(f.outcome())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	}
	o, err := DecodeOutcome(p)
	if err != nil {
		report(fmt.Sprintf("%s: %v", f.outcome(), err))
		return nil, nil
	}
	return o, f.same(f.outcome(), o.Settings)
}
