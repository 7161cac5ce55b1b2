"""The processes of the model: nodes and the worker. Every activity of a process is a generator; each yield ends a step."""
from stores import BARRIER, NEVER, READ, UNSET, Transaction, join, merge, register_of


def contribution_at(history, c, marked=True):
    """The contribution of a state that counts include according to its history; None if that is unknown."""
    contribution = None
    for v, st, kind in history or ():
        if v <= (c[2] if kind == "m" and marked else c[1]):
            contribution = st
    return contribution


class Process:
    """A process that has a lease on an epoch and may lose its connection to Redis or to the database."""

    def __init__(self, world):
        self.w, self.redis = world, world.redis
        self.epoch, self.previous_epoch, self.open, self.lease_began = 1, 0, True, 0
        self.learned_at, self.closed_at = -NEVER, -NEVER  # when it learned of the epoch, and that it was closed
        self.history, self.rewind_noticed_at = 0, -NEVER  # when a poll noticed that the database was rewound
        self.reset_claim()
        self.drained, self.evictions = True, self.redis.evictions
        self.failed_marks, self.marks_failing_since, self.probed_since, self.suspects_loss = 0, None, None, False
        self.down_until = {"redis": 0, "database": 0}
        self.polling = self.poll()

    def reset_claim(self):
        """Forgets the claim: this process has not found the sentinel of any epoch in its Redis yet."""
        # the epoch whose sentinel it found last, whether Redis lacks it now, and the run of Redis that had it
        self.held_epoch, self.lost, self.run_id, self.redis_up_since = 0, False, 0, NEVER

    def may_begin(self, number, silence):
        """Whether this process may begin the epoch after the given one: it uses the same mirror, or no process does."""
        if not self.w.enabled("silence"):
            return True
        if self.held_epoch == number:
            return not self.lost or self.run_id == self.redis.run_id or silence >= 3 * self.w.SECOND // 2
        return min(silence, self.w.now - self.redis_up_since) >= 5 * self.w.SECOND

    def has_sentinel(self, number):
        """Whether this Redis is the mirror of an epoch."""
        ok, exists = self.call(lambda: number in self.redis.sentinels)
        return ok and exists or not self.w.enabled("no_foreign_epoch")

    def up(self, what):
        return self.w.now >= self.down_until[what]

    def call(self, f, *args):
        """Calls Redis. Returns whether the call succeeded, and its result. A failed call may have been executed."""
        if self.up("redis"):
            return True, f(*args)
        if self.w.rnd.random() < 0.2:
            f(*args)
        return False, None

    def record_mark(self, f, *args):
        """Marks or invalidates. Repeated failures close the epoch."""
        ok, _ = self.call(f, *args)
        if ok:
            self.failed_marks, self.marks_failing_since = 0, None
        else:
            self.failed_marks += 1
            self.marks_failing_since = self.w.now if self.marks_failing_since is None else self.marks_failing_since
        return ok

    def lease_valid(self):
        return self.open and (self.w.now - self.lease_began <= self.w.LEASE or not self.w.enabled("lease_expiry"))

    def recently_closed(self):
        """Whether others may have a valid lease on the epoch that was closed."""
        return not self.open and self.w.now - self.closed_at <= self.w.LEASE

    def may_miss_writes(self):
        return not self.drained and self.w.enabled("may_miss_writes")

    def poll_step(self):
        next(self.polling)

    def poll(self):
        w, db, second = self.w, self.w.db, self.w.SECOND
        while True:
            while not self.up("database"):
                self.redis_up_since = NEVER
                yield
            begin = w.now
            yield
            number, is_open, since, drained = db.epoch, db.open, db.changed_at, db.drained()
            barrier, age = db.barrier, w.now - db.barrier_raised_at
            rewound, history, silence = db.rewound(), db.history, w.now - db.held_at
            yield
            ok, exists = self.call(lambda: number in self.redis.sentinels)
            self.redis_up_since = min(self.redis_up_since, w.now) if ok else NEVER
            self.lost = is_open and ok and not exists
            if ok and exists and is_open:
                self.held_epoch, self.run_id = number, self.redis.run_id
            if is_open and self.held_epoch == number and not self.lost and not rewound:
                db.held_at = w.now
            if history != self.history and w.enabled("history"):
                self.history = history
                self.rewind()
            confirmed = False
            if rewound:
                if ok and self.may_begin(number, silence):
                    for _ in range(w.rnd.choice((0, 20, 60))):  # the database may be slow at that moment
                        yield
                    yield from self.begin_next(number)
                    continue
            elif is_open:
                if ok and self.redis.evictions > self.evictions and w.enabled("eviction_barrier"):
                    evictions, self.drained, drained = self.redis.evictions, False, False
                    yield
                    if self.up("database"):
                        db.raise_barrier()
                        self.evictions = evictions
                confirmed = ok and (exists or not w.enabled("sentinel"))
                if ok and (not confirmed or self.suspects_loss) and self.may_begin(number, silence):
                    self.suspects_loss = False
                    yield from self.begin_next(number)
                    continue
            self.learn(number, is_open, begin if confirmed or not is_open and not rewound else self.lease_began, drained)
            if not drained and (age > w.LEASE or not w.enabled("barrier_delay")):
                yield from self.publish_barrier(barrier)
            failing = self.marks_failing_since is not None and self.failed_marks > 1
            failing = failing and w.now - self.marks_failing_since >= 2 * second
            if is_open and self.held_epoch == number and not self.lost and failing:
                yield from self.change_epoch(number, 0)
                self.marks_failing_since = None
            if is_open or rewound:
                self.probed_since = None
            elif w.now - since >= 5 * second and self.call(lambda: None)[0]:
                self.probed_since = w.now if self.probed_since is None else self.probed_since
                if w.now - self.probed_since >= second and self.may_begin(number, silence):
                    yield from self.begin_next(number)
            else:
                self.probed_since = None
            due = w.now + second // 2
            while w.now < due:
                yield

    def publish_barrier(self, barrier):
        """Only workers publish barriers."""
        return
        yield

    def learn(self, number, is_open, began, drained):
        if number != self.epoch:
            self.learned_at, self.previous_epoch = self.w.now, self.epoch
        if self.open and not is_open:
            self.closed_at = self.w.now
        self.epoch, self.open, self.lease_began, self.drained = number, is_open, began, drained

    def rewind(self):
        """Revokes the lease because the database was rewound. The next successful poll grants it again."""
        self.lease_began, self.rewind_noticed_at = -NEVER, self.w.now

    def begin_next(self, number):
        w = self.w
        w.last_epoch = max(w.last_epoch + 1, number + 1) if w.enabled("unique_numbers") else number + 1
        following = w.last_epoch
        ok, _ = self.call(self.redis.sentinels.add, following)
        yield
        if ok:
            yield from self.change_epoch(number, following)

    def change_epoch(self, number, following):
        """Closes the epoch, or begins the next one, while no transaction is in progress."""
        w, db = self.w, self.w.db
        if not self.up("database"):
            return
        db.waiting += 1
        try:
            while db.active and w.enabled("exclusive_change"):
                yield
        finally:
            db.waiting -= 1
        if db.epoch != number or not following and not db.open and not db.rewound():
            return
        db.replaced_open = bool(following) and (db.open or db.rewound())
        db.open, db.changed_at, db.epoch_history = bool(following), w.now, db.history
        if following:
            db.epoch, db.previous_epoch, db.held_at = following, number, w.now
            w.epochs_begun += 1
            db.raise_barrier()

    def transact(self, subjects, actions, before, direct):
        """Returns the transaction, or None if it was not committed or its outcome is unknown."""
        w, db = self.w, self.w.db
        yield
        while db.waiting:
            yield
        if not self.up("database"):
            return None
        tx = Transaction(frozenset(subjects), 0)
        db.active.add(tx)
        try:
            yield
            in_grace = w.now - db.changed_at < w.GRACE
            if in_grace and (db.replaced_open and w.enabled("next_grace") if db.open else w.enabled("grace")):
                db.end(tx)
                return None
            if db.rewound():
                db.end(tx)
                return None
            tx.epoch = db.epoch if db.open else 0
            while db.locked & tx.subjects:
                yield
            db.lock(tx)
            some, _ = actions()
            for preceding, _, _, state, b in some:
                if state == BARRIER:
                    tx.barriers[b] = tx.barriers.get(b, set()) | preceding
            changed = db.prepare(tx, [a for a in some if a[3] != BARRIER], None, direct)
            yield
            if tx.epoch and not (self.lease_valid() or self.has_sentinel(tx.epoch)):
                db.end(tx)
                return None
            if tx.epoch and not (yield from before(tx, changed)):
                db.end(tx)
                return None
            tx.marked = True
            yield
            if w.profile.get("lag") and w.rnd.random() < 0.1:
                db.end(tx)
                return None
            if w.profile.get("crash") and w.rnd.random() < 0.02 or not self.up("database"):
                w.orphans.append(tx)  # the outcome is unknown to this process
                return None
            return tx if db.commit(tx) else None
        except GeneratorExit:
            if tx in db.active:
                w.orphans.append(tx)
            raise

    def publish(self, tx, tries):
        """Writes the counts of a transaction to Redis after the commit. Returns whether it succeeded."""
        if not tx.epoch:
            return True
        w = self.w
        for s in tx.subjects:
            while True:
                # The key may have expired and been filled again since: re-read old counts.
                c = tx.counts[s]
                if w.now - tx.committed_at > w.MAX_FILL_AGE and w.enabled("old_publishes"):
                    c = w.db.counts[s] if self.up("database") else None
                if c and self.call(self.redis.write_counts, tx.epoch, s, c, True)[0]:
                    break
                tries -= 1
                if tries == 0:
                    return False
                if self.epoch != tx.epoch or not self.open:
                    break
                yield
            yield
        return True


