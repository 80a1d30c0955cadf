//go:build unix

package main

import (
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// cutting stands in front of an address, and cuts the first few connections after some
// bytes, by a seed. It counts the cuts.
func cutting(t *testing.T, target string, seed uint64, done *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		rng := rand.New(rand.NewPCG(seed, 2))
		for left := 4; ; left-- {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				left++
				continue
			}
			limit := int64(1 << 60)
			if left > 0 {
				limit = 4_000 + rng.Int64N(20_000)
			}
			for _, ends := range [][2]net.Conn{{out, in}, {in, out}} {
				go func() {
					if n, _ := io.CopyN(ends[0], ends[1], limit); n == limit {
						done.Add(1)
					}
					in.Close()
					out.Close()
				}()
			}
		}
	}()
	return l.Addr().String()
}

// TestConnectionsCut: when connections are cut in the middle of a run, the models have
// the same bits.
func TestConnectionsCut(t *testing.T) {
	t.Parallel()
	inFull(t)
	var cuts atomic.Int64
	seed := uint64(0)
	f := newFederation(t, "ring", func(address string) string {
		seed++
		return cutting(t, address, seed, &cuts)
	})
	flags := []string{"--iterations", "150", "--method", "dif", "--starts", "1", "--rank", "2", "--ridge", "2", "--agree", "plain", "--compress", "int8"}
	for i, p := range f.launch(t, flags...) {
		if code := p.code(t, 40*time.Second); code != 0 {
			t.Fatalf("node %d: exit code %d: %s", i, code, tail(p))
		}
	}
	if n := cuts.Load(); n < 4 {
		t.Errorf("only %d connections were cut", n)
	}
	f.sameBits(t, "connections cut", f.whole(t, "ring", flags...))
}
