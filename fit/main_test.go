package fit

import (
	"os"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestMain computes as the command does.
func TestMain(m *testing.M) {
	kernel.UseBLAS()
	os.Exit(m.Run())
}
