package measure

import "testing"

func TestProcessorTimes(t *testing.T) {
	const stat = "cpu  1201606 5 181203 2102312 15063 7 1441 212922 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n"
	stolen, wanted, ok := processorTimes(stat)
	if !ok || stolen != 212922 || wanted != 1201606+5+181203+7+1441+212922 {
		t.Errorf("processorTimes = %d, %d, %t", stolen, wanted, ok)
	}
	for _, text := range []string{"", "cpu", "cpu  1 2 3 4", "intr 5 6"} {
		if _, _, ok := processorTimes(text); ok {
			t.Errorf("%q has times", text)
		}
	}
}

func TestStolenShare(t *testing.T) {
	const before = "cpu  100 0 50 900 10 0 0 20 0 0\n"
	// 30 + 10 ran, 10 were stolen, and 500 were idle.
	if share, ok := stolenShare(before, "cpu  130 0 60 1400 10 0 0 30 0 0\n"); !ok || share != 0.2 {
		t.Errorf("share = %v, %t, want 0.2", share, ok)
	}
	for _, after := range []string{before, "", "intr 5 6"} {
		if share, ok := stolenShare(before, after); ok {
			t.Errorf("%q: a share of %v", after, share)
		}
	}
}
