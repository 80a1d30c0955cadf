package testnet

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
)

// Ports from lowPort on are registered ones: no connection that begins on this machine takes one of them,
// as it may a port that was free a moment ago.
const lowPort, ports = 16384, 16384

var port atomic.Uint32

func init() { port.Store(rand.Uint32N(ports)) } // other processes run tests, too

// FreeAddress returns an address of loopback at which nobody listens, another one each time.
func FreeAddress() string {
	for {
		address := fmt.Sprintf("127.0.0.1:%d", lowPort+port.Add(1)%ports)
		if l, err := net.Listen("tcp", address); err == nil {
			l.Close()
			return address
		}
	}
}

// A Buffer is a bytes.Buffer for several goroutines.
type Buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
