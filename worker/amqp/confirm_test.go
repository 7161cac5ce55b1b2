package amqp

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// After an alarm has ended, the broker stores and confirms the messages that were in its
// buffers. It may take as long for these messages as for any other message.
func TestAlarmRestartsTheConfirmTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := Options{ConfirmTimeout: 15 * time.Second, Logger: slog.New(slog.DiscardHandler)}.withDefaults()
		s := new(brokerConn)
		l := newSupervisedConn(toPublish, opts, nil)
		l.set(s, nil)
		o := &confirmPublisher{brokerConn: s, opts: opts, conn: l}
		confirmed, returned := make(chan struct{}), make(chan struct{})
		go func() { o.await(confirmed); close(returned) }()
		for _, step := range []struct {
			after time.Duration
			alarm bool
			what  string
		}{
			{14 * time.Second, true, "before the alarm"},
			{time.Hour, false, "during the alarm"}, // the timer, which fires every 15 s, fires again a second later
			{14 * time.Second, true, "since an alarm"},
			{time.Minute, false, "during a second alarm"},
			{14 * time.Second, false, "since the second alarm"},
		} {
			time.Sleep(step.after)
			synctest.Wait()
			if !l.connected() {
				t.Errorf("the connection is closed within %v %s, want it open", step.after, step.what)
			}
			if step.alarm != l.blocked() {
				l.setAlarm(s, amqp091.Blocking{Active: step.alarm})
			}
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if l.connected() {
			t.Error("the connection is open 16 s after the last alarm, want it closed")
		}
		close(confirmed)
		<-returned
	})
}
