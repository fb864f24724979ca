// Command coredns is CoreDNS with the plugins of kubeadm's Corefile and a few for looking into it. The complete set of its
// maker adds the SDKs of three clouds, which nothing here uses.
package main

import (
	_ "github.com/coredns/caddy/onevent"
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/debug"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/template"
	_ "github.com/coredns/coredns/plugin/whoami"
)

// The order in which a query passes the plugins, as in the plugin.cfg of CoreDNS.
func init() {
	dnsserver.Directives = []string{
		"reload", "bind", "debug", "ready", "health", "prometheus", "errors", "log", "loadbalance", "cache", "rewrite",
		"template", "hosts", "kubernetes", "loop", "forward", "whoami", "on",
	}
}

func main() { coremain.Run() }
