package gpuoperator

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed assets
var assets embed.FS

// Input is what the templates of the assets see.
type Input struct {
	Spec
	Fleet
	Namespace string
}

var functions = template.FuncMap{
	"on":   func(value *bool, fallback bool) bool { return On(value, fallback) },
	"dir":  path.Dir,
	"base": path.Base,
	"join": func(between string, words []string) string { return strings.Join(words, between) },
	"env":  envOf,
	"default": func(fallback, value string) string {
		if value == "" {
			return fallback
		}
		return value
	},
}

// Render fills the templates of one state's folder, in the order of the files' names. A document that is empty
// once filled is left out.
func Render(state string, input Input) ([]*unstructured.Unstructured, error) {
	folder := path.Join("assets", state)
	names, err := fs.Glob(assets, path.Join(folder, "*.yaml"))
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("no assets of state %s: %v", state, err)
	}
	shared, err := template.New("shared").Funcs(functions).Option("missingkey=error").ParseFS(assets, "assets/*.tmpl")
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for _, name := range names {
		text, err := assets.ReadFile(name)
		if err != nil {
			return nil, err
		}
		filled, err := template.Must(shared.Clone()).New(name).Parse(string(text))
		if err != nil {
			return nil, err
		}
		var out bytes.Buffer
		if err := filled.Execute(&out, input); err != nil {
			return nil, err
		}
		for _, document := range strings.Split(out.String(), "\n---\n") {
			object := map[string]any{}
			plain, err := yaml.YAMLToJSON([]byte(document))
			if err == nil {
				err = json.Unmarshal(plain, &object) // with whole numbers as int64
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(object) > 0 {
				objects = append(objects, &unstructured.Unstructured{Object: object})
			}
		}
	}
	return objects, nil
}

// envOf is the value of one variable in the spec's env of a component, "" where it is not set.
func envOf(component Component, name string) string {
	for _, variable := range component.Env {
		if variable.Name == name {
			return variable.Value
		}
	}
	return ""
}
