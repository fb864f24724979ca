// Package grafana is what Grafana and its sidecar do from outside, without drawing anything: ConfigMaps become files,
// files become dashboards and data sources, and the HTTP API shows and queries them.
package grafana

import (
	"maps"
	"path"
	"slices"
	"sync"
)

// File is one key of a ConfigMap. Owner is namespace/name.
type File struct{ Path, Owner, Text string }

// Files are those that the sidecar would have written into its folder, by path. Two ConfigMaps that name the same file
// write the same file: the one that comes last in the alphabet is read, and it is told.
type Files struct {
	mu      sync.Mutex
	byOwner map[string][]File
	changed func()
}

// NewFiles calls changed after each change.
func NewFiles(changed func()) *Files {
	return &Files{byOwner: map[string][]File{}, changed: changed}
}

// Put replaces all files of one ConfigMap; none removes them. Folder is below the sidecar's own, "" for that itself.
func (f *Files) Put(owner, folder string, texts map[string]string) {
	f.mu.Lock()
	delete(f.byOwner, owner)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		f.byOwner[owner] = append(f.byOwner[owner], File{Path: path.Join(folder, name), Owner: owner, Text: texts[name]})
	}
	f.mu.Unlock()
	f.changed()
}

// All lists the files in the order of their paths, and what is wrong among them.
func (f *Files) All() ([]File, []Problem) {
	f.mu.Lock()
	defer f.mu.Unlock()
	byPath := map[string]File{}
	var problems []Problem
	for _, owner := range slices.Sorted(maps.Keys(f.byOwner)) {
		for _, file := range f.byOwner[owner] {
			if other, twice := byPath[file.Path]; twice {
				problems = append(problems, Problem{file, "overwrites the file of " + other.Owner})
			}
			byPath[file.Path] = file
		}
	}
	out := make([]File, 0, len(byPath))
	for _, name := range slices.Sorted(maps.Keys(byPath)) {
		out = append(out, byPath[name])
	}
	return out, problems
}

// Problem is what Grafana or its sidecar would log about a file, or what a reader of the dashboard would see.
type Problem struct {
	File File
	Says string
}
