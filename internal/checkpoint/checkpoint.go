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

// A file has a State as CBOR, which unlike gob tells a number that is zero from none.
const (
	magic  = "difalt checkpoint 1\n"
	suffix = ".ckpt"
	digits = 9 // of an iteration in the name of a file
)

// decoding allows as long lists as a file can have; memory is bounded by its length.
var decoding, _ = cbor.DecOptions{MaxArrayElements: 1<<31 - 1, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed returns the content of a file: the magic, the CRC-32C of the body, and the body.
func sealed(magic string, body []byte) []byte {
	return append(binary.LittleEndian.AppendUint32([]byte(magic), crc32.Checksum(body, castagnoli)), body...)
}

// decode sets v to what the content of a file says, or returns an error if it is
// damaged, or of another kind.
func decode(magic string, p []byte, v any) error {
	header := len(magic) + 4
	switch {
	case len(p) < header || string(p[:len(magic)]) != magic:
		return errors.New("not a checkpoint of this version")
	case binary.LittleEndian.Uint32(p[len(magic):]) != crc32.Checksum(p[header:], castagnoli):
		return errors.New("damaged: another checksum")
	}
	return decoding.Unmarshal(p[header:], v)
}

// Decode returns what the content of a file of a checkpoint says, or an error if it is
// damaged. Whether the snapshot fits a run is for difalt.Solver.Restore to say.
func Decode(p []byte) (*State, error) {
	s := &State{}
	err := decode(magic, p, s)
	if err == nil && s.Snapshot == nil {
		err = errors.New("it has no snapshot")
	}
	return s, err
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
	for _, which := range []string{"-" + strings.Repeat("[0-9]", digits) + suffix, doneSuffix} {
		begun, err := filepath.Glob(filepath.Join(path, "."+name+which+".*")) // by a process that was killed
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
	if err := f.write(f.file(s.Iteration()), magic, &State{f.settings, s}); err != nil {
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

// write writes a file, and brings it and its name to the disk.
func (f *Folder) write(path, magic string, v any) error {
	body, err := cbor.Marshal(v)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, sealed(magic, body)); err != nil {
		return err
	}
	folder, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}
