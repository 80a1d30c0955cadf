package masked

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestLayout: words of any width become as many bytes as they need, and come back; what is beyond
// the width is cut off, and the sign is that of the width.
func TestLayout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for width := 1; width <= 64; width++ {
		if width > 57 && width < 64 {
			continue
		}
		f := Layout{{7, width}, {3, 64}, {5, width}}
		words := make([]uint64, f.words())
		for k := range words {
			words[k] = rng.Uint64()
		}
		p := f.append([]byte("before"), words)[len("before"):]
		if want := (7*width+7)/8 + 24 + (5*width+7)/8; len(p) != want || f.Len() != want {
			t.Fatalf("width %d: %d bytes, Len is %d, want %d", width, len(p), f.Len(), want)
		}
		got := make([]uint64, len(words))
		f.read(got, p)
		for k, w := range words {
			want, wide := int64(w), k >= 7 && k < 10
			if !wide { // by division, not by shifts
				for half := int64(1) << (width - 1); width < 64 && (want >= half || want < -half); {
					want = want % (2 * half)
					if want >= half {
						want -= 2 * half
					} else if want < -half {
						want += 2 * half
					}
				}
			}
			if int64(got[k]) != want {
				t.Errorf("width %d, word %d: %d, want %d", width, k, int64(got[k]), want)
			}
		}
		if again := f.append(nil, got); !slices.Equal(again, p) {
			t.Errorf("width %d: what has come is sent on as other bytes", width)
		}
	}
}
