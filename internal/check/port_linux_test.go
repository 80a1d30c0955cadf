package check_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/difalt/difalt/internal/check"
)

// A port stays with the test after its listener is closed: the system gives it to nobody else, refuses
// connections, and lets the test listen again, also beside a connection of the first listener.
func TestListen(t *testing.T) {
	first := check.Listen(t)
	address := first.Addr().String()
	check.Done(first.Close())
	// Another program that asks for any port is given none that a bound socket has, unless both allow it.
	other := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) {
			err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0)
		}), err)
	}}
	if l, err := other.Listen(t.Context(), "tcp", address); err == nil {
		l.Close()
		t.Errorf("%s is free for others", address)
	}
	if c, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v, %v: a connection where nobody listens", c, err)
	}
	for range 2 {
		l := check.OK(net.Listen("tcp", address))
		out := check.OK(net.Dial("tcp", address))
		defer out.Close()
		in := check.OK(l.Accept())
		defer in.Close()
		check.Done(l.Close())
	}
}
