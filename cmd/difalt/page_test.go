package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/difalt/difalt/cmd/difalt/internal/report"
)

// The page is well formed, its links lead to files and sections that are there, and it loads nothing from
// elsewhere.
func TestPage(t *testing.T) {
	x := fixture(t)
	page := string(readFile(t, x.report, "index.html"))
	ids := regexp.MustCompile(` id="([^"]+)"`).FindAllStringSubmatch(page, -1)
	links := regexp.MustCompile(` href="([^"]+)"`).FindAllStringSubmatch(page, -1)
	for _, link := range links {
		section, isSection := strings.CutPrefix(link[1], "#")
		if isSection && !slices.ContainsFunc(ids, func(id []string) bool { return id[1] == section }) {
			t.Errorf("%s leads nowhere", link[1])
		}
		if _, err := os.Stat(filepath.Join(x.report, link[1])); !isSection && err != nil {
			t.Error(err)
		}
	}
	if len(links) < 12 {
		t.Errorf("%d links", len(links))
	}
	if found := regexp.MustCompile(`(src|href)="?(https?:)?//`).FindString(page); found != "" {
		t.Errorf("it loads %s", found)
	}
	d := xml.NewDecoder(strings.NewReader(page))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(x.report)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !slices.Contains(report.FileNames, e.Name()) {
			t.Errorf("%s is not among the names that are claimed", e.Name())
		}
	}
}

// Tables have headers that screen readers announce, figures descriptions with their data, and names are
// escaped.
func TestPageIsAccessible(t *testing.T) {
	x := fixture(t)
	page := string(readFile(t, x.report, "index.html"))
	if n := strings.Count(page, "<th>") + strings.Count(page, "<th class"); n > 0 || !strings.Contains(page,
		`<th scope="row">`) || regexp.MustCompile(`<th scope="col">\s*</th>`).MatchString(page) {
		t.Errorf("%d headers without a scope, or an empty header", n)
	}
	pictures := picture.FindAllStringSubmatch(page, -1)
	for _, p := range pictures {
		if !strings.Contains(p[0], `role="img"`) || len(numberInText.FindAllString(p[1], -1)) < 3 {
			t.Errorf("a figure with the description %q", p[1])
		}
		if !strings.Contains(p[0], "var(--chart-") {
			t.Error("a figure keeps its own colours")
		}
	}
	if len(pictures) < 3 {
		t.Errorf("%d figures", len(pictures))
	}
	dir := t.TempDir()
	table := write(t, dir, "t.csv", strings.NewReplacer("price", "<b>x</b>", "shop 1,", "</script><i>,").Replace(shops()))
	must(t, slices.Concat([]string{"fit", "--data", table, "--rank", "0", "--report", filepath.Join(dir, "r")}, fitShops)...)
	page = string(readFile(t, dir, "r", "index.html"))
	if strings.Contains(page, "<b>x") || strings.Contains(page, "</script>") || !strings.Contains(page, "&lt;b&gt;x") {
		t.Error("names are not escaped")
	}
}
