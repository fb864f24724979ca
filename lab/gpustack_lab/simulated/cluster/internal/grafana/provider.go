package grafana

import (
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// Provision reads the container's own provisioning folder: data sources, and whether the dashboards' provider makes
// folders of the files' folders. Without any provider file it does.
func (s *Server) Provision(folder string) error {
	sources, _ := filepath.Glob(filepath.Join(folder, "datasources", "*.y*ml"))
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s.Static = append(s.Static, File{Path: path, Text: string(text)})
	}
	providers, _ := filepath.Glob(filepath.Join(folder, "dashboards", "*.y*ml"))
	for _, path := range providers {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var all struct {
			Providers []struct {
				Options struct {
					Folders bool `json:"foldersFromFilesStructure"`
				} `json:"options"`
			} `json:"providers"`
		}
		if err := yaml.Unmarshal(text, &all); err != nil {
			return err
		}
		for _, one := range all.Providers {
			s.Flat = !one.Options.Folders
		}
	}
	return nil
}

// flat takes the folders off the paths; the owner keeps files of one name apart.
func flat(files []File) []File {
	out := make([]File, len(files))
	for i, file := range files {
		file.Path = filepath.Base(file.Path)
		out[i] = file
	}
	return out
}
