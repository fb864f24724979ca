package grafana

import (
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Dashboard is one that Grafana would have taken. Model is the JSON with uid, id and version filled in.
type Dashboard struct {
	UID, Title, Folder string
	Tags               []string
	Model              map[string]any
	File               File
}

// Slug is the last part of the dashboard's address.
func (d Dashboard) Slug() string {
	return strings.Trim(regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(strings.ToLower(d.Title), "-"), "-")
}

// Grafana's rule for uids.
var uidRule = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// Dashboards reads JSON files; the folder of a file is the dashboard's. What Grafana refuses is left out and told:
// JSON that is none, a bad uid, a uid twice, a title twice in a folder. (Of a pair the first is kept; the real one stops
// writing that provider's dashboards altogether.)
func Dashboards(files []File) ([]Dashboard, []Problem) {
	var out []Dashboard
	var problems []Problem
	for _, file := range files {
		if path.Ext(file.Path) != ".json" {
			continue
		}
		dashboard, err := parse(file, len(out)+1)
		if err == nil {
			err = unique(dashboard, out)
		}
		if err != nil {
			problems = append(problems, Problem{file, "failed to load dashboard from " + file.Path + ": " + err.Error()})
			continue
		}
		out = append(out, dashboard)
	}
	return out, problems
}

func parse(file File, id int) (Dashboard, error) {
	var model map[string]any
	if err := json.Unmarshal([]byte(file.Text), &model); err != nil {
		return Dashboard{}, err
	}
	title, _ := model["title"].(string)
	if title == "" {
		return Dashboard{}, fmt.Errorf("dashboard title cannot be empty")
	}
	uid, _ := model["uid"].(string)
	if uid == "" {
		uid = digest("d", file.Path)
	}
	if !uidRule.MatchString(uid) {
		return Dashboard{}, fmt.Errorf("uid contains illegal characters or is longer than 40 symbols: %q", uid)
	}
	folder := path.Dir(file.Path)
	if folder == "." {
		folder = ""
	}
	dashboard := Dashboard{UID: uid, Title: title, Folder: folder, Model: model, File: file, Tags: []string{}}
	for _, tag := range list(model["tags"]) {
		if text, ok := tag.(string); ok {
			dashboard.Tags = append(dashboard.Tags, text)
		}
	}
	model["uid"], model["id"] = uid, id
	if _, ok := model["version"]; !ok {
		model["version"] = 1
	}
	return dashboard, nil
}

func unique(new Dashboard, others []Dashboard) error {
	for _, other := range others {
		if other.UID == new.UID {
			return fmt.Errorf("the same UID is used more than once: %s, also in %s", new.UID, other.File.Path)
		}
		if other.Title == new.Title && other.Folder == new.Folder {
			return fmt.Errorf("dashboard title is not unique in folder: %q in %q, also in %s", new.Title, new.Folder, other.File.Path)
		}
	}
	return nil
}

// Unusable tells of dashboards that Grafana takes and whose panels would stay empty: inputs that only an import by hand
// resolves, and data sources that are not there.
func Unusable(dashboards []Dashboard, sources []DataSource) []Problem {
	known := map[string]bool{"grafana": true, "-- Grafana --": true, "-- Mixed --": true, "-- Dashboard --": true, "__expr__": true}
	for _, source := range sources {
		known[source.UID], known[source.Name] = true, true
	}
	var out []Problem
	for _, dashboard := range dashboards {
		if len(list(dashboard.Model["__inputs"])) > 0 {
			out = append(out, Problem{dashboard.File, "__inputs are not resolved by provisioning"})
		}
		told := map[string]bool{}
		for _, uid := range references(dashboard.Model) {
			if !known[uid] && !told[uid] && !strings.HasPrefix(uid, "$") {
				told[uid] = true
				out = append(out, Problem{dashboard.File, fmt.Sprintf("data source %q was not found", uid)})
			}
		}
	}
	return out
}

// references are the uids (or old-style names) of all data sources below a JSON value.
func references(value any) []string {
	var out []string
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			out = append(out, references(one)...)
		}
	case map[string]any:
		for key, one := range value {
			if key == "datasource" {
				if name, ok := one.(string); ok {
					out = append(out, name)
				} else if reference, ok := one.(map[string]any); ok {
					if uid, ok := reference["uid"].(string); ok {
						out = append(out, uid)
					}
				}
				continue
			}
			out = append(out, references(one)...)
		}
	}
	return out
}

func list(value any) []any {
	out, _ := value.([]any)
	return out
}
