//go:build faults && linux

package faults

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	mrand "math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/difalt/difalt/cmd/difalt/engine"
	"github.com/difalt/difalt/cmd/difalt/engine/cluster"
	"github.com/difalt/difalt/cmd/difalt/engine/grpc"
)

// ready is what whoever stands somewhere says when it has begun.
const ready = "ready"

// stand plays a part in another process: args are the folder of the cluster, a node and
// one that dials it, the address of the former, and a seed.
func stand(how string, args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("%s: %d arguments", how, len(args))
	}
	folder, target, dialler, real := args[0], args[1], args[2], args[3]
	seed, err := strconv.ParseUint(args[4], 10, 64)
	if err != nil {
		return err
	}
	rng := mrand.New(mrand.NewPCG(seed, 7))
	switch how {
	case "wire":
		return spoil(real, rng)
	case "duplicate", "replay", "reorder", "future", "flip":
		return meddle(how, folder, target, dialler, real, rng)
	}
	return intrude(how, folder, real)
}

// spoil forwards connections, and changes a byte in the first few of them.
func spoil(real string, rng *mrand.Rand) error {
	l, err := net.Listen("tcp", hub+":7000")
	if err != nil {
		return err
	}
	fmt.Println(ready)
	for left := 3; ; left-- {
		in, err := l.Accept()
		if err != nil {
			return err
		}
		out, err := net.Dial("tcp", real)
		if err != nil {
			in.Close()
			left++
			continue
		}
		at := [2]int{-1, -1}
		if left > 0 {
			at[rng.IntN(2)] = 2000 + rng.IntN(100_000)
		}
		for k, ends := range [][2]net.Conn{{out, in}, {in, out}} {
			go func() {
				_, _ = io.Copy(ends[0], &spoiled{ends[1], at[k]})
				in.Close()
				out.Close()
			}()
		}
	}
}

// A spoiled reader changes the byte number left.
type spoiled struct {
	r    io.Reader
	left int
}

func (s *spoiled) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if s.left >= 0 && s.left < n {
		p[s.left] ^= 0x10
	}
	s.left -= n
	return n, err
}

// signal is the file in the folder of a trial that lets intruders begin.
const signal = "begin"

// await says that this process is ready, and waits until it shall begin.
func await(folder string) {
	fmt.Println(ready)
	for {
		if _, err := os.Stat(filepath.Join(folder, signal)); err == nil {
			return
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// intrude connects as somebody who must be refused.
func intrude(how, folder, real string) error {
	if how == "bare" {
		await(folder)
		c, err := tls.Dial("tcp", real, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		if err != nil {
			return err
		}
		_, err = c.Read(make([]byte, 1)) // where TLS 1.3 says that it wants a certificate
		fmt.Println(err)
		return nil
	}
	c, err := cluster.Read(filepath.Join(folder, "cluster.json"))
	if err != nil {
		return err
	}
	key, err := cluster.ReadKey(filepath.Join(folder, "c.key"))
	if err != nil {
		return err
	}
	switch how {
	case "stranger":
		key, _ = cluster.NewKey()
		c.Nodes[2].Pin = cluster.PinOf(publicKey(key))
	case "wrong-edge":
		c.Edges = [][2]int{{0, 2}, {0, 1}}
	case "run":
		c.Run = "0123456789abcdef"
	default:
		return fmt.Errorf("%s: nobody plays that part", how)
	}
	l, err := net.Listen("tcp", hub+":0")
	if err != nil {
		return err
	}
	id, err := cluster.NewIdentity(c, key)
	if err != nil {
		return err
	}
	await(folder)
	t, err := grpc.New(c, id, l, engine.Options{JoinTimeout: 2 * time.Second})
	if err != nil {
		return err
	}
	err = t.Join(context.Background())
	fmt.Println(err)
	t.Leave(errors.New("refused"))
	return nil
}

// certificate returns a certificate of its own for the key of a node.
func certificate(folder, node string) (tls.Certificate, error) {
	key, err := cluster.ReadKey(filepath.Join(folder, node+".key"))
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: node},
		NotBefore: time.Unix(0, 0), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
