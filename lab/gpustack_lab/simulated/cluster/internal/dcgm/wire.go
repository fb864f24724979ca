package dcgm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"

	"gpustack.local/simulated/cluster/internal/gpustate"
)

// Port is nv-hostengine's own. Source: NVIDIA/DCGM 4.6.0, dcgmlib/dcgm_structs.h (DCGM_HE_PORT_NUMBER).
const Port = "5555"

// frame is a part of an answer: text for one of dcgmi's streams, or its end.
type frame struct {
	Out  string `json:"out,omitempty"`
	Err  string `json:"err,omitempty"`
	Done bool   `json:"done,omitempty"`
	Code int    `json:"code"`
}

// reply is how a command writes while it runs; Gone is closed when dcgmi has ended.
type reply struct {
	to   *json.Encoder
	Gone <-chan struct{}
}

func (r reply) Write(text []byte) (int, error) {
	return len(text), r.to.Encode(frame{Out: string(text)})
}

func (r reply) print(format string, values ...any) { fmt.Fprintf(r, format, values...) }

func (r reply) fail(format string, values ...any) {
	r.to.Encode(frame{Err: fmt.Sprintf(format, values...)})
}

// Ask brings a command line to the engine that --host names, and returns dcgmi's exit status. Without --host, a diagnostic
// has an engine of its own where none answers. Source: dcgmi/Diag.cpp (StartDiag::DoExecuteConnectionFailure).
func Ask(arguments []string, paths gpustate.Paths, out, errs io.Writer) int {
	host, named := "localhost", false
	for i, word := range arguments {
		if value, ok := strings.CutPrefix(word, "--host="); ok {
			host, named = value, true
		} else if word == "--host" && i+1 < len(arguments) {
			host, named = arguments[i+1], true
		}
	}
	address := host
	if _, _, err := net.SplitHostPort(host); err != nil {
		address = net.JoinHostPort(host, Port)
	}
	version := len(arguments) > 0 && (arguments[0] == "-v" || arguments[0] == "--vv")
	connection, err := net.Dial("tcp", address)
	if err != nil && !named && len(arguments) > 0 && arguments[0] == "diag" {
		if listener, refused := net.Listen("tcp", "127.0.0.1:0"); refused == nil {
			defer listener.Close()
			go New(paths).Serve(listener)
			connection, err = net.Dial("tcp", listener.Addr().String())
		}
	}
	if err != nil {
		switch {
		case version: // VersionInfo is silent where nothing answers
			return 0
		case len(arguments) > 0 && arguments[0] == "--version":
			fmt.Fprint(out, versionLine)
			return 0
		}
		fmt.Fprintf(out, "Error: unable to establish a connection to the specified host: %s\n", host)
		fmt.Fprintf(out, "Error: Unable to connect to host engine. %s.\n", words[stNoConnection])
		return stNoConnection & 0xff
	}
	defer connection.Close()
	if err := json.NewEncoder(connection).Encode(arguments); err != nil {
		return stNoConnection & 0xff
	}
	for lines := json.NewDecoder(bufio.NewReader(connection)); ; {
		var part frame
		if err := lines.Decode(&part); err != nil {
			return stNoConnection & 0xff
		}
		io.WriteString(out, part.Out)
		io.WriteString(errs, part.Err)
		if part.Done {
			return part.Code & 0xff
		}
	}
}
