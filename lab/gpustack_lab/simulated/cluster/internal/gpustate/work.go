package gpustate

import (
	"io"
	"maps"
	"os"
	"syscall"
)

// Locks that belong to an open file, not to a process. Source: fcntl(2), Linux's include/uapi/asm-generic/fcntl.h.
const (
	getLock = 36 // F_OFD_GETLK
	setLock = 37 // F_OFD_SETLK
)

// fields is how many bytes of the state file a GPU has for locks: one for each DCGM field, from its minor number on.
const fields = 1 << 16

// Work makes a GPU as busy as the line `load FIELD` of the state file says, for all who read the state, until what is
// returned is closed or this process ends, however it ends. It is a lock on the file, because a container has the file
// mounted read-only.
func Work(path string, gpu GPU, field int) (io.Closer, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	lock := syscall.Flock_t{Type: syscall.F_RDLCK, Start: int64(gpu.Minor*fields + field), Len: 1}
	if err := syscall.FcntlFlock(file.Fd(), setLock, &lock); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// work is the field that some process works for on the GPU; 0 where there is none.
func work(file *os.File, gpu GPU) (int, error) {
	lock := syscall.Flock_t{Type: syscall.F_WRLCK, Start: int64(gpu.Minor * fields), Len: fields}
	if err := syscall.FcntlFlock(file.Fd(), getLock, &lock); err != nil || lock.Type == syscall.F_UNLCK {
		return 0, err
	}
	return int(lock.Start) % fields, nil
}

// busy adds the keys of a load; what the GPU's line says itself stays.
func (g *GPU) busy(load map[string]string) {
	if len(load) == 0 {
		return
	}
	keys := maps.Clone(load)
	maps.Copy(keys, g.keys)
	g.keys = keys
}
