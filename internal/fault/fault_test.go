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
	if found, ok := errors.AsType[*Panic](err); !ok || err.Error() != "the program has a fault: runtime error: integer divide by zero" {
		t.Errorf("%v, %v", found, err)
	}
	if p := caught(func() {}); p != nil {
		t.Errorf("%v without a panic", p)
	}
}
