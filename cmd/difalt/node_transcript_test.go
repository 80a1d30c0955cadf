//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"math"
	"math/big"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/difalt/difalt/cmd/difalt/dataset"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	rpc "google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
)

// A recorder keeps all messages that cross an edge of a federation, both ways, in the
// clear: it stands in front of one node with its key, and has the key of the other.
type recorder struct {
	f        atomic.Pointer[federation]
	front    int // node; the other one is the next
	mu       sync.Mutex
	messages [2][][]byte // of the next one, and of front
}

func (r *recorder) identity(node int) (tls.Certificate, error) {
	key, err := cluster.ReadKey(r.f.Load().path(nodeNames[node] + ".key"))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}

// config returns the TLS of one of its two ends.
func (r *recorder) config(node int) (*tls.Config, error) {
	own, err := r.identity(node)
	return &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAnyClientCert, InsecureSkipVerify: true, NextProtos: []string{"h2"}}, err
}

// record returns where the node at address is to be dialled. The keys are there later.
func (r *recorder) record(t *testing.T, address string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := rpc.NewServer(rpc.ForceServerCodecV2(bytesAsTheyAre{}),
		rpc.Creds(credentials.NewTLS(&tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return r.config(r.front) }})),
		rpc.UnknownServiceHandler(func(_ any, s rpc.ServerStream) error { return r.forward(s, address) }))
	t.Cleanup(server.Stop)
	go func() { _ = server.Serve(l) }()
	return l.Addr().String()
}

func (r *recorder) forward(s rpc.ServerStream, address string) error {
	config, err := r.config(r.front + 1)
	if err != nil {
		return err
	}
	conn, err := rpc.NewClient("passthrough:///"+address, rpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	method, _ := rpc.MethodFromServerStream(s)
	c, err := conn.NewStream(ctx, &rpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method, rpc.ForceCodecV2(bytesAsTheyAre{}), rpc.CallContentSubtype("difalt"))
	if err != nil {
		return err
	}
	type end interface {
		SendMsg(any) error
		RecvMsg(any) error
	}
	done := make(chan error, 2)
	for k, ends := range [][2]end{{c, s}, {s, c}} {
		go func() {
			for {
				var p []byte
				err := ends[1].RecvMsg(&p)
				if err == nil {
					r.mu.Lock()
					r.messages[k] = append(r.messages[k], p)
					r.mu.Unlock()
					err = ends[0].SendMsg(&p)
				}
				if err != nil {
					done <- err
					return
				}
			}
		}()
	}
	return <-done
}

type bytesAsTheyAre struct{}

func (bytesAsTheyAre) Name() string { return "difalt" }

func (bytesAsTheyAre) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (bytesAsTheyAre) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

// TestTranscript: of all that three nodes say to each other in a whole training, greetings
// and notes included, no eight bytes are a number of a row or a coefficient, as it is in
// the table or scaled, and no text has a cell of it. What neighbours can compute from sums
// is what docs/privacy.md says, and package fit tests it on the same frames.
func TestTranscript(t *testing.T) {
	t.Parallel()
	inFull(t)
	recorders := []*recorder{{front: 0}, {front: 1}}
	next := 0
	f := newFederation(t, "path", func(address string) string {
		next++
		if next > len(recorders) {
			return address // nobody dials the last one
		}
		return recorders[next-1].record(t, address)
	})
	for _, r := range recorders {
		r.f.Store(f)
	}
	flags := []string{"--folds", "2", "--iterations", "8"}
	for i, p := range f.launch(t, flags...) {
		if code := p.code(t, time.Minute); code != 0 {
			t.Fatalf("node %d: exit code %d: %s", i, code, tail(p))
		}
	}
	sent := make([][][]byte, len(nodeNames))
	for _, r := range recorders {
		r.mu.Lock()
		sent[r.front] = append(sent[r.front], r.messages[1]...)
		sent[r.front+1] = append(sent[r.front+1], r.messages[0]...)
		r.mu.Unlock()
	}
	for i, name := range nodeNames {
		numbers, cells := f.secrets(t, name)
		frames, texts := 0, 0
		for _, p := range sent[i] {
			if len(p) > 0 && p[0] == '{' {
				texts++
				for cell := range cells {
					if strings.Contains(string(p), cell) {
						t.Errorf("%s says %q in %s", name, cell, p)
					}
				}
				continue
			}
			frames++
			for k := 0; k+8 <= len(p); k++ {
				if what, found := numbers[binary.LittleEndian.Uint64(p[k:])]; found {
					t.Fatalf("%s has sent a %s: %v", name, what, math.Float64frombits(binary.LittleEndian.Uint64(p[k:])))
				}
			}
		}
		if frames < 50 || texts < 2 || len(numbers) < 1000 || len(cells) < 200 {
			t.Errorf("%s: only %d frames and %d texts were searched for %d numbers and %d cells", name, frames, texts, len(numbers), len(cells))
		}
	}
}

// secrets returns what must not leave a node: numbers by their bits, and cells.
func (f *federation) secrets(t *testing.T, name string) (numbers map[uint64]string, cells map[string]bool) {
	t.Helper()
	m := load(t, f.path("m-"+name+".npz"))
	p := m.Parameters()
	table, err := dataset.ReadFiles([]string{f.path(name + ".csv")}, dataset.TableOptions{Task: "clinic", Target: "score", Drop: []string{"patient"}})
	if err != nil {
		t.Fatal(err)
	}
	numbers = map[uint64]string{}
	keep := func(what string, v float64) {
		if v*1024 != math.Trunc(v*1024) { // others are counts and settings as well
			numbers[math.Float64bits(v)], numbers[math.Float64bits(-v)] = what, what
		}
	}
	x := make([]float64, p.Scaling.Width())
	for i := range table.Rows() {
		for _, v := range table.X(x[:len(m.Features())], i) {
			keep("feature", v)
		}
		p.Scaling.Apply(x)
		for _, v := range x {
			keep("scaled feature", v)
		}
		keep("target", table.Y(i))
		keep("scaled target", (table.Y(i)-p.Scaling.Target)/p.Scaling.TargetScale)
	}
	for _, v := range p.Theta {
		keep("coefficient", v)
	}
	text, err := os.ReadFile(f.path(name + ".csv"))
	if err != nil {
		t.Fatal(err)
	}
	cells = map[string]bool{}
	for line := range strings.Lines(strings.SplitN(string(text), "\n", 2)[1]) {
		for _, cell := range slices.Concat(strings.Split(strings.TrimSpace(line), ","), []string{strings.TrimSpace(line)}) {
			if len(cell) > 3 {
				cells[cell] = true
			}
		}
	}
	return numbers, cells
}
