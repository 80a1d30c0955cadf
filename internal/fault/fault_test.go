package fault

import (
	"bytes"
	"errors"
	"testing"
)

// divide panics if b is 0.
func divide(a, b int) int { return a / b }

// caught returns the panic of a call.
func caught(call func()) (p *Panic) {
	defer func() { p = Of(recover()) }()
	call()
	return nil
}

// A panic keeps the stack of the goroutine in which it happened, also where another goroutine raises it
// again.
func TestStack(t *testing.T) {
	var first *Panic
	quotient := 0
	done := make(chan bool)
	go func() {
		first = caught(func() { quotient = divide(1, len(done)) })
		close(done)
	}()
	<-done
	again := caught(func() { panic(first) })
	if quotient != 0 || again != first || !bytes.Contains(first.Stack, []byte("fault.divide")) {
		t.Errorf("%v, again %v, with the stack %s", first, again, first.Stack)
	}
	var err error = first
	if found, ok := errors.AsType[*Panic](err); !ok || err.Error() != "the program has a fault: runtime error: "+
		"integer divide by zero" {
		t.Errorf("%v, %v", found, err)
	}
	if p := caught(func() {}); p != nil {
		t.Errorf("%v without a panic", p)
	}
}

// A panic whose value another goroutine raises again has both stacks; another panic, and one of a value that
// cannot be compared, has its own alone.
func TestMoved(t *testing.T) {
	move := func(value any) {
		done := make(chan bool)
		go func() {
			defer close(done)
			defer func() { Moved(recover()) }()
			panicWith(value)
		}()
		<-done
	}
	for name, c := range map[string]struct {
		first, second any
		both          bool
	}{
		"same": {"x", "x", true}, "other": {"x", "y", false}, "list": {[]int{1}, []int{1}, false},
		"none": {nil, "x", false},
	} {
		if c.first != nil {
			move(c.first)
		}
		p := caught(func() { panic(c.second) })
		if both := bytes.Contains(p.Stack, []byte("panicWith")); both != c.both {
			t.Errorf("%s: both stacks %v: %s", name, both, p.Stack)
		}
	}
	move("x")
	if p := caught(func() { panic("y") }); p == nil ||
		bytes.Contains(caught(func() { panic("x") }).Stack, []byte("panicWith")) {
		t.Error("the stack of a panic stays after another one")
	}
}

func panicWith(value any) { panic(value) }
