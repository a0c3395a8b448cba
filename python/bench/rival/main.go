// Command rival serves the life of a group over gRPC alone, with the same core behind it as the sidecar has: what the shim's
// own wire is compared with.
package main

import (
	"fmt"
	"net"
	"os"

	"google.golang.org/grpc"

	"outrider/python/bench/rival/pb"
)

func main() {
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "outrider: rival:", err)
		os.Exit(1)
	}
}

// serve prints the port that it listens on and ends with its standard input.
func serve() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	owner, err := newOwner()
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	pb.RegisterRivalServer(server, owner)
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1))
		server.Stop()
	}()
	return server.Serve(listener)
}
