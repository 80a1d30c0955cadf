// Package checkpoint keeps the state of a run in a folder: a file an iteration, of which
// each is complete and undamaged or does not count.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/difalt/difalt/internal/atomicfile"
	"github.com/fxamacker/cbor/v2"
)

// A State is what a file holds.
type State struct {
	// Settings must be the same when a run is taken up again.
	Settings []wire.Setting `cbor:"Terms"`
	Snapshot *difalt.Snapshot
}

// A file is the magic, the CRC-32C of what follows, and a State as CBOR, which unlike gob
// tells a number that is zero from none.
const (
	magic  = "difalt checkpoint 1\n"
	suffix = ".ckpt"
	digits = 9 // of an iteration in the name of a file
)

// decoding allows as long lists as a file can have; memory is bounded by its length.
var decoding, _ = cbor.DecOptions{MaxArrayElements: 1<<31 - 1, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode returns the content of a file.
func Encode(s *State) ([]byte, error) {
	body, err := cbor.Marshal(s)
	if err != nil {
		return nil, err
	}
	return sealed(magic, body), nil
}

// sealed returns a file with a body.
func sealed(magic string, body []byte) []byte {
	p := make([]byte, 0, len(magic)+4+len(body))
	p = binary.LittleEndian.AppendUint32(append(p, magic...), crc32.Checksum(body, castagnoli))
	return append(p, body...)
}

// unsealed returns the body of a file.
func unsealed(magic string, p []byte) ([]byte, error) {
	header := len(magic) + 4
	switch {
	case len(p) < header || string(p[:len(magic)]) != magic:
		return nil, errors.New("not a checkpoint of this version")
	case binary.LittleEndian.Uint32(p[len(magic):]) != crc32.Checksum(p[header:], castagnoli):
		return nil, errors.New("damaged: another checksum")
	}
	return p[header:], nil
}

// Decode returns what the content of a file says, or an error if it is not what Encode
// has written. Whether the snapshot fits a run is for difalt.Solver.Restore to say.
func Decode(p []byte) (*State, error) {
	body, err := unsealed(magic, p)
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := decoding.Unmarshal(body, s); err != nil {
		return nil, err
	}
	if s.Snapshot == nil {
		return nil, errors.New("it has no snapshot")
	}
	return s, nil
}

// A Folder holds the checkpoints of a run, those of one name among others.
type Folder struct {
	path, name string
	keep       int
	settings   []wire.Setting
}

// Open returns the checkpoints of that name in the folder path, which is made if need be,
// with the iterations of those that can be used. Every file that cannot, because it is
// damaged, is told to report. It is an error, which names what differs, if there is one of
// other settings. Of what is written later keep files are kept.
func Open(path, name string, settings []wire.Setting, keep int, report func(text string)) (*Folder, []int, error) {
	f := &Folder{path: path, name: name, keep: keep, settings: settings}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, nil, err
	}
	// What a process that was killed has begun.
	for _, which := range []string{"-" + strings.Repeat("[0-9]", digits) + suffix, ".done"} {
		begun, err := filepath.Glob(filepath.Join(path, "."+name+which+".*"))
		if err != nil {
			return nil, nil, err
		}
		for _, path := range begun {
			if err := os.Remove(path); err != nil {
				return nil, nil, err
			}
		}
	}
	all, err := f.list()
	if err != nil {
		return nil, nil, err
	}
	var usable []int
	for _, i := range all {
		s, err := f.load(i)
		var other *otherError
		switch {
		case errors.As(err, &other):
			return nil, nil, err
		case err != nil:
			report(err.Error())
		case s.Snapshot.Iteration() != i:
			report(fmt.Sprintf("%s: of iteration %d", f.file(i), s.Snapshot.Iteration()))
		default:
			usable = append(usable, i)
		}
	}
	return f, usable, nil
}

func (f *Folder) file(iteration int) string {
	return filepath.Join(f.path, fmt.Sprintf("%s-%0*d%s", f.name, digits, iteration, suffix))
}

// list returns the iterations of which there is a file, in ascending order.
func (f *Folder) list() (iterations []int, err error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, found := strings.CutPrefix(e.Name(), f.name+"-")
		number, is := strings.CutSuffix(name, suffix)
		if i, err := strconv.Atoi(number); found && is && err == nil && i > 0 && e.Name() == filepath.Base(f.file(i)) {
			iterations = append(iterations, i)
		}
	}
	slices.Sort(iterations)
	return iterations, nil
}

// Load returns the snapshot of an iteration.
func (f *Folder) Load(iteration int) (*difalt.Snapshot, error) {
	s, err := f.load(iteration)
	if err != nil {
		return nil, err
	}
	return s.Snapshot, nil
}

// An otherError says that a checkpoint is of another run.
type otherError struct{ text string }

func (e *otherError) Error() string { return e.text }

func (f *Folder) load(iteration int) (*State, error) {
	p, err := os.ReadFile(f.file(iteration))
	if err != nil {
		return nil, err
	}
	s, err := Decode(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file(iteration), err)
	}
	return s, f.same(f.file(iteration), s.Settings)
}

// same returns an error that names what is not as it was when a file was written.
func (f *Folder) same(path string, were []wire.Setting) error {
	if name, was, is := wire.FirstDifference(were, f.settings); name != "" {
		return &otherError{fmt.Sprintf("%s: %s was %s, and is %s now; to begin anew, give another folder", path, name, was, is)}
	}
	return nil
}

// Save writes a checkpoint, and removes those that are too old. What is there under a
// complete name is complete and on the disk, whatever happens meanwhile.
func (f *Folder) Save(s *difalt.Snapshot) error {
	p, err := Encode(&State{f.settings, s})
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(f.file(s.Iteration()), p); err != nil {
		return err
	}
	if err := f.sync(); err != nil {
		return err
	}
	all, err := f.list()
	if err != nil {
		return err
	}
	for len(all) > f.keep {
		if err := os.Remove(f.file(all[0])); err != nil {
			return err
		}
		all = all[1:]
	}
	return nil
}

// sync brings the names of the files to the disk.
func (f *Folder) sync() error {
	folder, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
