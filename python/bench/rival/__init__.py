"""The gRPC rival: a Go service, its messages, and their Python code."""
