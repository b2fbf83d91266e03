package main

import (
	"fmt"
	"net/url"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// asNode makes the test binary a node of a cluster: its number, then the ports of all nodes for clients and for each other.
const asNode = "ADZE_FLEET_AS_NODE"

// node serves until it is killed.
func node(text string) {
	var i int
	var clients, routes [3]int
	if _, err := fmt.Sscan(text, &i, &clients[0], &clients[1], &clients[2], &routes[0], &routes[1], &routes[2]); err != nil {
		panic(err)
	}
	o := &server.Options{
		ServerName: fmt.Sprint("node-", i), Host: "127.0.0.1", Port: clients[i], NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: fmt.Sprint("node-", i), SyncAlways: true,
		Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: routes[i]},
	}
	for _, port := range routes {
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: fmt.Sprint("127.0.0.1:", port)})
	}
	s, err := server.NewServer(o)
	if err != nil {
		panic(err)
	}
	s.Start()
	if !s.ReadyForConnections(time.Minute) {
		panic("not ready")
	}
	fmt.Println("ready")
	s.WaitForShutdown()
}
