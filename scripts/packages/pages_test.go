package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPagesOfReadme: every page, picture and table that README.md links is in the archives.
func TestPagesOfReadme(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	links := regexp.MustCompile(`\]\(([\w/.-]+\.(?:md|svg|csv|cff))[)#]`).FindAllSubmatch(text, -1)
	if len(links) < 10 {
		t.Fatalf("README.md has only %d links to pages", len(links))
	}
	for _, link := range links {
		name := string(link[1])
		folder, _, _ := strings.Cut(name, "/")
		if !slices.Contains(sharedFiles, name) && !slices.Contains(sharedFolders, folder) {
			t.Errorf("README.md links %s, which is not in the archives", name)
		}
	}
}
