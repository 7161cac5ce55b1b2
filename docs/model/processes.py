"""The processes of the model: nodes and workers. Every activity is a generator: a yield ends a step, and may name the time
of the next one. A call of Redis that fails may still be executed, at any later time."""
from types import SimpleNamespace
from stores import NEVER, NO_COUNTS, READ, Action, Entry, Epoch, Message, Transaction, filled

class Process:
    """A process has a lease on an epoch, and tells Redis what was committed."""
    def __init__(self, world, index):
        self.w, self.index, self.redis = world, index, world.redis
        self.down_until, self.paused_until = {"redis": 0, "database": 0}, 0
        self.start()

    def start(self):
        self.row = Epoch(0, False, 0, -NEVER, False)  # of the epoch, as the latest poll has found it
        self.lease_began = self.polled_at = -NEVER
        self.cache, self.invalidations, self.newest, self.replied = {}, [], {}, {}  # subject -> (epoch, Counts), ...
        self.activities = [[self.poll(), 0], [self.sweep(), 0]]  # generators, and the time of their next step

    def spawn(self, activity): self.activities.append([activity, 0])
    def up(self, what): return self.w.now >= self.down_until[what]

    def kill(self, until=0):
        for activity, _ in self.activities: activity.close()
        self.paused_until = max(self.paused_until, until)
        self.start()

    def step(self):
        ready = [a for a in self.activities if a[1] <= self.w.now]
        if ready and self.w.now >= self.paused_until:
            timely = self.activities[0] in ready and self.w.rnd.random() < 0.5  # the poll
            activity = self.activities[0] if timely else self.w.rnd.choice(ready)
            activity[1] = next(activity[0], self) or 0
            if activity[1] is self: self.activities.remove(activity)

    def disconnect(self, what, until, server=None):
        """Loses a connection. server: of Redis, to which the next one leads."""
        self.down_until[what] = max(self.down_until[what], until)
        if what == "redis":
            self.invalidations.clear()  # none arrives any more
            if self.w.enabled("cache_cleared"): self.cache.clear()
            if server and self.w.enabled("reconnect"): self.lease_began = -NEVER
            self.redis = server or self.redis

    def call(self, f, *args):
        """Calls Redis. Returns whether the call succeeded, and its result."""
        if self.up("redis"): return True, f(*args)
        if self.w.rnd.random() < 0.3: self.w.late.append(lambda: f(*args))
        return False, None

    def lease_valid(self, e):
        fresh = self.w.now - self.lease_began <= self.w.LEASE or not self.w.enabled("lease_expiry")
        return self.row.number == e and self.row.open and fresh

    def poll(self):
        """Renews the lease, and ends and begins epochs."""
        w, db = self.w, self.w.db
        while True:
            if self.up("database"):
                began = w.now; yield
                row = db.epoch; yield
                reached = self.up("redis")
                ours = reached and (self.redis.run == row.run or not w.enabled("run"))
                if row.open and ours:  # the reply of Redis comes behind the invalidations before it, on the same connection
                    while self.invalidations and w.enabled("poll_after_invalidations"):
                        self.cache.pop(self.invalidations.pop(), None)
                    self.row, self.lease_began = row, began
                elif row.number != self.row.number or not row.open: self.row, self.lease_began = row, -NEVER
                self.polled_at = began
                if row.open and reached and not ours and self.up("database"):
                    db.close_epoch(row.number)  # another server, which may lack what the former one had
                if not row.open and reached and (w.expired(row) or not w.enabled("open_waits")):
                    run = self.redis.run; yield
                    if self.up("database"): db.open_epoch(row.number, run)
                if not row.drained and (w.expired(row) or not w.enabled("barrier_waits")):
                    w.publish(Message(w.new_id(), (), row.closed_at))  # a barrier
            yield w.now + w.profile.get("poll", w.SECOND // 2)

    def persist(self, messages, direct, told=()):
        """Returns the transaction, or None if it failed or its outcome is unknown."""
        if not self.up("database"): return None
        tx = Transaction(self.w, messages, direct, told)
        self.w.transactions.append(tx.run())
        while not tx.ended:
            if not self.up("database"): return None
            if tx.computed and not self.w.enabled("commit_first"): return tx
            yield
        return tx if tx.committed and self.w.rnd.random() >= self.w.profile.get("unknown", 0) else None

    def tell(self, told):
        """Tells Redis what was committed. When it returns, every later LIVE answer includes it: Redis was told in the epoch
        that all nodes read, or no node believes in an epoch. Returns the entries that were told."""
        w, began, failed = self.w, self.w.now, 0
        while True:
            yield w.soon()
            e, entries, ok = self.row.number, {}, True
            if self.row.open:
                calls = [(None, self.redis.tell_counts, (e, s, c)) for s, c in told.counts.items()]
                for (u, s), row in told.rows.items():
                    calls.append(((u, s), self.redis.tell_entry, (e, u, s, row, told.counts[s].version)))
                for key, f, args in calls:
                    ok, entries[key] = self.call(f, *args); yield
                    if not ok: break
                if ok and (self.lease_valid(e) or not w.enabled("lease_after_tell")): return entries
                failed += not ok
                if failed > 2 and not w.enabled("close"): return {}
                if failed > 2 and self.up("database"): w.db.close_epoch(e)
            elif self.polled_at > began or not w.enabled("closed_after_commit"):
                if self.row.number and (w.expired(self.row) or not w.enabled("reply_waits")): return {}
            yield w.now + 5

    def sweep(self):
        """Tells what others have left untold."""
        w, inbox = self.w, self.w.db.inbox
        while True:
            yield w.now + w.SECOND // 2
            ids = [i for i, b in inbox.items() if not b.told and w.now - b.at > w.SECOND]
            if ids and self.up("database") and w.enabled("sweep"):
                yield from self.tell(w.db.told([a for i in ids for a in inbox[i].keys]))
                for i in ids if self.up("database") else (): inbox[i].told = True

class Worker(Process):
    def start(self):
        super().start()  # and the queue delivers again what was not acked
        delivered = [m for m in self.w.queue if m.delivered]
        self.w.rnd.shuffle(delivered)
        self.w.queue[:len(delivered)] = delivered
        for m in delivered: m.redelivered = True
        self.spawn(self.work())

    def work(self):
        """Persists what is queued, tells, and acks."""
        w = self.w
        while True:
            batch = w.queue[:w.rnd.randint(1, 4)]
            yield 0 if batch else w.now + 8
            for m in w.queue[:12]: m.delivered = True  # prefetched
            tx = (yield from self.persist(batch, False)) if batch else None
            if not tx: continue
            if w.enabled("ack_after_tell") and (w.enabled("tell_repeated") or len(tx.fresh) == len(batch)):
                yield from self.tell(tx.told)
            w.queue[:] = [m for m in w.queue if m not in batch]

class Node(Process):
    def start(self):
        super().start()
        self.last, self.told, self.forming = 0, [], {"actions": [], "reads": []}  # version; ids to be marked told; batches
        self.skew = self.w.rnd.choice((0, 300, 900)) if self.w.profile.get("skew") else 0
        for lane in self.forming: self.spawn(self.flush(lane))

    def mutate(self, u):
        """after: the versions behind which the action belongs. published: whether the queue may commit an earlier attempt."""
        w, s = self.w, self.w.rnd.choice(self.w.subjects)
        state = READ if w.rnd.random() < 0.2 else w.rnd.choice((1, 1, 2, -1, -2, 0))
        request = SimpleNamespace(user=u, subject=s, state=state, after=w.ordered[u, s], attempts=[], changed=False,
                                  published=False, reply=None)
        yield
        self.record(request)
        while not request.reply: yield w.now + 3

    def record(self, request, above=0):
        """Gives an action its version, unique to the node, and adds it to the next batch."""
        self.last = max(self.w.now + self.skew, self.last + 1, above // self.w.NODES + 1)
        version = self.last * self.w.NODES + self.index
        request.action = Action(self.w.new_id(), request.user, request.subject, request.state, version)
        request.attempts.append(request.action)
        read = request.state == READ
        if not read and self.w.rnd.random() < self.w.profile.get("poison", 0): self.w.poison.add(request.action.id)
        self.forming["reads" if read else "actions"].append(request)

    def flush(self, lane):
        """One batch after the other: in one transaction, or through the queue. Both lanes use the same id."""
        w = self.w
        while True:
            requests, self.forming[lane] = self.forming[lane], []
            yield 0 if requests else w.now + 8
            message = Message(w.new_id(), [r.action for r in requests])
            queue_first = lane == "reads" or w.rnd.random() < w.profile.get("overload", 0)
            for attempt in range(8 if requests else 0):
                if queue_first or attempt > 2:
                    yield
                    if w.publish(message):
                        for r in requests: self.spawn(self.show_queued(message, r, r.action))
                        break
                told = self.told[:]
                tx = yield from self.persist([message], True, told)
                if tx:
                    self.told = [i for i in self.told if i not in told]
                    self.spawn(self.finish(message, requests, tx))
                    break
                yield
            else:
                for r in requests: r.reply = "UNAVAILABLE"

    def finish(self, message, requests, tx):
        """After the commit: tell, then reply."""
        w, entries = self.w, {}
        if not w.enabled("told_mark"): self.told.append(message.id)
        if w.enabled("reply_after_tell"): entries = yield from self.tell(tx.told)
        for r in requests:
            if tx.results[r.action] is None: r.reply = "REFUSED"
            else: self.reply(r, tx, tx.results[r.action], entries.get((r.user, r.subject)))
        if not w.enabled("reply_after_tell"): yield from self.tell(tx.told)
        if w.enabled("told_mark"): self.told.append(message.id)

    def reply(self, r, tx, result, entry):
        """entry: the viewer's, as it was told."""
        if r.state == READ: return self.w.acknowledge(r, "QUEUED")
        (changed, older), row, counts = result, tx.rows[r.user, r.subject], tx.counts[r.subject]
        r.changed = r.changed or changed
        later = entry.register.version if entry and self.w.enabled("entry_order") else 0
        after = r.after[0 if entry and entry.known else 1]
        if older and self.w.enabled("repeat_older") or later > r.action.version: self.record(r, max(later, row.version))
        elif r.published: self.w.acknowledge(r, "QUEUED", after)
        else:
            self.w.persisted(self, r, row, counts, after)
            self.see(r.subject, counts)

    def show_queued(self, message, request, a):
        """After the confirm: the viewer's entry carries the action, then the reply."""
        w, deadline = self.w, self.w.now + 5 * self.w.SECOND
        if a.state == READ: return w.acknowledge(request, "QUEUED")
        yield w.soon()
        while w.now < deadline:
            row, ok, before = self.row, False, None
            if row.open: ok, before = self.call(self.redis.queue, row.number, message.id, a)
            yield
            leased = self.lease_valid(row.number)
            # Without the database nobody can tell whether the epoch has ended.
            blind = not self.up("database") and self.redis.run == row.run and self.row == row
            if ok and (leased or blind) or not w.enabled("queued_entry"):
                if before and before.register.version > a.version and w.enabled("entry_order"):
                    request.published = w.enabled("published_unknown")
                    return self.record(request, before.register.version)
                after = request.after[0] if before and before.known else 0
                return w.acknowledge(request, "QUEUED", after, epoch=None if leased else row)
            if self.up("database") and message.id in w.db.inbox:  # persisted meanwhile, or refused
                if w.db.inbox[message.id].results[a] is None: break
                yield from self.tell(w.db.told([a]))
                return w.acknowledge(request, "QUEUED")
            yield w.now + 10
        request.reply = "UNAVAILABLE"

    def see(self, s, c):
        """The newest counts of a subject that this node has seen."""
        self.newest[s] = max(c, self.newest.get(s, NO_COUNTS))
        return self.newest[s] if self.w.enabled("newest") else c

    def query(self, u):
        """Answers from Redis in an epoch, else from the database."""
        w, asked = self.w, self.w.rnd.sample(self.w.subjects, self.w.rnd.randint(1, 2))
        need = w.needs(self, u, asked); yield
        e, drained = self.row.number, self.row.drained or not w.enabled("drained")
        answer = (yield from self.from_redis(e, u, asked)) if self.lease_valid(e) else None
        if answer and (self.lease_valid(e) or not w.enabled("lease_at_end")):
            queued = any(x.queued or not x.known for x, _ in answer.values()) and w.enabled("queued_stale")
            return w.answered(self, u, answer, need, "STALE" if not drained else "OWN" if queued else "LIVE")
        snapshot = lambda: (w.db.epoch, w.db.told([Action(0, u, s, 0, 0) for s in asked]))
        epoch, told = (yield from self.from_database(snapshot)) or (None, None)
        if not told: return w.answered(self, u, {}, need, "STALE")
        live = not epoch.open and (epoch.drained or not w.enabled("drained")) or not w.enabled("database_stale")
        answer = {s: (Entry(told.rows[u, s]), self.see(s, told.counts[s])) for s in asked}
        w.answered(self, u, answer, need, "LIVE" if live else "STALE")

    def from_database(self, snapshot):
        """Returns a snapshot of the database, or None."""
        yield
        if not self.up("database"): return None
        out = snapshot()
        yield self.w.soon()
        return out

    def from_redis(self, e, u, asked):
        """subject -> (Entry, Counts); None if that is not known. Counts first: an entry then says whether they are too old."""
        counts = {}
        for s in asked:
            cached = self.cache.get(s)
            counts[s] = cached[1] if cached and cached[0] == e else (yield from self.read_counts(e, s, True))
            if counts[s] is None: return None
        yield
        entries = yield from self.read_entries(e, u, asked)
        for s in asked if entries else ():
            c = self.see(s, counts[s])
            if c.version < entries[s].seen and self.w.enabled("seen"):
                c = yield from self.read_counts(e, s, False)
                if c is None: return None
                c = self.see(s, c)
            counts[s] = c
        return entries and {s: (entries[s], counts[s]) for s in asked}

    def read_counts(self, e, s, cached):
        """Reads counts from Redis, and from the database if Redis has none: a fill, under the lease that Redis gave."""
        token = object()
        ok, c = self.call(self.redis.get_counts, e, s, token)
        if c and cached: self.cache[s] = (e, c)
        if c or not ok: return c
        c = yield from self.from_database(lambda: self.w.db.counts[s])
        if c:
            self.call(self.redis.fill_counts, e, s, token, c); yield
        return c

    def read_entries(self, e, u, asked):
        """Reads entries from Redis, and from the database what is missing or must be looked up: a fill, too."""
        w, db, token = self.w, self.w.db, object()
        ok, out = self.call(self.redis.get_entries, e, u, asked, token)
        missing = [s for s in asked if self.redis.missing(out[s])] if ok else []
        if not missing: return out
        everything = w.rnd.random() < 0.6
        read = lambda: {s: (db.row(u, s), db.counts[s].version) for s in (w.subjects if everything else missing)}
        queued = {i for x in out.values() if x for i in x.queued}
        rows, done = (yield from self.from_database(lambda: (read(), queued & db.inbox.keys()))) or (None, None)
        if rows is None: return out if all(out.values()) else None
        self.call(self.redis.fill_entries, e, u, token, rows, everything, done); yield
        return out | {s: filled(w, out[s] or Entry(), *rows[s], done) for s in missing}
