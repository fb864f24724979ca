package grafana

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"time"

	"sigs.k8s.io/yaml"
)

// DataSource is one entry of a provisioning file, and what the API shows of it: never its secrets.
type DataSource struct {
	ID        int            `json:"id"`
	UID       string         `json:"uid"`
	OrgID     int            `json:"orgId"`
	Name      string         `json:"name"`
	Type      string         `json:"type"`
	Access    string         `json:"access"`
	URL       string         `json:"url"`
	IsDefault bool           `json:"isDefault"`
	JSONData  map[string]any `json:"jsonData"`
	ReadOnly  bool           `json:"readOnly"`
}

// provisioned is the shape of the file.
type provisioned struct {
	DataSources []struct {
		DataSource
		Editable bool `json:"editable"`
	} `json:"datasources"`
}

// ScrapeInterval is jsonData.timeInterval, else Grafana's default.
func (d DataSource) ScrapeInterval() time.Duration {
	if text, ok := d.JSONData["timeInterval"].(string); ok {
		if interval, err := time.ParseDuration(text); err == nil && interval > 0 {
			return interval
		}
	}
	return 15 * time.Second
}

// DataSources reads provisioning files. One that cannot be read is told and left out; two default sources are an error
// as in Grafana, which then takes none of them.
func DataSources(files []File) ([]DataSource, []Problem, error) {
	var out []DataSource
	var problems []Problem
	for _, file := range files {
		if !slices.Contains([]string{".yaml", ".yml"}, path.Ext(file.Path)) {
			continue
		}
		var text provisioned
		if err := yaml.Unmarshal([]byte(file.Text), &text); err != nil {
			problems = append(problems, Problem{file, fmt.Sprintf("Datasource provisioning error: %v", err)})
			continue
		}
		for _, one := range text.DataSources {
			source := one.DataSource
			if source.Name == "" || source.Type == "" {
				problems = append(problems, Problem{file, "a data source needs a name and a type"})
				continue
			}
			source.OrgID, source.ReadOnly = 1, !one.Editable
			if source.UID == "" {
				source.UID = digest("P", source.Name)
			}
			if source.Access == "" {
				source.Access = "proxy"
			}
			// The same name again is the same data source, changed.
			if at := slices.IndexFunc(out, func(d DataSource) bool { return d.Name == source.Name }); at >= 0 {
				source.ID = out[at].ID
				out[at] = source
				continue
			}
			source.ID = len(out) + 1
			out = append(out, source)
		}
	}
	defaults := 0
	for _, source := range out {
		if source.IsDefault {
			defaults++
		}
	}
	if defaults > 1 {
		return nil, problems, fmt.Errorf(
			"Datasource provisioning error: datasource.yaml config is invalid. Only one datasource per organization can be marked as default")
	}
	return out, problems, nil
}

// digest is an id that stays the same for the same words.
func digest(prefix, words string) string {
	sum := sha256.Sum256([]byte(words))
	return prefix + hex.EncodeToString(sum[:7])
}