class Message:
    def __init__(self, *action):
        self.action = action  # id, user, subject, state, version; the id of a barrier is the set of ids before it
        self.delivered = self.to_invalidate = self.redelivered = False
        self.last_barrier = 0  # the latest barrier published before the message

    def is_barrier(self):
        return self.action[3] == BARRIER


class Worker(Process):
    def __init__(self, world):
        super().__init__(world)
        self.generation = self.idle_until = 0
        self.barrier_published_at = -NEVER
        self.start()

    def start(self):
        """Starts a worker. Delivered messages are redelivered, not always in the order in which they were published."""
        self.generation += 1
        for m in self.w.queue:
            m.to_invalidate, m.redelivered = m.to_invalidate or m.delivered, m.redelivered or m.delivered
        self.w.queue.sort(key=lambda m: not (m.redelivered and m.is_barrier()))
        self.working = self.work(self.generation)

    def publish_barrier(self, barrier):
        """Publishes a barrier to the queue: it is persisted after every action that was confirmed before."""
        yield
        if self.w.queue_up and self.w.now - self.barrier_published_at > self.w.SECOND:
            self.barrier_published_at = self.w.now
            preceding = {m.action[0] for m in self.w.queue if not m.is_barrier()}
            self.w.queue.append(Message(preceding, None, None, BARRIER, barrier))
            self.w.barrier = max(self.w.barrier, barrier)

    def step(self):
        if self.w.now >= self.idle_until:
            next(self.working)

    def crash(self):
        self.reset_claim()
        self.working.close()
        self.start()
        self.idle_until = self.w.now + self.w.rnd.choice((0, 0, 100, 400))

    def replace(self):
        """The queue delivers to a new worker. The one that it lost finishes its current batch."""
        self.w.replaced_workers.append(self.working)
        self.start()

    def work(self, generation):
        w, retried = self.w, []
        size, prefetch = (12, 16) if w.profile.get("lag") else (4, 6)
        while generation == self.generation:
            yield
            prefetched = w.queue[:prefetch]
            if not prefetched or generation != self.generation:
                continue
            for m in prefetched:
                m.delivered = True
            batch = prefetched[:w.rnd.randint(1, size)]
            again = [m for m in prefetched if m.to_invalidate]
            if again and not w.enabled("invalidate_all"):
                again = [m for m in batch if m.to_invalidate]
            for m in again:
                m.to_invalidate = False
            retried = [m for m in retried if m in w.queue] + [m for m in again if m not in retried]
            yield
            if not w.enabled("invalidate_locked") and retried and w.enabled("invalidate"):
                if not (yield from self.invalidate_redelivered(retried, w.db.epoch, None)):
                    continue
                retried = []
            committed = yield from self.persist(generation, batch, retried)
            if committed is None:
                retried = retried + [m for m in batch if m not in retried]
                if generation == self.generation and w.profile.get("crash") and w.rnd.random() < 0.3:
                    yield from self.stop(generation, batch[len(batch) // 2:], retried)
                continue
            if not (yield from self.publish(committed, 0)):
                continue
            self.ack(generation, batch)
            if w.profile.get("lag") and w.rnd.random() < (0.9 if committed.passed_latest else 0.01):
                self.idle_until = w.now + 250

    def ack(self, generation, batch):
        if generation == self.generation:
            done = set(batch)
            self.w.queue[:] = [m for m in self.w.queue if m not in done]

    def stop(self, generation, rest, retried):
        """A worker that stops returns the messages that it could not persist, and retries the rest of the batch."""
        committed = yield from self.persist(generation, rest, retried, not self.w.enabled("barrier_requeued"))
        if committed and (yield from self.publish(committed, 0)):
            self.ack(generation, rest)
        self.start()
        yield

    def persist(self, generation, batch, retried, passing=True):
        w = self.w

        def before(tx, changed):
            if generation != self.generation and w.enabled("fence_worker"):
                return False
            if w.enabled("invalidate_locked") and w.enabled("invalidate"):
                if not (yield from self.invalidate_redelivered(retried, tx.epoch, tx.subjects)):
                    return False
            return (yield from self.mark(tx, changed) if w.enabled("mark_first") else no_op())

        actions = [m.action for m in batch if not m.is_barrier()
                   or passing and not (m.redelivered and w.enabled("barrier_redelivered"))]
        tx = yield from self.transact({m.action[2] for m in batch if not m.is_barrier()}, lambda: (actions, None), before, False)
        if tx and tx.epoch and not w.enabled("mark_first"):
            yield from self.mark(tx, {s for s in tx.subjects})
        return tx

    def invalidate_redelivered(self, messages, epoch, subjects):
        by = {}
        for m in messages:
            if not m.is_barrier() and (subjects is None or m.action[2] in subjects):
                _, u, s, state, v = m.action
                if state != READ:
                    by.setdefault(u, []).append(s)
        for u, subs in by.items():
            if not self.record_mark(self.redis.invalidate, epoch, u, subs, None):
                return False
            yield
        return True

    def mark(self, tx, changed):
        by = {}
        for u, s, register in tx.states:
            by.setdefault(u, []).append((s, register, tx.counts[s][1] if s in changed else 0))
        for u, states in by.items():
            if not self.record_mark(self.redis.mark, tx.epoch, u, states):
                return False
            yield
        return True


def no_op():
    """A call that takes no step."""
    return True
    yield


class Node(Process):
    def __init__(self, world, name):
        super().__init__(world)
        self.name = name
        self.restart()

    def restart(self):
        w = self.w
        self.reset_claim()
        self.cache, self.invalidations, self.min_versions = {}, {}, {}
        self.pending, self.in_doubt, self.retrying = {}, {}, None
        self.applied_in = {}  # the epoch in which all of a key's pending actions were applied, or None
        self.replied, self.lease_began = {s: 0 for s in w.subjects}, -NEVER
        for key, node in w.exempt.items():
            if node is self:
                w.exempt[key] = None
        if not w.enabled("no_setnx"):
            self.redis.sentinels.add(w.db.epoch)

    def background(self):
        """Invalidations arrive, and pending writes are applied."""
        w = self.w
        if self.invalidations and w.rnd.random() < 0.5:
            s = w.rnd.choice(list(self.invalidations))
            self.cache.pop(s, None)
            del self.invalidations[s]
        elif self.retrying:  # the database did not include it a step ago
            e, key, register = self.retrying
            self.retrying = None
            ok = self.can_apply() and e == self.epoch and self.call(self.redis.apply, e, [(0,) + key + (register, 0)])[0]
            if ok and self.applied_everywhere():
                self.remove_pending(key, register)
        elif self.pending and w.enabled("retry_pending"):
            key = w.rnd.choice(list(self.pending))
            register = self.pending[key]
            applied = self.can_apply() and self.applied_in[key] == self.epoch
            if applied and (self.lease_valid() or not w.enabled("applied_needs_lease")):
                self.remove_pending(key, register)
            elif self.up("database") and w.db.includes(*key, register):
                self.remove_pending(key, register)
            elif not applied:
                self.retrying = self.epoch, key, register

    def rewind(self):
        super().rewind()
        self.min_versions.clear()

    def rewound(self):
        """Whether others may have a valid lease on an epoch of a history that the database has left."""
        return self.w.now - self.rewind_noticed_at <= self.w.LEASE

    def can_apply(self):
        return self.open and (not self.rewound() or self.w.enabled("apply_rewound_epoch"))

    def applied_everywhere(self):
        """Whether every node reads the epoch to which an action was just applied."""
        return self.lease_valid() or not self.w.enabled("apply_needs_lease")

    def remove_pending(self, key, register):
        if key in self.pending and merge(self.w, register, self.pending[key])[1]:
            del self.pending[key]
        for x in [x for x, node in self.w.exempt.items() if x[:2] == key and node is self]:
            if merge(self.w, register, self.w.register(*x))[1]:
                del self.w.exempt[x]  # also the actions that it supersedes

    # Reading.

    def counts_in_redis(self, e, s):
        ok, c = self.call(self.redis.get_counts, e, s)
        if ok and c:
            self.observe(s, c[1])
        return ok, c

    def observe(self, s, version):
        have = self.min_versions.get(s, (0, 0))
        if version >= have[0] or self.w.now > have[1]:
            self.min_versions[s] = (version, self.w.now + self.w.MIN_VERSION_LIFE)

    def read_counts(self, e, asked, cached):
        """subject -> counts; None if Redis or the database is unavailable."""
        w, out, missing = self.w, {}, []
        for s in asked:
            if s in self.invalidations and w.now - self.invalidations[s] > w.INVALIDATION_DELAY:
                del self.invalidations[s]
                self.cache.pop(s, None)
            c = self.cache.get(s) if cached else None
            if c and c[0] == e:
                c = c[1]
            elif cached:
                ok, c = self.call(self.redis.get_counts, e, s)
                if not ok:
                    return None
                if c:
                    self.cache[s] = (e, c)
                    self.invalidations.pop(s, None)
            else:
                ok, c = self.counts_in_redis(e, s)
                if not ok:
                    return None
            min_version, until = self.min_versions.get(s, (0, 0))
            if w.now <= until and w.enabled("min_versions") and c and c[1] < min_version:
                ok, c = self.counts_in_redis(e, s)
                if not ok:
                    return None
                if c and c[1] < min_version and w.enabled("min_versions_reread"):
                    c = None
            out[s] = c
            if c is None:
                missing.append(s)
        if missing:
            yield
            if not self.up("database"):
                return None
            begin = w.now
            for s in missing:
                out[s] = w.db.counts[s]
            yield
            for s in missing:
                if w.enabled("min_versions_raised"):
                    self.observe(s, out[s][1])
                if w.now - begin <= w.MAX_FILL_AGE or not w.enabled("old_fills"):
                    self.call(self.redis.write_counts, e, s, out[s])
            yield
        return out

    def read_entries(self, e, u, asked):
        """subject -> entry; None if Redis or the database is unavailable."""
        w = self.w
        overlay = dict(self.pending) if w.enabled("overlay_first") else self.pending
        ok, reply = self.call(self.redis.get, e, u, asked, (self.name, w.now))
        if not ok:
            return None
        out, missing, lease = reply
        if missing:
            yield
            if not self.up("database"):
                return None
            rows = {s: (w.db.rows[u, s], w.db.counts[s][1]) for s in w.subjects if (u, s) in w.db.rows}
            yield
            if lease:
                self.call(self.redis.fill, e, u, lease, rows)
            for s in asked:
                register, at = rows.get(s, (UNSET, 0))
                history = ((at if w.enabled("fill_version") else 0, int(register), "f"),)
                x = out[s]
                merged, covered = merge(w, register, x[2]) if x else (register, True)
                if not x or covered and x[0] < register.version:
                    out[s] = (register.version, False, register, history, 0)
                else:
                    out[s] = (merged.version, x[1], merged, x[3] or history, 0)
            yield
        for s in asked:
            if (u, s) in overlay and w.enabled("overlay"):
                merged = join(w, out[s][2], overlay[u, s])
                if not merged.same(out[s][2]):
                    out[s] = (merged.version, True, merged) + out[s][3:]
        return out

    def query(self, u):
        w = self.w
        asked = w.rnd.sample(w.subjects, w.rnd.randint(1, 2))
        upto = {s: (w.required(u, s, self), len(w.acks[u, s])) for s in asked}
        before = {s: self.replied[s] for s in asked}
        e, valid_before, may_miss = self.epoch, self.lease_valid(), self.may_miss_writes()
        yield
        answer = (yield from self.interactives(e, u, asked)) if self.open else None
        valid = self.lease_valid() if w.enabled("lease_at_end") else valid_before
        if answer is None or not valid or may_miss or self.may_miss_writes() or self.epoch != e:
            w.stale_replies += 1
            return
        if w.recently(w.lost_at, e):
            return
        for s, (x, c, total) in answer.items():
            w.live_replies += 1
            if w.recently(w.rewound_at, e):
                self.check_since(u, s, x, upto[s])
                continue
            self.check(u, s, x, c, total, upto[s], before[s])

    def interactives(self, e, u, asked):
        """subject -> (entry, counts, total as the viewer sees it); None if that is unknown."""
        w = self.w
        if w.enabled("counts_first"):
            c = yield from self.read_counts(e, asked, True)
            yield
            x = c and (yield from self.read_entries(e, u, asked))
        else:
            x = yield from self.read_entries(e, u, asked)
            yield
            c = x and (yield from self.read_counts(e, asked, True))
        if not x or not c:
            return None
        out, marked = {}, w.enabled("trust_marks")
        for s in asked:
            contribution = contribution_at(x[s][3], c[s], marked)
            if contribution is None:
                yield
                again = yield from self.read_counts(e, [s], False)
                if not again:
                    return None
                c[s] = again[s]
                yield
                again = yield from self.read_entries(e, u, [s])
                if not again:
                    return None
                x[s] = again[s]
                contribution = contribution_at(x[s][3], c[s], marked)
            if contribution is None and not w.enabled("snapshot"):
                contribution = w.db.row(u, s)
            elif contribution is None:
                yield
                if not self.up("database"):
                    return None
                begin, c[s], contribution = w.now, w.db.counts[s], w.db.row(u, s)
                merged, covered = merge(w, contribution, x[s][2])
                x[s] = (merged.version, not covered and x[s][1], merged, None, 0)
                yield
                if w.enabled("min_versions_raised"):
                    self.observe(s, c[s][1])
                if w.enabled("snapshot_fills"):
                    fresh = w.now - begin <= w.MAX_FILL_AGE or not w.enabled("old_fills")
                    if not fresh or not self.call(self.redis.write_counts, e, s, c[s])[0]:
                        return None
                yield
            out[s] = (x[s], c[s], c[s][0] + x[s][2] - contribution)
        return out

    def check_since(self, u, s, x, upto):
        """A reply may include commits that the database has lost. It must include every action acknowledged since."""
        w = self.w
        need = {v for v in upto[0] & w.required(u, s, self, upto[1]) if w.issued[u, s, v] == w.db.history}
        if x[0] < max(need, default=0):
            w.report("own state after a rewind", u, s, x, max(need))

    def check(self, u, s, x, c, total, upto, before):
        w = self.w
        need = upto[0] & w.required(u, s, self, upto[1])
        if x[0] < max(need, default=0):
            w.report("own state", u, s, x, max(need))
        elif x[2] not in w.possible(u, s, x[0], need):
            w.report("state of no sequence of actions", u, s, x, sorted(w.action_states[u, s].items())[-4:], sorted(need)[-4:])
        others = w.db.contributions[s].get(c[1])
        if others is None:
            w.report("unknown version of counts", u, s, c)
        elif total != sum(others.values()) - others.get(u, 0) + x[2]:
            w.report("own count", u, s, x, c, total, others)
        if c[1] < before:
            w.report("counts went backwards", s, c, before)
        self.replied[s] = max(self.replied[s], c[1])

    # Writing.

    def read(self, u):
        w, s = self.w, self.w.rnd.choice(self.w.subjects)
        w.clock += 1
        v, w.ids = w.clock, w.ids + 1
        w.reads_begun[u, s].add(v)
        m, history = Message(w.ids, u, s, READ, v), w.db.history
        yield
        if w.queue_up:
            w.queue.append(m)
            yield
            w.ack_read(u, s, v, history)
            return
        if w.rnd.random() < 0.2:
            w.queue.append(m)  # published, but the confirm is lost
        if (yield from self.persist_directly([s], lambda: ([m.action], None))):
            w.ack_read(u, s, v, history)

    def mutate(self, u):
        w, s, state = self.w, self.w.rnd.choice(self.w.subjects), self.w.rnd.choice((1, 2, -1, -2, 0))
        e, upto, may_miss = self.epoch, (w.required(u, s, self), len(w.acks[u, s])), self.may_miss_writes()
        yield
        x = yield from self.read_entries(e, u, [s]) if self.open else no_op()
        x = x[s] if isinstance(x, dict) else None
        if x and x[3] is None and w.enabled("get_unknown_history"):
            yield
            row = w.db.row(u, s)
            if not self.up("database"):
                x = None
            else:
                merged, covered = merge(w, row, x[2])
                x = (merged.version, not covered and x[1], merged, None, 0)
        known = x and self.lease_valid() and not may_miss and not self.may_miss_writes() and self.epoch == e
        seen, in_doubt = x[0] if x else 0, self.in_doubt.get((u, s), UNSET)
        if known and merge(w, x[2], in_doubt)[1] and (x[2] == state if state >= 0 else x[2] != -state):
            need = upto[0] & w.required(u, s, self, upto[1])
            if not (w.recently(w.lost_at, e) or w.recently(w.rewound_at, e)):
                if seen < max(need, default=0) or x[2] not in w.possible(u, s, seen, need):
                    w.report("stale Get", u, s, x, sorted(need))
            return
        v = w.next_version(u, s, max(seen, in_doubt.version), known)
        w.action_states[u, s][v] = state
        w.ids += 1
        m = Message(w.ids, u, s, state, v)
        yield
        if w.queue_up:
            w.queue.append(m)
            m.last_barrier = w.barrier
            yield
            yield from self.apply(e, m)
            return
        if w.rnd.random() < 0.2:
            w.queue.append(m)  # published, but the confirm is lost
        tx = yield from self.persist_directly([s], lambda: ([m.action], None))
        if tx:
            w.ack(u, s, v)
        else:
            self.in_doubt[u, s] = join(w, w.register(u, s, v), in_doubt)

    def apply(self, e, m):
        w, (_, u, s, state, v) = self.w, m.action
        e = self.epoch
        returns_subject = self.can_apply() and not self.may_miss_writes() and (u, s) not in self.pending
        upto, before, c = (w.required(u, s, self), len(w.acks[u, s])), self.replied[s], None
        if returns_subject and w.enabled("apply_counts_first"):
            c = self.counts_in_redis(e, s)[1]
            yield
            returns_subject, e = e == self.epoch, self.epoch
        rewound = self.rewound() and self.up("redis")
        ok = self.can_apply() and self.call(self.redis.apply, e, [m.action])[0]
        x = self.redis.applied_entry(e, u, s) if ok and returns_subject else None
        if x and not w.enabled("apply_counts_first"):
            yield
            c = self.counts_in_redis(e, s)[1]
        # Other nodes may still read the previous epoch.
        if ok and w.now - self.learned_at <= w.LEASE and w.enabled("apply_previous_epoch"):
            ok = self.call(self.redis.apply, self.previous_epoch, [m.action])[0]
        if self.recently_closed() and w.enabled("apply_closed_epoch"):
            self.call(self.redis.apply, e, [m.action])
        if not ok or not self.applied_everywhere():
            applied = e if ok else None
            if (u, s) in self.pending and self.applied_in[u, s] != applied:
                applied = None
            self.applied_in[u, s] = applied
            self.pending[u, s] = join(w, self.pending.get((u, s), UNSET), register_of(w, state, v))
        closed = not self.open and w.now - self.lease_began <= w.LEASE and (self.up("redis") or not self.recently_closed())
        if ok and self.lease_valid() or closed or rewound:
            w.ack(u, s, v)
            if w.db.open and not w.db.rewound() and e != w.db.epoch and m.last_barrier >= w.db.barrier:
                w.report("acknowledged in an old epoch after its barrier", u, s, v, e, w.db.epoch)
        else:
            w.ack(u, s, v, self)  # other nodes may lack it
        if x and c and self.lease_valid() and e == self.epoch and not w.recently(w.lost_at, e):
            self.check_applied(u, s, v, x, c, upto, before, w.recently(w.rewound_at, e))
        yield

    def check_applied(self, u, s, v, x, c, upto, before, rewound):
        """Checks the reply of a mutation: counts read before the action was applied, and the entry that the script returned."""
        w, contribution = self.w, contribution_at(x[3], c, self.w.enabled("trust_marks"))
        if contribution is None:
            return
        w.mutation_replies += 1
        if x[0] < v:
            w.report("own action", u, s, x, v)
        if rewound:
            self.check_since(u, s, x, upto)
        else:
            self.check(u, s, x, c, c[0] + x[2] - contribution, upto, before)

    def persist_directly(self, subjects, actions):
        """Persists actions without the queue: invalidates under the locks, commits and publishes."""
        w, token = self.w, (self.name, self.w.now, self.w.rnd.random())

        def before(tx, changed):
            return (yield from self.invalidate(tx, changed, token) if w.enabled("direct_invalidates") else no_op())

        tx = yield from self.transact(subjects, actions, before, True)
        if tx and tx.epoch and not w.enabled("direct_invalidates"):
            yield from self.invalidate(tx, tx.subjects, token)
        if tx and tx.epoch:
            ok = yield from self.publish(tx, 3)
            if w.enabled("apply_persisted"):
                ok = self.call(self.redis.apply_persisted, tx.epoch, tx.actions)[0] and ok
                yield
            for u in {a[0] for a in tx.states} if ok and not w.enabled("guard_not_lifted") else ():
                self.call(self.redis.lift_guard, tx.epoch, u, token)
                yield
        return tx

    def invalidate(self, tx, changed, token):
        w, by = self.w, {}
        for u, s, _ in tx.states:
            by.setdefault(u, []).append(s)
        for u, subs in by.items():
            if not self.record_mark(self.redis.invalidate, tx.epoch, u, subs, token):
                return False
            yield
        for s in changed:
            if not self.record_mark(self.redis.fence, tx.epoch, s, tx.counts[s][1]):
                return False
            yield
        return True

    def empty_folder(self, u):
        """Empties a folder: clears all states of one user in one transaction."""
        w, taken = self.w, []

        def actions():
            for s in w.subjects:
                row = w.db.row(u, s)
                if row:
                    w.ids += 1
                    v = w.next_version(u, s, row.version, False)
                    w.action_states[u, s][v] = 0
                    taken.append((w.ids, u, s, 0, v))
            return taken, None

        tx = yield from self.persist_directly(w.subjects, actions)
        for _, _, s, _, v in taken if tx else ():
            w.ack(u, s, v)
