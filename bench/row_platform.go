package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"

	"ovation/bench/load"
)

// minPlatformLikeRatio is the minimum ratio of the rate of likes with everything switched
// on that platforms use to that without.
const minPlatformLikeRatio = 0.85

// platformConfig is a configuration file that restricts every kind of action, and hides
// nothing.
const platformConfig = `unknown: allow
biz:
  ` + biz + `:
    allow: {read: anyone, like: users, dislike: users, collect: users, follow: users, comment: users}
    counts: public
    likers: public
`

// measurePlatformPages compares pages from a node with trusted documents, federation and a
// configuration, which asks for its document by id, to pages from one without.
func measurePlatformPages(ctx context.Context, b *bench, r *row) error {
	t, err := b.installation.readState(ctx, b.users)
	if err != nil {
		return err
	}
	return b.withPlatformNode(ctx, func(with *system) error {
		return b.comparePages(ctx, r, with, t, b.drawPages(pageCount, nil), 0)
	})
}

// measurePlatformLikes compares likes through the same nodes. With the first, the worker
// also logs events and publishes them.
func measurePlatformLikes(ctx context.Context, b *bench, r *row) error {
	err := b.withPlatformNode(ctx, func(with *system) error {
		var variants [2]variant
		for i, s := range []*system{with, &b.node} {
			variants[i] = variant{name: s.name, system: s, afterRound: func(ctx context.Context) error {
				return errors.Join(b.drain(ctx, s), b.awaitRelayed(ctx))
			}, newClients: func(ctx context.Context, round int) ([]load.Client, error) {
				b.installation.variables[eventsVariable] = []string{"true", "false"}[i]
				if err := errors.Join(b.stopWorker(), b.startWorker(ctx)); err != nil {
					return nil, err
				}
				return s.newLikeClients(rowConnections, b.seed+uint64(10*round+i), func(*likeClient) {}), nil
			}}
		}
		of, err := b.measureAlternately(ctx, variants)
		if err == nil {
			r.evaluateRates(of, minPlatformLikeRatio)
		}
		return err
	})
	delete(b.installation.variables, eventsVariable)
	if err != nil {
		return err
	}
	r.notes = append(r.notes, "With them, the worker logs events and publishes them to RabbitMQ, where no queue is bound. The worker is restarted before each segment of both.")
	return errors.Join(b.stopWorker(), b.startWorker(ctx), b.checkLikes(ctx, &b.node))
}

// awaitRelayed waits until all events are published, so that they do not disturb the next
// segment.
func (b *bench) awaitRelayed(ctx context.Context) error {
	if b.installation.variables[eventsVariable] != "true" {
		return nil
	}
	return poll(ctx, backlogTimeout, "all events are published", func() (done bool, err error) {
		err = b.installation.database.QueryRow(ctx, `SELECT NOT EXISTS (SELECT FROM event_outbox) AND
			EXISTS (SELECT FROM event_stream s JOIN event_consumer c ON c.position = s.last)`).Scan(&done)
		return done, err
	})
}

// withPlatformNode starts a node with everything switched on that platforms use, and calls
// measure with it.
func (b *bench) withPlatformNode(ctx context.Context, measure func(*system) error) (err error) {
	hash := sha256.Sum256([]byte(pageQuery))
	id := hex.EncodeToString(hash[:])
	files := map[string]string{"documents.json": string(mustJSON(map[string]string{id: pageQuery})), "ovation.yaml": platformConfig}
	for name, text := range files {
		if err := os.WriteFile(b.installation.path(name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	set := map[string]string{
		"OVATION_TRUSTED_DOCUMENTS": b.installation.path("documents.json"), "OVATION_CONFIG": b.installation.path("ovation.yaml"),
		"OVATION_FEDERATION": "true", eventsVariable: "true",
	}
	maps.Copy(b.installation.variables, set)
	node, err := b.installation.startNode(ctx)
	for name := range set {
		delete(b.installation.variables, name)
	}
	if node != nil {
		defer func() { err = errors.Join(err, node.stop()) }()
	}
	if err != nil {
		return err
	}
	with := b.ovationSystem(node)
	with.name, with.documentID = "with documents, federation, configuration, events", id
	return measure(&with)
}
