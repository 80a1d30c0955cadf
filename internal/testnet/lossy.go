package testnet

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/faults"
	"github.com/difalt/difalt/topology"
)

// resendAfter is how long a node waits for an acknowledgement before it sends again.
// Messages take a tenth of it, and up to three times as long if they are late.
const resendAfter = time.Millisecond

const linkStream = 0x6c696e6b // "link": random numbers apart from other uses of a seed

// ConnectFaulty is Connect over links that fail as l says and mend that by sending again:
// results have the same bits as over links without faults.
func ConnectFaulty(g *topology.Graph, groups [][]int, l faults.Links, seed uint64, o Options) ([]wire.Transport, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	return join(g, groups, func(between wire.Link) (here, there io.ReadWriteCloser) {
		a := newEnd(l, seed, uint64(between.Node*g.Len()+between.Peer))
		b := newEnd(l, seed, uint64(between.Peer*g.Len()+between.Node))
		a.peer, b.peer = b, a
		return a, b
	}, o)
}

// An end of a link sends what is written as packets, each again and again until it is
// acknowledged. It has no goroutines but while packets are under way.
type end struct {
	links  faults.Links
	peer   *end
	sent   uint64 // packets
	acked  chan uint64
	in     chan []byte // what has come and was not read
	rest   []byte      // of what is being read
	closed chan struct{}
	once   sync.Once

	mu       sync.Mutex
	received uint64 // packets
	fates    *rand.Rand
}

func newEnd(l faults.Links, seed, link uint64) *end {
	return &end{
		links: l, fates: rand.New(rand.NewPCG(seed^linkStream, link)),
		acked: make(chan uint64, 1), in: make(chan []byte, 1), closed: make(chan struct{}),
	}
}

// Write returns when the other end has p. It serves one goroutine at a time, as Read does.
func (e *end) Write(p []byte) (int, error) {
	e.sent++
	for {
		e.mu.Lock()
		e.transmit(e.sent, p)
		e.mu.Unlock()
		// An acknowledgement of an earlier packet is no reason to send again: packets that
		// call forth packets become ever more.
		for again := time.After(resendAfter); again != nil; {
			select {
			case seq := <-e.acked:
				if seq == e.sent {
					return len(p), nil
				}
			case <-again:
				again = nil
			case <-e.closed:
				return 0, io.ErrClosedPipe
			case <-e.peer.closed:
				return 0, io.ErrClosedPipe
			}
		}
	}
}

// Read returns io.EOF when the other end has closed and all that has come was read.
func (e *end) Read(p []byte) (int, error) {
	if len(e.rest) == 0 {
		select {
		case e.rest = <-e.in:
		case <-e.closed:
			return 0, io.ErrClosedPipe
		case <-e.peer.closed:
			select {
			case e.rest = <-e.in:
			default:
				return 0, io.EOF
			}
		}
	}
	n := copy(p, e.rest)
	e.rest = e.rest[n:]
	return n, nil
}

// Close may be called more than once, and while others read and write.
func (e *end) Close() error {
	e.once.Do(func() { close(e.closed) })
	return nil
}

// transmit sends a packet over the link, which may fail: its CRC-32, its number, and what
// is written, or nothing to acknowledge the packet of that number. The lock is held.
func (e *end) transmit(seq uint64, data []byte) {
	p := binary.LittleEndian.AppendUint64(make([]byte, 4), seq)
	p = append(p, data...)
	binary.LittleEndian.PutUint32(p, crc32.ChecksumIEEE(p[4:]))
	copies := 1
	if e.fates.Float64() < e.links.Duplicate {
		copies = 2
	}
	for range copies {
		fate, delay := e.fates.Float64(), resendAfter/10
		q := slices.Clone(p)
		switch l := e.links; {
		case fate < l.Loss:
			continue
		case fate < l.Loss+l.Delay:
			delay = resendAfter + time.Duration(e.fates.Int64N(int64(2*resendAfter)))
		case fate < l.Loss+l.Delay+l.Corrupt:
			bit := e.fates.IntN(8 * len(q))
			q[bit/8] ^= 1 << (bit % 8)
		}
		time.AfterFunc(delay, func() { e.peer.arrive(q) })
	}
}

// arrive takes a packet. What is damaged, or finds no room, counts as lost.
func (e *end) arrive(p []byte) {
	if binary.LittleEndian.Uint32(p) != crc32.ChecksumIEEE(p[4:]) {
		return
	}
	seq, data := binary.LittleEndian.Uint64(p[4:]), p[12:]
	if len(data) == 0 {
		select {
		case e.acked <- seq:
		default:
		}
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if seq == e.received+1 {
		select {
		case e.in <- data:
			e.received++
		default:
			return
		}
	}
	e.transmit(seq, nil)
}
