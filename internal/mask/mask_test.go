package mask

import (
	"bytes"
	"crypto/aes"
	"crypto/ecdh"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func keys(t testing.TB, nodes int) (own []*ecdh.PrivateKey, public []*ecdh.PublicKey) {
	t.Helper()
	for range nodes {
		key, err := ecdh.X25519().GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		own, public = append(own, key), append(public, key.PublicKey())
	}
	return own, public
}

func newMasks(t testing.TB, i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, context string) *Masks {
	t.Helper()
	p, err := New(i, own, public, []byte(context))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// made returns the first words of the masks of node i.
func made(t testing.TB, i int, own *ecdh.PrivateKey, public []*ecdh.PublicKey, context string, words int) []uint64 {
	t.Helper()
	p := newMasks(t, i, own, public, context)
	p.Next([sha256.Size]byte{})
	w := make([]uint64, words)
	p.Add(w, 1)
	return w
}

// TestCancel: the masks of all nodes add up to zero, and those of all but one do not.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, nodes := range []int{2, 3, 51} {
		own, public := keys(t, nodes)
		sum := make([]uint64, 3)
		for i, key := range own {
			if slices.Contains(sum, 0) && i > 0 {
				t.Errorf("%d nodes: the masks of %d cancel", nodes, i)
			}
			for k, w := range made(t, i, key, public, "", len(sum)) {
				sum[k] += w
			}
		}
		if !slices.Equal(sum, make([]uint64, len(sum))) {
			t.Errorf("%d nodes: the masks add up to %x", nodes, sum)
		}
	}
}

// TestOtherStreams: another pair, run or key of any node makes another stream.
func TestOtherStreams(t *testing.T) {
	own, public := keys(t, 3)
	_, other := keys(t, 1)
	streams := map[string]string{}
	for name, w := range map[string][]uint64{
		"0 and 1":     made(t, 0, own[0], public[:2], "run 1", 4),
		"of three":    made(t, 0, own[0], public, "run 1", 4),
		"1 of three":  made(t, 1, own[1], public, "run 1", 4),
		"run":         made(t, 0, own[0], public, "run 2", 4),
		"third's key": made(t, 0, own[0], []*ecdh.PublicKey{public[0], public[1], other[0]}, "run 1", 4),
	} {
		if before, ok := streams[fmt.Sprint(w)]; ok {
			t.Errorf("%s has the stream of %s", name, before)
		}
		streams[fmt.Sprint(w)] = name
	}
}

// TestGoesOn: a stream does not depend on how it is cut, and the stream of the next sum is another one.
func TestGoesOn(t *testing.T) {
	own, public := keys(t, 4)
	const n = roomLen/8*2 + 5
	whole := made(t, 2, own[2], public, "", 3*n)
	p := newMasks(t, 2, own[2], public, "")
	p.Next([sha256.Size]byte{})
	var parts []uint64
	for _, length := range []int{n, 1, 0, n - 1, n} {
		w := make([]uint64, length)
		p.Add(w, 1)
		parts = append(parts, w...)
	}
	if !slices.Equal(parts, whole) {
		t.Error("a stream depends on how it is cut")
	}
	p.Next([sha256.Size]byte{})
	w := make([]uint64, n)
	p.Add(w, 1)
	parts = append(parts, w...)
	slices.Sort(parts)
	if len(slices.Compact(parts)) != 4*n {
		t.Error("words come twice")
	}
}

