package testnet_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/difalt/difalt/consensus"
	"github.com/difalt/difalt/consensus/wire"
	"github.com/difalt/difalt/internal/testnet"
	"github.com/difalt/difalt/kernel"
	"github.com/difalt/difalt/topology"
)

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ring(t testing.TB, nodes int) *topology.Weights {
	g := must[*topology.Graph](t)(topology.Ring(nodes))
	return must[*topology.Weights](t)(topology.NewWeights(g, topology.Metropolis))
}

// frame returns a whole frame of the network, by listening to a Sum.
func frame(t testing.TB, w *topology.Weights) []byte {
	var p []byte
	n := must[*consensus.Network](t)(consensus.New(w, listener{&p}))
	if err := n.Sum(t.Context(), [][]float64{{1}}); !errors.Is(err, errHeard) {
		t.Fatal(err)
	}
	return p
}

type listener struct{ p *[]byte }

var errHeard = errors.New("heard")

func (l listener) Hosted() []int { return []int{1} }
func (l listener) Close() error  { return nil }
func (l listener) Exchange(_ context.Context, _ uint64, out, _ [][]byte) error {
	*l.p = append([]byte(nil), out[0]...)
	return errHeard
}

// pair returns a transport of node 0 of two, and the other end of its only link.
func pair(t testing.TB, o testnet.Options) (wire.Transport, net.Conn) {
	here, there := net.Pipe()
	tr := must[wire.Transport](t)(testnet.New(ring(t, 2).Graph(), []int{0}, []io.ReadWriteCloser{here}, o))
	return tr, there
}

// TestFailures: whatever the peer does, Exchange returns the right error, again if it
// is asked again, and Close leaves no goroutine (the bubble sees to that).
func TestFailures(t *testing.T) {
	w := ring(t, 2)
	good := frame(t, w)
	huge := append([]byte(nil), good...)
	binary.LittleEndian.PutUint32(huge[48:], 1<<30)
	for name, x := range map[string]struct {
		peer func(c net.Conn)
		kind wire.Kind
		text string
	}{
		"closes":             {func(c net.Conn) { c.Close() }, wire.Closed, "EOF"},
		"closes in a header": {func(c net.Conn) { c.Write(good[:20]); c.Close() }, wire.Closed, "unexpected EOF"},
		"closes in a frame":  {func(c net.Conn) { c.Write(good[:60]); c.Close() }, wire.Closed, "unexpected EOF"},
		"is silent":          {func(c net.Conn) { io.Copy(io.Discard, c) }, wire.Timeout, ""},
		"reads nothing":      {func(net.Conn) {}, wire.Timeout, ""},
		"is a web browser":   {func(c net.Conn) { c.Write([]byte("GET / HTTP/1.1\r\n" + strings.Repeat("x", 50))) }, wire.Corrupt, "begins with"},
		"claims too much":    {func(c net.Conn) { c.Write(huge) }, wire.Corrupt, "more than"},
	} {
		synctest.Test(t, func(t *testing.T) {
			tr, conn := pair(t, testnet.Options{RoundTimeout: time.Second})
			go x.peer(conn)
			for range 2 {
				err := tr.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1))
				var peer *wire.PeerError
				if !errors.As(err, &peer) || peer.Kind != x.kind || peer.Peer != 1 || !strings.Contains(err.Error(), x.text) {
					t.Errorf("a peer that %s: %v", name, err)
				}
			}
			tr.Close()
			if err := tr.Exchange(t.Context(), 0, [][]byte{good}, make([][]byte, 1)); !errors.Is(err, testnet.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
			conn.Close()
		})
	}
}

// TestTakesNothing: a peer that sends but does not read cannot fill our memory.
func TestTakesNothing(t *testing.T) {
	good := frame(t, ring(t, 2))
	synctest.Test(t, func(t *testing.T) {
		tr, conn := pair(t, testnet.Options{RoundTimeout: time.Second})
		go func() {
			for range 3 {
				conn.Write(good)
			}
		}()
		in := make([][]byte, 1)
		for seq := range uint64(2) {
			if err := tr.Exchange(t.Context(), seq, [][]byte{good}, in); err != nil {
				t.Error(err)
			}
		}
		var peer *wire.PeerError
		if err := tr.Exchange(t.Context(), 2, [][]byte{good}, in); !errors.As(err, &peer) || peer.Kind != wire.Timeout || !strings.Contains(err.Error(), "does not take") {
			t.Error(err)
		}
		tr.Close()
		conn.Close()
	})
}

