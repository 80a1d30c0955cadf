//go:build unix

package main

import (
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/difalt/difalt/internal/testnet"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// TestMetrics: figures that agree with what the node does, from when it starts; ready means
// that all neighbours are connected. The log is JSON if asked for.
func TestMetrics(t *testing.T) {
	t.Parallel()
	f := newFederation(t, "path", nil)
	address := testnet.FreeAddress()
	get := func(path string) (int, string) {
		t.Helper()
		for range 500 {
			r, err := http.Get("http://" + address + path)
			if err == nil {
				defer r.Body.Close()
				text, err := io.ReadAll(r.Body)
				if err != nil {
					t.Fatal(err)
				}
				return r.StatusCode, string(text)
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("nobody serves metrics")
		return 0, ""
	}
	list := []*process{nil, launch(t, f.arguments(1, append(long, "--metrics", address, "--log", "json")...)...), nil}
	if code, _ := get("/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("alone, and ready: %d", code)
	}
	if code, _ := get("/healthz"); code != http.StatusOK {
		t.Errorf("not healthy: %d", code)
	}
	list[0], list[2] = launch(t, f.arguments(0, long...)...), launch(t, f.arguments(2, long...)...)
	list[1].said(t, `"stage":"iterations"`)
	value := func(text, name string) float64 {
		t.Helper()
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(text)
		if m == nil {
			t.Fatalf("no %s in\n%s", name, text)
		}
		v, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if code, _ := get("/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %d", code)
	}
	_, first := get("/metrics")
	_ = list[2].cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(700 * time.Millisecond)
	_, second := get("/metrics")
	for _, x := range []struct {
		name        string
		least, most float64 // of the second
	}{
		{"difalt_joins_total", 1, 1}, {`difalt_stage{stage="iterations"}`, 1, 1}, {"difalt_stage_size", 1e7, 1e7},
		{"difalt_objective", 1, 1e9}, {`difalt_neighbor_connected{neighbor="site-a"}`, 1, 1}, {`difalt_neighbor_connections_total{neighbor="site-c"}`, 1, 1},
		{`difalt_neighbor_wait_seconds_total{neighbor="site-c"}`, value(first, `difalt_neighbor_wait_seconds_total{neighbor="site-c"}`) + 0.3, 60},
		{"difalt_rounds_total", value(first, "difalt_rounds_total"), 1e9}, {"difalt_iterations", max(1, value(first, "difalt_iterations")), 1e7},
		// A frame has a header.
		{`difalt_neighbor_sent_bytes_total{neighbor="site-a"}`, 56 * value(first, "difalt_rounds_total"), 1e12},
		{`difalt_neighbor_received_bytes_total{neighbor="site-a"}`, 56 * (value(first, "difalt_rounds_total") - 1), 1e12},
	} {
		if v := value(second, x.name); v < x.least || v > x.most {
			t.Errorf("%s is %v, want %v to %v", x.name, v, x.least, x.most)
		}
	}
	problems, err := promlint.New(strings.NewReader(second)).Lint()
	if err != nil {
		t.Errorf("Prometheus cannot read the figures: %v", err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "difalt_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	_ = list[2].cmd.Process.Signal(syscall.SIGCONT)
	_ = list[0].cmd.Process.Signal(syscall.SIGTERM)
	for i, p := range list {
		if code := p.code(t, 20*time.Second); code != exitInterrupted && code != exitTerminated {
			t.Errorf("%s ends with %d: %s", nodeNames[i], code, tail(p))
		}
	}
	for line := range strings.Lines(list[1].err.String()) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if last := list[1].err.String(); !regexp.MustCompile(`"msg":"failed","why":"interrupted after .*","exit_code":130}\s*$`).MatchString(last) {
		t.Errorf("the end of the log is not that it was interrupted: %s", tail(list[1]))
	}
	if p := launch(t, f.arguments(0, "--metrics", "192.0.2.1:1")...); p.code(t, 10*time.Second) != exitFailure || !strings.Contains(p.err.String(), "--metrics") {
		t.Errorf("an address that is not here: %s", tail(p))
	}
}
