// dcgm is SIMULATED: nv-hostengine and, by its name, dcgmi and dcgmproftester12 and 13 of DCGM 4.6.0. The engine does all
// the work of dcgmi, and keeps what it leaves there (groups, policies, configuration, job stats) until it ends; dcgmi
// brings its command line there and prints what comes back. The two speak a protocol of their own: a real dcgmi or
// exporter does not understand it. dcgmproftester has an engine of its own, as the real one.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"gpustack.local/simulated/cluster/internal/dcgm"
	"gpustack.local/simulated/cluster/internal/gpustate"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "dcgmi" {
		os.Exit(dcgm.Ask(os.Args[1:], gpustate.PathsFrom(os.Getenv), os.Stdout, os.Stderr))
	}
	if cuda, ok := strings.CutPrefix(name, "dcgmproftester"); ok {
		os.Exit(proftester(cuda))
	}
	if err := serve(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// proftester of 12 or 13 is one linked with that CUDA.
func proftester(cuda string) int {
	number, err := strconv.Atoi(cuda)
	if err != nil {
		fmt.Fprintln(os.Stderr, "SIMULATED: dcgmproftester12 or dcgmproftester13")
		return 127
	}
	return dcgm.Proftester(number, os.Args[1:], gpustate.PathsFrom(os.Getenv), os.Stdout, os.Stderr)
}

// serve takes the options of nv-hostengine that change where it listens, and those of its image's entry point.
// Source: NVIDIA/DCGM 4.6.0, hostengine/src/HostEngineCommandLine.cpp.
func serve(arguments []string) error {
	set := flag.NewFlagSet("nv-hostengine", flag.ContinueOnError)
	port := set.String("p", dcgm.Port, "")
	set.StringVar(port, "port", dcgm.Port, "")
	address := set.String("b", "127.0.0.1", "")
	set.StringVar(address, "bind-interface", "127.0.0.1", "")
	for _, name := range []string{"n", "no-daemon", "f", "log-level", "log-filename"} {
		if name == "n" || name == "no-daemon" {
			set.Bool(name, false, "")
		} else {
			set.String(name, "", "")
		}
	}
	if err := set.Parse(arguments); err != nil {
		return err
	}
	if *address == "ALL" {
		*address = ""
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", net.JoinHostPort(*address, *port))
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		listener.Close()
	}()
	fmt.Println("SIMULATED Host Engine Listener Started", listener.Addr())
	engine := dcgm.New(gpustate.PathsFrom(os.Getenv))
	go engine.Watch(ctx)
	if err := engine.Serve(listener); ctx.Err() == nil {
		return err
	}
	return nil
}
