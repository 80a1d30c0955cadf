package testnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/big"
	"math/bits"
	"slices"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/topology"
)

// A Change is a difference between two runs in a message of a sum of whole numbers: the number of its
// entries, and the Euclidean length of the difference.
type Change struct {
	Numbers int
	Length  float64
}

// Neighbours runs a network twice with one process a node and without masks; the second run uses the second
// of two data sets. It returns the changes in the numbers of sums on all links, and an error for any other
// difference: in another byte, in the number of frames or in a length.
func Neighbours(g *topology.Graph, run func(node int, t wire.Transport, second bool) error) (changes []Change, err error) {
	before, err := transcripts(g, nil, func(node int, t wire.Transport) error { return run(node, t, false) })
	if err != nil {
		return nil, err
	}
	after, err := transcripts(g, nil, func(node int, t wire.Transport) error { return run(node, t, true) })
	if err != nil {
		return nil, err
	}
	err = differing(before, after, func(node, round, link int, p, q []byte) error {
		if bytes.Equal(p[:2], q[:2]) && bytes.Equal(Frame(p).Code(), Frame(q).Code()) {
			return nil // only the tags differ, which follow from totals
		}
		change, err := changed(p, q, g.Len())
		if err != nil {
			return fmt.Errorf("testnet: node %d, frame %d on link %d: %w", node, round, link, err)
		}
		changes = append(changes, change)
		return nil
	})
	return changes, err
}

// changed returns the difference between two frames of a sum over the given number of nodes.
func changed(p, q []byte, nodes int) (Change, error) {
	if len(p) != len(q) || len(p) == 0 {
		return Change{}, fmt.Errorf("%d and %d bytes differ", len(p), len(q))
	}
	channel, code, next := Frame(p).Channel(), Frame(p).Code(), Frame(q).Code()
	if !bytes.Equal(p[:2], q[:2]) {
		return Change{}, errors.New("the headers differ")
	}
	if channel != wire.Sum {
		return Change{}, fmt.Errorf("%v differs", channel)
	}
	// Numbers of 192 bits, a count and a check go up; numbers of 64 bits and a byte come down.
	p, q = code, next
	status := (bits.Len(uint(nodes))+1+7)/8 + 8
	squares := 0.0
	switch up := len(p) - status; {
	case up%24 == 0:
		for k := 0; k < up; k += 24 {
			d := new(big.Float).SetInt(new(big.Int).Sub(integer(p[k:][:24]), integer(q[k:][:24])))
			x, _ := d.SetMantExp(d, 65+bits.Len(uint(nodes-1))-192).Float64()
			if x != math.Trunc(x) {
				return Change{}, fmt.Errorf("number %d is %v units off", k/24, x)
			}
			squares += x * x
		}
		if !bytes.Equal(p[up:], q[up:]) {
			return Change{}, fmt.Errorf("the status differs: %x and %x", p[up:], q[up:])
		}
		return Change{up / 24, math.Sqrt(squares)}, nil
	case len(p)%8 == 1:
		for k := 0; k+8 < len(p); k += 8 {
			x := math.Float64frombits(binary.LittleEndian.Uint64(p[k:])) - math.Float64frombits(binary.LittleEndian.Uint64(q[k:]))
			squares += x * x
		}
		if p[len(p)-1] != q[len(q)-1] {
			return Change{}, fmt.Errorf("the outcome differs")
		}
		return Change{len(p) / 8, math.Sqrt(squares)}, nil
	}
	return Change{}, fmt.Errorf("a sum of %d bytes is of another form", len(p))
}

// integer reads a number in two's complement, the lowest byte first.
func integer(p []byte) *big.Int {
	highest := slices.Clone(p)
	slices.Reverse(highest)
	x := new(big.Int).SetBytes(highest)
	if highest[0] >= 0x80 {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return x
}

// Seal gives a frame the checksum of frame number n of o.
func Seal(p []byte, o wire.Origin, n uint64) []byte {
	known := []byte{4} // the version
	known = binary.LittleEndian.AppendUint64(known, o.Run)
	known = binary.LittleEndian.AppendUint32(known, uint32(o.Node))
	table, end := crc32.MakeTable(crc32.Castagnoli), len(p)-4
	sum := crc32.Update(crc32.Checksum(known, table)^uint32(n), table, p[:end])
	binary.LittleEndian.PutUint32(p[end:], sum)
	return p
}
