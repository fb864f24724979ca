// Command mirror serves a bundle on one plain HTTP address: a read-only image registry under /v2/ (the handlers of CNCF
// distribution, as a library) and the bundle's files everywhere else.
//
// A pull that a registry mirror configuration sends here carries the original registry as ?ns=HOST; images are stored as
// HOST/NAME, so equal names of two registries stay apart.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path"
	"strings"
	"syscall"
	"time"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
	"github.com/sirupsen/logrus"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "ADDRESS:PORT")
	files := flag.String("files", "", "directory whose files are served")
	key := flag.String("key", "", "public key, served as /mirror-key.asc")
	images := flag.String("images", "", "registry storage root")
	attached := flag.Bool("attached", false, "end when standard input closes")
	flag.Parse()
	if *files == "" || *key == "" || *images == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}

	logrus.SetLevel(logrus.ErrorLevel) // the registry's own; requests are logged below

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *attached {
		var cancel context.CancelFunc
		ctx, cancel = context.WithCancel(ctx)
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			cancel()
		}()
	}

	mux := http.NewServeMux()
	mux.Handle("/v2/", byOrigin(handlers.NewApp(ctx, registry(*images))))
	mux.HandleFunc("/mirror-key.asc", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, *key) })
	root, err := os.OpenRoot(*files)
	if err != nil {
		log.Fatal(err)
	}
	mux.Handle("/", http.FileServer(tree{root}))
	server := &http.Server{Handler: logged(mux), ReadHeaderTimeout: 10 * time.Second}

	socket, err := net.Listen("tcp", *listen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("listening on %s\n", socket.Addr())
	go func() {
		<-ctx.Done()
		ending, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if err := server.Shutdown(ending); err != nil {
			server.Close()
		}
	}()
	if err := server.Serve(socket); !errors.Is(err, http.ErrServerClosed) {
		log.Fatal(err)
	}
}

func registry(root string) *configuration.Configuration {
	config := &configuration.Configuration{
		Storage: configuration.Storage{
			"filesystem": configuration.Parameters{"rootdirectory": root},
			"maintenance": configuration.Parameters{
				"uploadpurging": map[any]any{"enabled": false},
				"readonly":      map[any]any{"enabled": true},
			},
		},
	}
	config.Catalog.MaxEntries = 1000
	config.HTTP.Secret = "unused: nothing can be uploaded"
	return config
}

// byOrigin puts the registry a pull was meant for in front of the repository name.
func byOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.URL.Query().Get("ns")
		if name := strings.TrimPrefix(r.URL.Path, "/v2/"); origin != "" && name != "" {
			r = r.Clone(r.Context())
			r.URL.Path, r.URL.RawPath = "/v2/"+origin+"/"+name, ""
		}
		next.ServeHTTP(w, r)
	})
}

// tree has the files below a root: no lists of folders, and nothing that a link outside of it leads to.
type tree struct{ root *os.Root }

// Open returns an *os.File, which can be sent without a copy.
func (t tree) Open(name string) (http.File, error) {
	file, err := t.root.Open("." + path.Clean("/"+name))
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, fs.ErrNotExist
	}
	return file, nil
}

type recorded struct {
	http.ResponseWriter
	status int
}

func (r *recorded) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// Unwrap lets the file server reach the connection, and with it sendfile.
func (r *recorded) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begin, answer := time.Now(), &recorded{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r)
		log.Printf("%s %s %s %d %s", r.RemoteAddr, r.Method, r.URL, answer.status, time.Since(begin).Round(time.Millisecond))
	})
}
