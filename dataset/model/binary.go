package model

import (
	"bytes"
	"errors"

	"github.com/difalt/difalt/dataset/internal/npz"
)

// MarshalBinary returns the file that Save writes. It implements
// encoding.BinaryMarshaler.
func (m *Model) MarshalBinary() ([]byte, error) {
	var buf bytes.Buffer
	if err := m.Write(&buf); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// UnmarshalBinary sets m to the model of a file that Save or MarshalBinary wrote,
// and leaves m as it is on an error. A file of another version is an error that says
// so. m must not be in use, and must be the zero Model: models are immutable. It
// implements encoding.BinaryUnmarshaler and does not keep data.
func (m *Model) UnmarshalBinary(data []byte) error {
	if m.rank != 0 {
		return errors.New("models are immutable: UnmarshalBinary needs a new one")
	}
	r, err := npz.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	read, err := read(r)
	if err != nil {
		return err
	}
	*m = *read
	return nil
}
