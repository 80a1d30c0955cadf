// Package checkpoint keeps the state of a run in a folder: a file an iteration, of which
// each is complete and undamaged or does not count, and says of which run it is.
package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/difalt/difalt/cmd/difalt/internal/atomicfile"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/difalt"
	"github.com/fxamacker/cbor/v2"
)

// A State is what a file holds.
type State struct {
	// Settings must be the same when a run is taken up again.
	Settings []wire.Setting `cbor:"Terms"`
	// Run is the random number of the training that it is of.
	Run      uint64
	Snapshot *difalt.Snapshot
}

// A Point is where a training can be taken up: an iteration of a run. Checkpoints of one
// run that nodes have of one iteration belong together; those of two runs do not.
type Point struct {
	Run       uint64
	Iteration int
}

// A file has a State as CBOR, which unlike gob tells a number that is zero from none.
const (
	magic  = "difalt checkpoint 2\n"
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

// A Folder holds the checkpoints of one name among others, at most those of a run and of the
// one before that has not come to a checkpoint yet.
type Folder struct {
	path, name string
	keep       int
	settings   []wire.Setting
	points     []Point // that can be taken up, in ascending order of iterations
	known      []int   // iterations of files, those that cannot be used too
	run        uint64  // that is under way
	begun      bool    // it has no checkpoint yet, and those that are there are of other runs
}

// Open returns the checkpoints of that name in the folder path, which is made if need be.
// Every file that cannot be used, because it is damaged, is told to report. It is an error,
// which names what differs, if there is one of other settings. Of what is written later keep
// files are kept.
func Open(path, name string, settings []wire.Setting, keep int, report func(text string)) (f *Folder, err error) {
	f = &Folder{path: path, name: name, keep: keep, settings: settings}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	if err := atomicfile.Tidy(path, f.owns); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if i, own := f.iterationOf(e.Name()); own {
			f.known = append(f.known, i)
		}
	}
	slices.Sort(f.known)
	for _, i := range f.known {
		s, err := f.read(i)
		if err != nil {
			report(err.Error())
			continue
		}
		if err := f.same(f.file(i), s.Settings); err != nil {
			return nil, err
		}
		if s.Snapshot.Iteration() != i {
			report(fmt.Sprintf("%s: of iteration %d", f.file(i), s.Snapshot.Iteration()))
			continue
		}
		f.points = append(f.points, Point{s.Run, i})
	}
	return f, nil
}

// Points returns where a training can be taken up, in ascending order of iterations.
func (f *Folder) Points() []Point { return f.points }

// Begin says where the training goes on that Save will keep. What is of other runs, or above
// that iteration, is in nobody's way but belongs to nothing any more: it is removed, except
// that a run that begins anew leaves all as it is until it has a checkpoint of its own. So who
// has started it by mistake, without the folder of one node, has lost nothing yet.
func (f *Folder) Begin(p Point) error {
	f.run, f.begun = p.Run, p.Iteration == 0
	if f.begun {
		return nil
	}
	f.points = slices.DeleteFunc(f.points, func(q Point) bool { return q.Run != p.Run || q.Iteration > p.Iteration })
	return f.tidy()
}

func (f *Folder) file(iteration int) string {
	return filepath.Join(f.path, fmt.Sprintf("%s-%0*d%s", f.name, digits, iteration, suffix))
}

// iterationOf returns the iteration that the name of a file says, and whether it is one of f.
func (f *Folder) iterationOf(name string) (iteration int, own bool) {
	rest, found := strings.CutPrefix(name, f.name+"-")
	number, is := strings.CutSuffix(rest, suffix)
	i, err := strconv.Atoi(number)
	return i, found && is && err == nil && i > 0 && name == filepath.Base(f.file(i))
}

// owns reports whether a file of that name is one of f.
func (f *Folder) owns(name string) bool {
	_, own := f.iterationOf(name)
	return own || name == filepath.Base(f.outcome())
}

// Load returns the snapshot of an iteration.
func (f *Folder) Load(iteration int) (*difalt.Snapshot, error) {
	s, err := f.read(iteration)
	if err == nil {
		err = f.same(f.file(iteration), s.Settings)
	}
	if err != nil {
		return nil, err
	}
	return s.Snapshot, nil
}

func (f *Folder) read(iteration int) (*State, error) {
	p, err := os.ReadFile(f.file(iteration))
	if err != nil {
		return nil, err
	}
	s, err := Decode(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.file(iteration), err)
	}
	return s, nil
}

// same returns an error that names what is not as it was when a file was written.
func (f *Folder) same(path string, were []wire.Setting) error {
	if name, was, is := wire.FirstDifference(were, f.settings); name != "" {
		return fmt.Errorf("%s: %s was %s, and is %s now; to begin anew, give another folder", path, name, was, is)
	}
	return nil
}

// Save writes a checkpoint, and removes those that are too old, or of a run before this one.
// What is there under a complete name is complete and on the disk, whatever happens meanwhile.
func (f *Folder) Save(s *difalt.Snapshot) error {
	if err := f.write(f.file(s.Iteration()), magic, &State{f.settings, f.run, s}); err != nil {
		return err
	}
	if f.begun {
		f.begun, f.points = false, nil
		if err := os.Remove(f.outcome()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	here := Point{f.run, s.Iteration()}
	f.points = append(slices.DeleteFunc(f.points, func(p Point) bool { return p == here }), here)
	f.points = f.points[max(len(f.points)-f.keep, 0):]
	f.known = append(f.known, s.Iteration())
	return f.tidy()
}

// tidy removes the files of checkpoints that are no points any more. Of those that another process
// has written since it knows nothing: one that was stopped, and goes on after another has taken
// its place, takes nothing from it.
func (f *Folder) tidy() error {
	for _, i := range f.known {
		if slices.ContainsFunc(f.points, func(p Point) bool { return p.Iteration == i }) {
			continue
		}
		if err := os.Remove(f.file(i)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	f.known = f.known[:0]
	for _, p := range f.points {
		f.known = append(f.known, p.Iteration)
	}
	return nil
}

// write writes a file, and brings it and its name to the disk.
func (f *Folder) write(path, magic string, v any) error {
	body, err := cbor.Marshal(v)
	if err != nil {
		return err
	}
	if err := atomicfile.WriteFile(path, sealed(magic, body), atomicfile.Secret); err != nil {
		return err
	}
	folder, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

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
