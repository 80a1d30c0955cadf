// Package fault carries a panic, with the stack of its goroutine, to another goroutine or to the end of a
// program.
package fault

import (
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"
)

// A Panic is a panic as an error. Its stack is for the log of this process only: it may contain values.
type Panic struct {
	Value any
	Stack []byte // of the goroutine that panicked
}

// Error returns the value of the panic in a sentence, without the stack.
func (p *Panic) Error() string { return fmt.Sprintf("the program has a fault: %v", p.Value) }

// Of returns the panic of a value that recover has returned, and nil for nil. The deferred function that
// recovers calls it, so that the stack is there. A Panic that was raised again stays as it is.
func Of(recovered any) *Panic {
	if recovered == nil {
		return nil
	}
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	p := &Panic{Value: recovered, Stack: debug.Stack()}
	if first := moved.Swap(nil); first != nil && same(first.Value, recovered) {
		p.Stack = slices.Concat(first.Stack, []byte("\nraised again by "), p.Stack)
	}
	return p
}

// moved is the last panic that Moved was called with, until Of has its value.
var moved atomic.Pointer[Panic]

// Moved keeps the stack of a panic whose value another goroutine is to raise again as it is: Of adds the
// stack for a panic with that value. The deferred function that recovers calls it.
func Moved(recovered any) {
	if recovered != nil {
		moved.Store(&Panic{Value: recovered, Stack: debug.Stack()})
	}
}

// same reports whether two values are equal; values that cannot be compared are not.
func same(a, b any) (equal bool) {
	defer func() { _ = recover() }() // of the comparison
	return a == b
}