// TestDigest: masks cancel if and only if all nodes have received the same results, also in later sums; tags
// confirm it.
func TestDigest(t *testing.T) {
	own, public := keys(t, 3)
	var zero [sha256.Size]byte
	for _, other := range [][sha256.Size]byte{zero, sha256.Sum256(nil)} { // the second digest of node 1
		var list []*Masks
		for i, key := range own {
			list = append(list, newMasks(t, i, key, public, ""))
		}
		var sum [3]uint64
		for _, digest := range [][sha256.Size]byte{zero, other, zero} {
			sum = [3]uint64{}
			for i, p := range list {
				p.Next([][sha256.Size]byte{zero, digest, zero}[i])
				p.Add(sum[:], 3)
			}
		}
		same := other == zero
		if cancel := sum == [3]uint64{}; cancel != same {
			t.Errorf("the same results: %v, the masks cancel: %v", same, cancel)
		}
		digests := [][sha256.Size]byte{zero, other, zero}
		var all [][]byte
		for i, p := range list {
			all = append(all, p.Tags(digests[i]))
		}
		for i, p := range list {
			if p.Confirm(digests[i], all) != same {
				t.Errorf("the same results: %v, node %d confirms %v", same, i, !same)
			}
			if p.Confirm(digests[i], [][]byte{all[1], all[2], all[0]}) || p.Confirm(digests[i], make([][]byte, 3)) {
				t.Errorf("node %d confirms tags of other nodes, or none", i)
			}
		}
	}
}

// TestKnownAnswer compares with HKDF (RFC 5869), SHA-256 and AES-CTR (NIST SP 800-38A) written out.
func TestKnownAnswer(t *testing.T) {
	own, public := keys(t, 2)
	mac := func(key []byte, parts ...[]byte) []byte {
		h := hmac.New(sha256.New, key)
		h.Write(bytes.Join(parts, nil))
		return h.Sum(nil)
	}
	salt := sha256.Sum256(bytes.Join([][]byte{[]byte("context"), public[0].Bytes(), public[1].Bytes()}, nil))
	secret, err := own[1].ECDH(public[0])
	if err != nil {
		t.Fatal(err)
	}
	first := sha256.Sum256(append(mac(mac(salt[:], secret), []byte("difalt pads 0 1"), []byte{1}), make([]byte, 32)...))
	key := sha256.Sum256(first[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	var stream []byte
	for counter := range uint64(3) {
		var in, out [aes.BlockSize]byte
		binary.BigEndian.PutUint64(in[8:], counter)
		block.Encrypt(out[:], in[:])
		stream = append(stream, out[:]...)
	}
	zero, one := made(t, 0, own[0], public, "context", 6), made(t, 1, own[1], public, "context", 6)
	for k := range zero {
		if want := binary.LittleEndian.Uint64(stream[8*k:]); zero[k] != want || one[k] != -want {
			t.Errorf("word %d: %x and %x, want %x and its negative", k, zero[k], one[k], want)
		}
	}
}

// TestNoKey: a key that makes every secret zero is an error that names its node.
func TestNoKey(t *testing.T) {
	own, public := keys(t, 3)
	var err error
	if public[1], err = ecdh.X25519().NewPublicKey(make([]byte, 32)); err != nil {
		t.Fatal(err)
	}
	if _, err = New(0, own[0], public, nil); err == nil || !strings.Contains(err.Error(), "the key of node 1") {
		t.Error(err)
	}
}

// TestArguments: keys that are missing, and a node without a key, are errors that name the node.
func TestArguments(t *testing.T) {
	own, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public := []*ecdh.PublicKey{own.PublicKey(), nil}
	for _, c := range []struct {
		node   int
		own    *ecdh.PrivateKey
		public []*ecdh.PublicKey
		want   string
	}{
		{0, own, public, "node 1 has no key"},
		{0, nil, public[:1], "node 0 has no private key"},
		{1, own, public[:1], "node 1 of 1"},
		{-1, own, public[:1], "node -1 of 1"},
		{0, own, nil, "node 0 of 0"},
	} {
		if _, err := New(c.node, c.own, c.public, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	pair := make([]*Masks, 2)
	public[1] = public[0]
	for i := range pair {
		if pair[i], err = New(i, own, public, nil); err != nil {
			t.Fatal(err)
		}
	}
	digest := sha256.Sum256(nil)
	for _, all := range [][][]byte{nil, {nil}, {nil, nil}, {pair[0].Tags(digest)}} {
		if pair[0].Confirm(digest, all) {
			t.Errorf("tags %x confirm", all)
		}
	}
	if !pair[0].Confirm(digest, [][]byte{nil, pair[1].Tags(digest)}) {
		t.Error("the tags of the partner do not confirm")
	}
}
