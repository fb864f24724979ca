package grafana

import (
	"crypto/subtle"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
)

// Handler is the HTTP API. Open are /api/health, /metrics and the page itself; all else wants the admin's password.
func (s *Server) Handler() http.Handler {
	open, closed := http.NewServeMux(), http.NewServeMux()
	open.HandleFunc("GET /api/health", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"database": "ok", "version": Version, "commit": "simulated"})
	})
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "Ok") })
	open.HandleFunc("GET /metrics", s.metrics)
	open.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html><title>SIMULATED Grafana</title><p>This stands in for Grafana and draws nothing.</p></html>")
	})
	open.Handle("GET /{$}", http.RedirectHandler("/login", http.StatusFound))
	open.Handle("/", s.authenticated(closed))

	closed.HandleFunc("GET /api/search", s.search)
	closed.HandleFunc("GET /api/folders", func(w http.ResponseWriter, _ *http.Request) {
		dashboards, _, _ := s.all()
		reply(w, http.StatusOK, folders(dashboards))
	})
	closed.HandleFunc("GET /api/dashboards/uid/{uid}", s.dashboard)
	closed.HandleFunc("GET /api/org", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"id": 1, "name": "Main Org."})
	})
	closed.HandleFunc("GET /api/datasources", func(w http.ResponseWriter, _ *http.Request) {
		_, sources, _ := s.all()
		reply(w, http.StatusOK, append([]DataSource{}, sources...))
	})
	closed.HandleFunc("GET /api/datasources/uid/{uid}", s.known(func(w http.ResponseWriter, _ *http.Request, source DataSource) {
		reply(w, http.StatusOK, source)
	}))
	closed.HandleFunc("GET /api/datasources/uid/{uid}/health", s.known(s.health))
	closed.HandleFunc("/api/datasources/proxy/uid/{uid}/{rest...}", s.known(s.proxy))
	closed.HandleFunc("POST /api/ds/query", s.query)
	closed.HandleFunc("POST /api/admin/provisioning/{what}/reload", func(w http.ResponseWriter, r *http.Request) {
		s.Load()
		what := r.PathValue("what")
		reply(w, http.StatusOK, message(strings.ToUpper(what[:1])+what[1:]+" config reloaded"))
	})
	closed.HandleFunc("GET /simulated/problems", func(w http.ResponseWriter, _ *http.Request) {
		_, _, problems := s.all()
		out := []map[string]string{}
		for _, one := range problems {
			out = append(out, map[string]string{"file": one.File.Path, "configmap": one.File.Owner, "says": one.Says})
		}
		reply(w, http.StatusOK, out)
	})
	closed.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusNotFound, message("Not found")) })
	return open
}

func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, given := r.BasicAuth()
		right := subtle.ConstantTimeCompare([]byte(user), []byte(s.User))&subtle.ConstantTimeCompare([]byte(password), []byte(s.Password)) == 1
		switch {
		case !given:
			reply(w, http.StatusUnauthorized, map[string]any{"message": "Unauthorized", "messageId": "auth.unauthorized", "statusCode": 401})
		case !right:
			reply(w, http.StatusUnauthorized, map[string]any{
				"message": "Invalid username or password", "messageId": "password-auth.failed", "statusCode": 401})
		default:
			s.count(r.Method)
			next.ServeHTTP(w, r)
		}
	})
}

// known answers 404 for a data source that is not there.
func (s *Server) known(next func(http.ResponseWriter, *http.Request, DataSource)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		source, ok := s.source(r.PathValue("uid"))
		if !ok {
			reply(w, http.StatusNotFound, message("Data source not found"))
			return
		}
		next(w, r, source)
	}
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	dashboards, _, _ := s.all()
	query := r.URL.Query()
	words, kind := strings.ToLower(query.Get("query")), query.Get("type")
	out := []map[string]any{}
	for _, folder := range folders(dashboards) {
		if kind != "dash-db" && len(query["tag"]) == 0 && strings.Contains(strings.ToLower(folder["title"].(string)), words) {
			folder["type"] = "dash-folder"
			out = append(out, folder)
		}
	}
	for _, one := range dashboards {
		tagged := !slices.ContainsFunc(query["tag"], func(tag string) bool { return !slices.Contains(one.Tags, tag) })
		if kind == "dash-folder" || !tagged || !strings.Contains(strings.ToLower(one.Title), words) {
			continue
		}
		found := map[string]any{"id": one.Model["id"], "uid": one.UID, "title": one.Title, "uri": "db/" + one.Slug(),
			"url": "/d/" + one.UID + "/" + one.Slug(), "slug": "", "type": "dash-db", "tags": one.Tags, "isStarred": false}
		if one.Folder != "" {
			maps.Copy(found, map[string]any{"folderUid": digest("f", one.Folder), "folderTitle": one.Folder})
		}
		out = append(out, found)
	}
	reply(w, http.StatusOK, out)
}

func (s *Server) dashboard(w http.ResponseWriter, r *http.Request) {
	dashboards, _, _ := s.all()
	for _, one := range dashboards {
		if one.UID == r.PathValue("uid") {
			reply(w, http.StatusOK, map[string]any{"dashboard": one.Model, "meta": map[string]any{
				"type": "db", "slug": one.Slug(), "url": "/d/" + one.UID + "/" + one.Slug(), "canSave": s.Editable, "provisioned": true,
				"provisionedExternalId": path.Base(one.File.Path), "folderTitle": one.Folder, "folderUid": digest("f", one.Folder)}})
			return
		}
	}
	reply(w, http.StatusNotFound, message("Dashboard not found"))
}
