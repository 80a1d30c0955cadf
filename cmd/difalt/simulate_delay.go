package main

import (
	"context"
	"net"
	"time"
)

// delayed returns an address at which connections to target arrive and are forwarded,
// every byte so much later, in either direction. It ends with ctx.
func delayed(ctx context.Context, target string, delay time.Duration) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	context.AfterFunc(ctx, func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", target)
			if err != nil {
				in.Close()
				continue
			}
			context.AfterFunc(ctx, func() { in.Close(); out.Close() })
			go copyDelayed(out, in, delay)
			go copyDelayed(in, out, delay)
		}
	}()
	return l.Addr().String(), nil
}

// copyDelayed copies from one end to the other, every byte so much later.
func copyDelayed(to, from net.Conn, delay time.Duration) {
	type packet struct {
		p   []byte
		due time.Time
	}
	way := make(chan packet, 1<<12) // what is on its way
	go func() {
		defer close(way)
		for {
			p := make([]byte, 64<<10)
			n, err := from.Read(p)
			if n > 0 {
				way <- packet{p[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for x := range way {
		time.Sleep(time.Until(x.due))
		if _, err := to.Write(x.p); err != nil {
			break
		}
	}
	from.Close()
	to.Close()
	for range way { // so that the reader can end
	}
}
