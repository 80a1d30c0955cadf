package difalt

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"

	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/kernel/lsq"
)

// A saved model is, in little-endian numbers: modelMagic; the header; U by columns, B and the intercepts, if
// there are some, as float64; a byte for the status of every task; and the CRC-32 (IEEE) of all of it.
const (
	modelMagic   = "difalt model\n"
	modelVersion = 1
)

// A modelHeader describes a saved model.
type modelHeader struct {
	Version                           uint32
	HasIntercepts                     bool
	Status                            Status
	Iterations, Features, Rank, Tasks uint64
	Ridge, Residual, StatisticalError float64
}

// Save writes the model to w, in a form that LoadModel reads on any machine. It returns an error for a model
// that LoadModel would refuse: its parts do not fit together, or hold numbers that are not finite or out of
// range.
func (m *Model) Save(w io.Writer) error {
	if w == nil {
		return errors.New("difalt: need a writer")
	}
	if err := m.check(); err != nil {
		return err
	}
	d, r := m.U.Dims()
	h := modelHeader{
		Version: modelVersion, HasIntercepts: m.Intercepts != nil, Status: m.Status, Iterations: uint64(m.Iterations),
		Features: uint64(d), Rank: uint64(r), Tasks: uint64(m.Len()),
		Ridge: m.Ridge, Residual: m.Residual, StatisticalError: m.StatisticalError,
	}
	if m.Iterations < 0 {
		return fmt.Errorf("difalt: the model has %d iterations", m.Iterations)
	}
	if err := h.check(); err != nil {
		return fmt.Errorf("difalt: model: %w", err)
	}
	for t, status := range m.Tasks {
		if err := checkStatus(t, byte(status)); err != nil {
			return fmt.Errorf("difalt: model: %w", err)
		}
	}
	sum, buffer := crc32.NewIEEE(), bufio.NewWriter(w)
	both := io.MultiWriter(buffer, sum)
	parts := []any{[]byte(modelMagic), h}
	for j := range r {
		parts = append(parts, m.U.Col(j))
	}
	parts = append(parts, m.B, m.Intercepts, m.Tasks)
	for _, part := range parts {
		if err := binary.Write(both, binary.LittleEndian, part); err != nil {
			return err
		}
	}
	if err := binary.Write(buffer, binary.LittleEndian, sum.Sum32()); err != nil {
		return err
	}
	return buffer.Flush()
}

// LoadModel reads a model that Save wrote, and nothing behind it if r is an io.ByteReader. It returns an
// error for another version, for sizes that do not fit, for numbers that are not finite, and for bytes that
// changed. It takes at most 1 MiB and sixteen times the bytes that r has.
func LoadModel(r io.Reader) (*Model, error) {
	if r == nil {
		return nil, errors.New("difalt: need a reader")
	}
	m, err := loadModel(r)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the file ends too early")
	}
	if err != nil {
		return nil, fmt.Errorf("difalt: model: %w", err)
	}
	return m, nil
}

// A modelReader reads numbers and keeps their check sum.
type modelReader struct {
	from io.Reader
	sum  hash.Hash32
}

func (r *modelReader) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	r.sum.Write(b[:n])
	return n, err
}

func loadModel(from io.Reader) (*Model, error) {
	if _, ok := from.(io.ByteReader); !ok {
		from = bufio.NewReader(from)
	}
	r := &modelReader{from, crc32.NewIEEE()}
	magic := make([]byte, len(modelMagic))
	if _, err := io.ReadFull(r, magic); err != nil {
		return nil, err
	}
	if string(magic) != modelMagic {
		return nil, errors.New("this is no model")
	}
	var h modelHeader
	if err := binary.Read(r, binary.LittleEndian, &h); err != nil {
		return nil, err
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	d, rank, tasks := int(h.Features), int(h.Rank), int(h.Tasks)
	entries, err := r.numbers(d * rank)
	if err != nil {
		return nil, err
	}
	m := &Model{
		U: kernel.NewBasis(d, rank), Ridge: h.Ridge,
		Status: h.Status, Iterations: int(h.Iterations), Residual: h.Residual, StatisticalError: h.StatisticalError,
	}
	for j := range rank {
		copy(m.U.Col(j), entries[j*d:])
	}
	if m.B, err = r.numbers(tasks * rank); err != nil {
		return nil, err
	}
	if h.HasIntercepts {
		if m.Intercepts, err = r.numbers(tasks); err != nil {
			return nil, err
		}
	}
	if m.Tasks, err = r.statuses(tasks); err != nil {
		return nil, err
	}
	want := r.sum.Sum32()
	var sum uint32
	if err := binary.Read(r.from, binary.LittleEndian, &sum); err != nil {
		return nil, err
	}
	if sum != want {
		return nil, errors.New("the check sum differs: bytes were changed")
	}
	return m, m.check()
}

// check returns an error for another version, and for sizes that no model has.
func (h *modelHeader) check() error {
	const most = min(1<<40, math.MaxInt/16) // entries of U and of B
	switch {
	case h.Version != modelVersion:
		return fmt.Errorf("the version is %d: must be %d", h.Version, modelVersion)
	case h.Rank == 0 || h.Rank > h.Features:
		return fmt.Errorf("the rank is %d, with %d features", h.Rank, h.Features)
	case h.Features > most/h.Rank || h.Tasks > most/h.Rank || h.Iterations > MaxIterations:
		return fmt.Errorf("%d features, %d tasks and %d iterations are too many", h.Features, h.Tasks, h.Iterations)
	case int(h.Status) >= len(statusNames):
		return fmt.Errorf("the status is %d", h.Status)
	case h.Residual < 0 || math.IsInf(h.Residual, 0) || h.StatisticalError < 0:
		return fmt.Errorf("the residual is %v, the statistical error %v", h.Residual, h.StatisticalError)
	}
	return nil
}

// piece is the number of entries for which memory is taken before they are read.
const piece = 1 << 12

// numbers reads n numbers. It takes memory as they come, whatever n.
func (r *modelReader) numbers(n int) (list []float64, err error) {
	list = make([]float64, 0, min(n, piece))
	buffer := make([]float64, min(n, piece))
	for len(list) < n {
		part := buffer[:min(n-len(list), piece)]
		if err := binary.Read(r, binary.LittleEndian, part); err != nil {
			return nil, err
		}
		list = append(list, part...)
	}
	return list, nil
}

// checkStatus returns an error for a status that no task has.
func checkStatus(task int, status byte) error {
	if status > byte(lsq.NotFinite) {
		return fmt.Errorf("the status of task %d is %d", task, status)
	}
	return nil
}

// statuses reads the statuses of n tasks, and takes memory as they come.
func (r *modelReader) statuses(n int) (list []lsq.Status, err error) {
	list = make([]lsq.Status, 0, min(n, piece))
	buffer := make([]byte, min(n, piece))
	for len(list) < n {
		part := buffer[:min(n-len(list), piece)]
		if _, err := io.ReadFull(r, part); err != nil {
			return nil, err
		}
		for _, b := range part {
			if err := checkStatus(len(list), b); err != nil {
				return nil, err
			}
			list = append(list, lsq.Status(b))
		}
	}
	return list, nil
}
