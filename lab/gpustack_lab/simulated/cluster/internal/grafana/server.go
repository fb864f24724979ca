package grafana

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Version is what /api/health answers; the real commit would stand beside it.
const Version = "13.2.0"

// Server holds what was provisioned and answers the API.
type Server struct {
	User, Password string
	// Static are provisioning files of the container's own, read once.
	Static []File
	// Flat puts every dashboard into no folder, as a provider without foldersFromFilesStructure does.
	Flat bool
	// Editable dashboards may be saved from the page.
	Editable bool

	Dashboards, Sources *Files
	client              *http.Client

	mu         sync.Mutex
	dashboards []Dashboard
	sources    []DataSource
	problems   []Problem
	requests   map[string]int
}

// NewServer has nothing provisioned yet.
func NewServer(user, password string) *Server {
	server := &Server{User: user, Password: password, client: &http.Client{Timeout: 30 * time.Second}, requests: map[string]int{}}
	server.Dashboards, server.Sources = NewFiles(server.Load), NewFiles(server.Load)
	return server
}

// Load reads all files again. Data sources that are refused leave those of before, as a reload of Grafana does.
func (s *Server) Load() {
	boards, problems := s.Dashboards.All()
	files, twice := s.Sources.All()
	if s.Flat {
		boards = flat(boards)
	}
	dashboards, refused := Dashboards(boards)
	sources, broken, err := DataSources(append(slices.Clone(s.Static), files...))
	problems = slices.Concat(problems, twice, refused, broken)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		problems = append(problems, Problem{File{}, err.Error()})
		sources = s.sources
	}
	problems = append(problems, Unusable(dashboards, sources)...)
	for _, problem := range problems {
		if !slices.Contains(s.problems, problem) {
			slog.Error(problem.Says, "file", problem.File.Path, "configmap", problem.File.Owner)
		}
	}
	s.dashboards, s.sources, s.problems = dashboards, sources, problems
}

// source finds a data source by uid.
func (s *Server) source(uid string) (DataSource, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.sources, func(d DataSource) bool { return d.UID == uid })
	if at < 0 {
		return DataSource{}, false
	}
	return s.sources[at], true
}

func (s *Server) all() ([]Dashboard, []DataSource, []Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dashboards, s.sources, s.problems
}

// folders by title, with their uids.
func folders(dashboards []Dashboard) []map[string]any {
	titles := map[string]bool{}
	for _, one := range dashboards {
		if one.Folder != "" {
			titles[one.Folder] = true
		}
	}
	out := []map[string]any{}
	for id, title := range slices.Sorted(maps.Keys(titles)) {
		out = append(out, map[string]any{"id": 1000 + id, "uid": digest("f", title), "title": title})
	}
	return out
}

func reply(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(value)
}

func message(text string) map[string]any { return map[string]any{"message": text} }
