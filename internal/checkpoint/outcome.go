package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/fxamacker/cbor/v2"
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

const outcomeMagic = "difalt outcome 1 \n"

// EncodeOutcome returns the content of a file.
func EncodeOutcome(o *Outcome) ([]byte, error) {
	body, err := cbor.Marshal(o)
	if err != nil {
		return nil, err
	}
	return sealed(outcomeMagic, body), nil
}

// DecodeOutcome returns what the content of a file says, or an error if it is not what
// EncodeOutcome has written.
func DecodeOutcome(p []byte) (*Outcome, error) {
	body, err := unsealed(outcomeMagic, p)
	if err != nil {
		return nil, err
	}
	o := &Outcome{}
	return o, decoding.Unmarshal(body, o)
}

func (f *Folder) outcome() string { return filepath.Join(f.path, f.name+".done") }

// Finish keeps an outcome, complete and on the disk.
func (f *Folder) Finish(o *Outcome) error {
	o.Settings = f.settings
	p, err := EncodeOutcome(o)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(f.outcome(), p); err != nil {
		return err
	}
	return f.sync()
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
