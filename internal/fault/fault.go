// Package fault carries a panic, with the stack of its goroutine, to another goroutine or to the end of a
// program.
package fault

import (
	"fmt"
	"runtime/debug"
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
	return &Panic{Value: recovered, Stack: debug.Stack()}
}
