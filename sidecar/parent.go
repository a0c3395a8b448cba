package sidecar

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// watchParent calls gone once when the process pid has ended. A pidfd fires within milliseconds and cannot be fooled by a reused
// pid or by a forked child that keeps the parent's sockets open. The pid must be this process's parent when the watch begins.
func watchParent(ctx context.Context, pid int, gone func()) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("outrider: watch parent %d: %w", pid, err)
	}
	if parent := unix.Getppid(); parent != pid {
		// The parent ended between the fork and here, and pid may be somebody else by now.
		unix.Close(fd)
		return fmt.Errorf("%w: started by %d, child of %d", errParentLost, pid, parent)
	}
	// An eventfd ends the wait when ctx does: poll on a pidfd has no other way out.
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err != nil {
		unix.Close(fd)
		return fmt.Errorf("outrider: watch parent %d: %w", pid, err)
	}
	stop := context.AfterFunc(ctx, func() { _, _ = unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) })
	go func() {
		defer unix.Close(fd)
		defer unix.Close(wake)
		defer stop()
		for {
			polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
			if _, err := unix.Poll(polled, -1); err == unix.EINTR {
				continue
			}
			if polled[0].Revents != 0 {
				gone()
			}
			return
		}
	}()
	return nil
}
