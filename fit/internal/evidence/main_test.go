package evidence

import (
	"os"
	"testing"

	"github.com/difalt/difalt/kernel"
)

// TestMain has gonum compute as it does in the command.
func TestMain(m *testing.M) {
	kernel.UseBLAS()
	os.Exit(m.Run())
}
