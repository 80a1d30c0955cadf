package report

import (
	"bytes"
	"html"
	"os"

	"github.com/difalt/difalt/cmd/difalt/internal/text"
)

// A markup is HTML. Text becomes markup in expand alone, which escapes it.
type markup string

// expand replaces each $name of a text by the value that follows the name in pairs, escaped unless it is
// markup. Unlike a template of the standard library it calls no method by its name, for which the linker
// would keep all methods of the program: 7 MB.
func expand(template markup, pairs ...any) markup {
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		switch v := pairs[i+1].(type) {
		case markup:
			values[pairs[i].(string)] = string(v)
		case string:
			values[pairs[i].(string)] = html.EscapeString(v)
		}
	}
	return markup(os.Expand(string(template), func(name string) string { return values[name] }))
}

// paragraphs returns sentences as paragraphs of a class.
func paragraphs(class string, sentences ...string) (m markup) {
	for _, s := range sentences {
		m += expand(`<p class="$class">$text</p>`+"\n", "class", class, "text", s)
	}
	return m
}

// link returns a link to a part of the page.
func link(id, title string) markup {
	return expand(`<a href="#$id">$title</a>`+"\n", "id", id, "title", title)
}

// A section of the page has a table, with words on it and the file with more of its numbers, if there is one.
type section struct {
	id, title string
	rows      text.Table
	best      int // the row that stands out, 0 for none
	words     []string
	file      string
}

func (s section) markup() markup {
	words := paragraphs("soft", s.words...)
	if s.file != "" {
		words += expand(`<p class="soft">More numbers: <a href="$file">$file</a></p>`+"\n", "file", s.file)
	}
	return expand(`<section id="$id">
<h2>$title</h2>
<div class="scroll" tabindex="0" role="region" aria-label="$title"><table>
$rows</table></div>
$words</section>
`, "id", s.id, "title", s.title, "rows", s.table(), "words", words)
}

// table returns the rows. The first one and the first cells of the others are headers.
func (s section) table() (m markup) {
	for i, row := range s.rows {
		cells := markup("")
		for k, cell := range row {
			tag := markup("<td>$cell</td>")
			switch {
			case i == 0:
				tag = `<th scope="col">$cell</th>`
			case k == 0:
				tag = `<th scope="row">$cell</th>`
			}
			cells += expand(tag, "cell", cell)
		}
		class := ""
		switch i {
		case 0:
			class = "head"
		case s.best:
			class = "best"
		}
		m += expand(`<tr class="$class">$cells</tr>`+"\n", "class", class, "cells", cells)
	}
	return m
}

// markup returns the figure with its picture, which the page colours.
func (f *figure) markup() markup {
	svg := f.image.Themed()
	return expand(`<figure id="$file"><h2>$title</h2>
<figcaption class="soft">$text <a href="$file.svg">$file.svg</a></figcaption>$svg</figure>
`, "file", f.File, "title", f.Title, "text", f.Text, "svg", markup(bytes.TrimSpace(svg)))
}
