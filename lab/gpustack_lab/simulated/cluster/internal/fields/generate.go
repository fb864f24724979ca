//go:build ignore

// generate writes names.csv: every field name that DCGM 4.6.0 knows, with its id.
//
//	go run generate.go "$(go mod download -json github.com/NVIDIA/go-dcgm@v1.4611.2 | jq -r .Dir)" >names.csv
//
// The names are read out of that module's pkg/dcgm/const_fields.go; nothing of it is copied but names and numbers.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Ids from here on came after DCGM 4.6.0, which is the one that exporter 4.8.3 carries.
const after460 = 1600

func main() {
	path := filepath.Join(os.Args[1], "pkg", "dcgm", "const_fields.go")
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		log.Fatal(err)
	}
	ids := map[string]int{}
	ast.Inspect(file, func(node ast.Node) bool {
		pair, ok := node.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		name, _ := strconv.Unquote(pair.Key.(*ast.BasicLit).Value)
		id, err := strconv.Atoi(pair.Value.(*ast.BasicLit).Value)
		if err != nil {
			log.Fatal(err)
		}
		if id < after460 {
			ids[name] = id
		}
		return false
	})
	fmt.Println("# Field names of DCGM 4.6.0 in all spellings. Source: go-dcgm v1.4611.2, pkg/dcgm/const_fields.go; see generate.go.")
	for _, name := range slices.Sorted(maps.Keys(ids)) {
		fmt.Printf("%s,%d\n", name, ids[name])
	}
}
