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

func TestStolen(t *testing.T) {
	share := Stolen()
	n := 0.0
	for range 100_000_000 { // some hundredths of a second, which is what is counted
		n += 1.5
	}
	if s, ok := share(); ok && !(s >= 0 && s <= 1) || n == 0 {
		t.Errorf("a share of %v was stolen", s)
	}
}
