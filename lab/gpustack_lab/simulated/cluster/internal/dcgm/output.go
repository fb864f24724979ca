package dcgm

import (
	"encoding/json"
	"fmt"
	"strings"
)

// node is a value with overflow lines and children in order. Source: dcgmi/DcgmiOutput.cpp.
type node struct {
	value    string
	set      bool
	overflow []string
	order    []string
	children map[string]*node
}

func (n *node) at(path ...string) *node {
	for _, name := range path {
		if n.children == nil {
			n.children = map[string]*node{}
		}
		if n.children[name] == nil {
			n.children[name] = &node{}
			n.order = append(n.order, name)
		}
		n = n.children[name]
	}
	return n
}

func (n *node) is(value any) { n.value, n.set = fmt.Sprint(value), true }

// more is setOrAppend: the first line is the value, further ones are overflow.
func (n *node) more(line string) {
	if !n.set {
		n.is(line)
		return
	}
	n.overflow = append(n.overflow, line)
}

func (n *node) json() map[string]any {
	out := map[string]any{}
	if n.set {
		out["value"] = n.value
	}
	if len(n.overflow) > 0 {
		out["overflow"] = n.overflow
	}
	if len(n.order) > 0 {
		children := map[string]any{}
		for name, child := range n.children {
			children[name] = child.json()
		}
		out["children"] = children
	}
	return out
}

// document is what dcgmi draws as a table, or prints as JSON: header lines and sections.
type document struct {
	header []string
	body   node
}

// asJSON has the keys of DcgmiOutputJson in order of the alphabet, as jsoncpp's; its white space is another.
func (d *document) asJSON() string {
	out := map[string]any{}
	if len(d.header) > 0 {
		out["header"] = d.header
	}
	if len(d.body.order) > 0 {
		sections := map[string]any{}
		for name, section := range d.body.children {
			sections[name] = section.json()
		}
		out["body"] = sections
	}
	return styled(out)
}

func styled(value any) string {
	text, _ := json.MarshalIndent(value, "", "\t")
	return string(text) + "\n"
}

func line(fill string, widths ...int) string {
	out := "+"
	for _, width := range widths {
		out += strings.Repeat(fill, width) + "+"
	}
	return out + "\n"
}

// asTree is DcgmiOutputTree of two widths.
func (d *document) asTree(left, right int) string {
	rule := line("-", left-1, right-2)
	out := rule
	for _, text := range d.header {
		out += fmt.Sprintf("| %-*s|\n", left+right-3, text)
	}
	if len(d.header) > 0 {
		out += line("=", left-1, right-2)
	}
	row := func(level int, prefix, label, value string) {
		name := fmt.Sprintf("%*s%s", level*3, prefix, label)
		out += fmt.Sprintf("| %-*s | %-*s |\n", left-3, name, right-4, value)
	}
	var level func(depth int, label string, n *node)
	level = func(depth int, label string, n *node) {
		prefix := ""
		if depth > 0 {
			prefix = "-> "
		}
		row(depth, prefix, label, n.value)
		for _, text := range n.overflow {
			row(depth, "", "", text)
		}
		for _, name := range n.order {
			level(depth+1, name, n.children[name])
		}
	}
	for _, name := range d.body.order {
		level(0, name, d.body.children[name])
	}
	return out + rule
}

// column is one of DcgmiOutputColumns: its name is also the child that fills it.
type column struct {
	width int
	name  string
}

// asColumns is DcgmiOutputColumns; `apart` draws a rule after each section.
func (d *document) asColumns(apart bool, columns ...column) string {
	widths, names := []int{}, []string{}
	for _, one := range columns {
		widths, names = append(widths, one.width), append(names, one.name)
	}
	row := func(cells []string) string {
		out := ""
		for i, cell := range cells {
			out += fmt.Sprintf("| %-*s ", columns[i].width-2, cell)
		}
		return out + "|\n"
	}
	full := 0
	for _, width := range widths {
		full += 1 + width
	}
	out := line("-", widths...)
	for _, text := range d.header {
		out += fmt.Sprintf("| %-*s|\n", full-2, text)
	}
	if len(d.header) > 0 {
		out += line("=", widths...)
	}
	out += row(names) + line("-", widths...)
	for i, name := range d.body.order {
		if apart && i > 0 {
			out += line("-", widths...)
		}
		section := d.body.children[name]
		most := 0
		for _, one := range columns {
			most = max(most, len(section.at(one.name).overflow))
		}
		for line := -1; line < most; line++ {
			cells := []string{}
			for _, one := range columns {
				cell := section.at(one.name)
				switch {
				case line < 0:
					cells = append(cells, cell.value)
				case line < len(cell.overflow):
					cells = append(cells, cell.overflow[line])
				default:
					cells = append(cells, "")
				}
			}
			out += row(cells)
		}
	}
	return out + line("-", widths...)
}