// TestCaller: what the caller's context says is returned as it is, never as a failure
// of the peer, and the exchange can be taken up again.
func TestCaller(t *testing.T) {
	good := frame(t, ring(t, 2))
	synctest.Test(t, func(t *testing.T) {
		tr, conn := pair(t, testnet.Options{RoundTimeout: time.Minute})
		in := make([][]byte, 1)
		var peer *wire.PeerError
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := tr.Exchange(ctx, 0, [][]byte{good}, in); !errors.Is(err, context.DeadlineExceeded) || errors.As(err, &peer) {
			t.Errorf("deadline of the caller: %v", err)
		}
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		if err := tr.Exchange(ctx, 0, [][]byte{good}, in); !errors.Is(err, context.Canceled) || errors.As(err, &peer) {
			t.Errorf("cancelled: %v", err)
		}
		go func() {
			got := make([]byte, len(good))
			io.ReadFull(conn, got) // sent once, however often it was asked for
			if string(got) != string(good) {
				t.Errorf("the peer reads %x", got)
			}
			conn.Write(good)
			if rest, err := io.ReadAll(conn); string(rest) != "next" || err != nil {
				t.Errorf("after its frame the peer reads %q, %v", rest, err)
			}
		}()
		if err := tr.Exchange(t.Context(), 0, [][]byte{good}, in); err != nil || string(in[0]) != string(good) {
			t.Errorf("%x, %v", in[0], err)
		}
		waiting := make(chan error)
		go func() { waiting <- tr.Exchange(t.Context(), 1, [][]byte{[]byte("next")}, in) }()
		synctest.Wait()
		tr.Close()
		tr.Close()
		if err := <-waiting; !errors.Is(err, testnet.ErrClosed) {
			t.Errorf("closed while it waits: %v", err)
		}
		conn.Close()
	})
}

// TestMemory: a frame that claims a gigabyte takes no more memory than has come.
func TestMemory(t *testing.T) {
	huge := frame(t, ring(t, 2))
	binary.LittleEndian.PutUint32(huge[48:], 1<<30-100)
	n := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			tr, conn := pair(t, testnet.Options{})
			conn.Write(huge)
			conn.Close()
			if err := tr.Exchange(t.Context(), 0, [][]byte{nil}, make([][]byte, 1)); err == nil {
				b.Error("no error")
			}
			tr.Close()
		}
	}).AllocedBytesPerOp()
	if n > 1<<20 {
		t.Errorf("%d bytes for a frame that does not come", n)
	}
}

func TestNewErrors(t *testing.T) {
	if _, err := testnet.New(ring(t, 5).Graph(), []int{0, 1}, nil, testnet.Options{}); err == nil || !strings.Contains(err.Error(), "0 connections for the 2 links") {
		t.Error(err)
	}
}

// duplex is one end of two pipes of the operating system.
type duplex struct{ r, w *os.File }

func (d duplex) Read(p []byte) (int, error)  { return d.r.Read(p) }
func (d duplex) Write(p []byte) (int, error) { return d.w.Write(p) }
func (d duplex) Close() error                { return errors.Join(d.r.Close(), d.w.Close()) }

// hosted are the nodes of the two processes of TestProcesses, joined by two links.
var hosted = [][]int{{0, 1}, {2, 3}}

// work agrees over a transport, and returns the bits of what comes of it.
func work(t *testing.T, tr wire.Transport) string {
	int4 := must[consensus.Codec](t)(consensus.ParseCodec("int4"))
	n := must[*consensus.Network](t)(consensus.New(ring(t, 4), tr))
	m := must[*consensus.Mixer](t)(n.NewMixer(consensus.Agreement{Codec: int4, RoundByRound: true}, nil))
	z := make([]consensus.Message, len(n.Hosted()))
	for i, node := range n.Hosted() {
		z[i] = consensus.Message{Basis: kernel.NewBasis(50, 2), Stream: consensus.StreamBasis}
		z[i].Basis.Col(1)[node] = 1 / float64(node+3)
	}
	sum := make([][]float64, len(z))
	for i := range z {
		if err := m.Mix(t.Context(), z, 20); err != nil {
			t.Fatal(err)
		}
		sum[i] = z[i].Basis.Col(1)[:4]
	}
	if err := n.Sum(t.Context(), sum); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sum[0])
}

// TestProcesses: two processes, joined by pipes, come to the bits of one.
func TestProcesses(t *testing.T) {
	const child = "DIFALT_TEST_CHILD"
	g := ring(t, 4).Graph()
	if os.Getenv(child) != "" {
		conns := []io.ReadWriteCloser{duplex{os.NewFile(3, ""), os.NewFile(4, "")}, duplex{os.NewFile(5, ""), os.NewFile(6, "")}}
		tr := must[wire.Transport](t)(testnet.New(g, hosted[1], conns, testnet.Options{RoundTimeout: time.Minute}))
		fmt.Println(work(t, tr))
		tr.Close()
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=TestProcesses", "-test.v")
	cmd.Env = append(os.Environ(), child+"=1")
	// Links in the order of wire.Links: 0-3 and 1-2 here, 2-1 and 3-0 there.
	ends := make([]io.ReadWriteCloser, 2)
	for k := range ends {
		fromHere, toThere, err := os.Pipe()
		fromThere, toHere, err2 := os.Pipe()
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = append([]*os.File{fromHere, toHere}, cmd.ExtraFiles...)
		ends[k] = duplex{fromThere, toThere}
	}
	tr := must[wire.Transport](t)(testnet.New(g, hosted[0], ends, testnet.Options{RoundTimeout: time.Minute}))
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range cmd.ExtraFiles {
		f.Close()
	}
	got := work(t, tr)
	tr.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if want := work(t, nil); got != want || !strings.Contains(out.String(), want) {
		t.Errorf("%s here, %s there, want %s", got, out.String(), want)
	}
}
