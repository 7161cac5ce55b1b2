package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/mattn/go-isatty"
)

// reloadable is something that a server reads again on SIGHUP.
type reloadable struct {
	name string // for the log, for example a flag and its file
	// reload reads it again. If it returns an error, the previous state remains in use.
	reload func(context.Context) error
}

// onReload adds something to reload on SIGHUP. Call it before reloadOnHangup.
func (p *program) onReload(name string, reload func(context.Context) error) {
	p.reloadables = append(p.reloadables, reloadable{name, reload})
}

// reloader is a command that runs until it is stopped and reloads files on SIGHUP.
type reloader interface{ reloads() }

func (*devCommand) reloads()   {}
func (*serveCommand) reloads() {}
func (*workCommand) reloads()  {}

// receiveHangups makes the program receive SIGHUP. For a command that reloads, the
// signals wait until reloadOnHangup handles them. All other commands end at SIGHUP, unless
// it is ignored, as under nohup. The function stop restores the default behaviour.
func (p *program) receiveHangups(command any) (stop func()) {
	_, reloads := command.(reloader)
	if p.hangups == nil || !reloads && signal.Ignored(syscall.SIGHUP) {
		return func() {}
	}
	signal.Notify(p.hangups, syscall.SIGHUP)
	if reloads {
		return func() { signal.Stop(p.hangups) }
	}
	var end context.CancelFunc
	p.ctx, end = context.WithCancel(p.ctx)
	go func() {
		select {
		case <-p.hangups:
			signal.Stop(p.hangups) // a second one kills the process
			end()
		case <-p.ctx.Done():
		}
	}()
	return end
}

// reloadOnHangup reloads everything that onReload has added, one after another, whenever
// the process receives SIGHUP, until stop is called. A failed reload is logged; the others
// continue. If the terminal in which the process was started has been closed, SIGHUP ends
// the process instead, as nothing else would.
func (p *program) reloadOnHangup(log *slog.Logger) (stop func()) {
	ctx, end := context.WithCancel(p.ctx)
	terminals := openTerminals(p.terminals)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ctx.Done():
				return
			case <-p.hangups:
			}
			if len(openTerminals(terminals)) < len(terminals) {
				log.Info("the terminal was closed")
				p.terminate()
				return
			}
			p.reload(ctx, log)
		}
	}()
	return func() {
		end()
		<-ended
	}
}

// reload reloads everything once.
func (p *program) reload(ctx context.Context, log *slog.Logger) {
	if len(p.reloadables) == 0 {
		log.Warn("SIGHUP: this process has no files to reload")
	}
	for _, one := range p.reloadables {
		if err := one.reload(ctx); err != nil {
			log.Error("not reloaded; the previous state remains in use", "what", one.name, "error", err)
			continue
		}
		log.Info("reloaded", "what", one.name)
	}
}

// openTerminals returns those files that are terminals. A terminal that has been closed is
// none.
func openTerminals(files []*os.File) []*os.File {
	return slices.DeleteFunc(slices.Clone(files), func(f *os.File) bool { return !isatty.IsTerminal(f.Fd()) })
}
