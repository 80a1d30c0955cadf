package simulation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A summary whose names would be markup of the page is refused.
func TestMarkup(t *testing.T) {
	for _, summary := range []string{
		`{"setting": {"name": "<script>alert(1)</script>"}}`, `{"methods": [{"method": "dif | x"}]}`, `{"setting": {"graph": "[a](b)"}}`,
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, SummaryFile), []byte(summary), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := loadSummary(dir); err == nil || !strings.Contains(err.Error(), "is no name that this program writes") {
			t.Errorf("%s: %v", summary, err)
		}
	}
}
