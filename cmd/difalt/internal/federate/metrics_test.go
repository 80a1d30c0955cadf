package federate

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/testnet"
)

// TestMetricsCrowd: who keeps connections to the metrics open, idle, in the middle of a request
// or after one, keeps few of them, and the monitor is answered all the same.
func TestMetricsCrowd(t *testing.T) {
	address := testnet.FreeAddress()
	stop, err := serveMetrics(address, &status{log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	var all []net.Conn
	for _, says := range []string{"", "GET /metrics HTTP/1.1\r\nX: ", "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"} {
		for range 100 {
			c, err := net.Dial("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			_, _ = io.WriteString(c, says)
			all = append(all, c)
		}
	}
	began := time.Now()
	r, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if d := time.Since(began); r.StatusCode != http.StatusOK || d > 5*time.Second {
		t.Errorf("answered %d after %v", r.StatusCode, d)
	}
	open := 0
	for _, c := range all {
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			open++
		}
	}
	if open > mostMonitors {
		t.Errorf("%d connections are open", open)
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("y", 60_000)+"\r\n\r\n")
	answer, _ := io.ReadAll(c)
	if !strings.Contains(string(answer), " 431 ") {
		t.Errorf("60 kB of headers: %.80s", answer)
	}
}
