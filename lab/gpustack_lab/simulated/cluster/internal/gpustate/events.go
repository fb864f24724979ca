package gpustate

import (
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

// Xid is one line of the events file: "xid MINOR CODE UNIXSECONDS".
type Xid struct {
	Minor, Code int
	At          time.Time
}

// Tail reads what is appended to a file after it was opened, as a driver tells a program only the events that happen
// while it listens.
type Tail struct {
	path   string
	offset int64
	rest   string
}

// NewTail begins at the file's present end.
func NewTail(path string) *Tail {
	tail := &Tail{path: path}
	if info, err := os.Stat(path); err == nil {
		tail.offset = info.Size()
	}
	return tail
}

// New returns the events since the last call. A file that is not there has none; one that became shorter was written
// anew and is read from its beginning.
func (t *Tail) New() ([]Xid, error) {
	file, err := os.Open(t.path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() < t.offset {
		t.offset, t.rest = 0, ""
	}
	if _, err := file.Seek(t.offset, io.SeekStart); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	t.offset += int64(len(text))
	lines := strings.Split(t.rest+string(text), "\n")
	t.rest = lines[len(lines)-1] // not ended yet
	var out []Xid
	for _, line := range lines[:len(lines)-1] {
		if xid, ok := ParseXid(line); ok {
			out = append(out, xid)
		}
	}
	return out, nil
}

// ParseXid reads one line; false for anything else than an Xid.
func ParseXid(line string) (Xid, bool) {
	words := strings.Fields(line)
	if len(words) != 4 || words[0] != "xid" {
		return Xid{}, false
	}
	minor, err1 := strconv.Atoi(words[1])
	code, err2 := strconv.Atoi(words[2])
	at, err3 := strconv.ParseInt(words[3], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || minor < 0 || code < 0 {
		return Xid{}, false
	}
	return Xid{Minor: minor, Code: code, At: time.Unix(at, 0)}, true
}
