"""The processes of the model: nodes and the worker. What a process does is a generator; each yield ends a step."""
from stores import BARRIER, NEVER, NOTHING, READ, Transaction, join, merge, said


def included(history, c, marked=True):
    """The share that counts include by a history, None where that is not known."""
    share = None
    for v, st, kind in history or ():
        if v <= (c[2] if kind == "m" and marked else c[1]):
            share = st
    return share


class Part:
    """A process that knows an epoch and may be cut off from Redis or the database."""

    def __init__(self, world):
        self.w, self.redis = world, world.redis
        self.number, self.before, self.open, self.began, self.learned, self.closed = 1, 0, True, 0, -NEVER, -NEVER
        self.history, self.noticed = 0, -NEVER  # when it was noticed that the database has gone back
        self.claim()
        self.drained, self.evicted = True, self.redis.evicted
        self.fails, self.failing, self.probed, self.alarm = 0, None, None, False
        self.away = {"redis": 0, "database": 0}
        self.polling = self.poll()

    def claim(self):
        """This process has seen no epoch in its Redis yet."""
        self.held, self.lost, self.run, self.steady = 0, False, 0, NEVER  # the epoch that it has seen there, and in which run

    def may_begin(self, number, silence):
        """Whether this process may begin the epoch after one that is over: its mirror is the database's, or nobody uses that."""
        if not self.w.on("silence"):
            return True
        if self.held == number:
            return not self.lost or self.run == self.redis.run or silence >= 3 * self.w.SECOND // 2
        return min(silence, self.w.now - self.steady) >= 5 * self.w.SECOND

    def ours(self, number):
        """Whether those who read an epoch read it in this Redis."""
        ok, alive = self.call(lambda: number in self.redis.alive)
        return ok and alive or not self.w.on("ours")

    def up(self, what):
        return self.w.now >= self.away[what]

    def call(self, f, *args):
        """A call of Redis: whether it is known to have succeeded, and its result. What fails may have been done."""
        if self.up("redis"):
            return True, f(*args)
        if self.w.rnd.random() < 0.2:
            f(*args)
        return False, None

    def noted(self, f, *args):
        """A mark or a forget: its failures close the epoch."""
        ok, _ = self.call(f, *args)
        if ok:
            self.fails, self.failing = 0, None
        else:
            self.fails += 1
            self.failing = self.w.now if self.failing is None else self.failing
        return ok

    def sure(self):
        return self.open and (self.w.now - self.began <= self.w.VALID or not self.w.on("validity"))

    def closing(self):
        """Whether others may believe an epoch that is closed."""
        return not self.open and self.w.now - self.closed <= self.w.VALID

    def doubts(self):
        return not self.drained and self.w.on("doubt")

    def poll_step(self):
        next(self.polling)

    def poll(self):
        w, db, second = self.w, self.w.db, self.w.SECOND
        while True:
            while not self.up("database"):
                self.steady = NEVER
                yield
            begin = w.now
            yield
            number, is_open, since, drained = db.number, db.open, db.since, db.drained()
            barrier, age = db.barrier, w.now - db.raised
            rewound, history, silence = db.rewound(), db.history, w.now - db.held
            yield
            ok, alive = self.call(lambda: number in self.redis.alive)
            self.steady = min(self.steady, w.now) if ok else NEVER
            self.lost = is_open and ok and not alive
            if ok and alive and is_open:
                self.held, self.run = number, self.redis.run
            if is_open and self.held == number and not self.lost and not rewound:
                db.held = w.now
            if history != self.history and w.on("history"):
                self.history = history
                self.rewind()
            seen = False
            if rewound:
                if ok and self.may_begin(number, silence):
                    for _ in range(w.rnd.choice((0, 20, 60))):  # the database may be slow just then
                        yield
                    yield from self.begin_next(number)
                    continue
            elif is_open:
                if ok and self.redis.evicted > self.evicted and w.on("evicted"):
                    evicted, self.drained, drained = self.redis.evicted, False, False
                    yield
                    if self.up("database"):
                        db.doubt()
                        self.evicted = evicted
                seen = ok and (alive or not w.on("sentinel"))
                if ok and (not seen or self.alarm) and self.may_begin(number, silence):
                    self.alarm = False
                    yield from self.begin_next(number)
                    continue
            self.learn(number, is_open, begin if seen or not is_open and not rewound else self.began, drained)
            if not drained and (age > w.VALID or not w.on("barrier_late")):
                yield from self.drain(barrier)
            if is_open and self.held == number and not self.lost and self.failing is not None and self.fails > 1 and w.now - self.failing >= 2 * second:
                yield from self.change(number, 0)
                self.failing = None
            if is_open or rewound:
                self.probed = None
            elif w.now - since >= 5 * second and self.call(lambda: None)[0]:
                self.probed = w.now if self.probed is None else self.probed
                if w.now - self.probed >= second and self.may_begin(number, silence):
                    yield from self.begin_next(number)
            else:
                self.probed = None
            due = w.now + second // 2
            while w.now < due:
                yield

    def drain(self, barrier):
        """Workers alone have it passed."""
        return
        yield

    def learn(self, number, is_open, began, drained):
        if number != self.number:
            self.learned, self.before = self.w.now, self.number
        if self.open and not is_open:
            self.closed = self.w.now
        self.number, self.open, self.began, self.drained = number, is_open, began, drained

    def rewind(self):
        """The database has gone back: nothing is believed until a poll has found everything in place."""
        self.began, self.noticed = -NEVER, self.w.now

    def begin_next(self, number):
        w = self.w
        w.drawn = max(w.drawn + 1, number + 1) if w.on("fresh_numbers") else number + 1
        drawn = w.drawn
        ok, _ = self.call(self.redis.alive.add, drawn)
        yield
        if ok:
            yield from self.change(number, drawn)

    def change(self, number, following):
        """Close the epoch, or begin the next one, when no transaction is under way."""
        w, db = self.w, self.w.db
        if not self.up("database"):
            return
        db.waiting += 1
        try:
            while db.active and w.on("exclusive"):
                yield
        finally:
            db.waiting -= 1
        if db.number != number or not following and not db.open and not db.rewound():
            return
        db.fresh = bool(following) and (db.open or db.rewound())
        db.open, db.since, db.began = bool(following), w.now, db.history
        if following:
            db.number, db.before, db.held = following, number, w.now
            w.begun += 1
            db.doubt()

    def transact(self, subjects, actions, before, direct):
        """Returns the transaction that was committed, None where it was not, as far as one knows."""
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
            young = w.now - db.since < w.GRACE
            if young and (db.fresh and w.on("next_grace") if db.open else w.on("grace")):
                db.end(tx)
                return None
            if db.rewound():
                db.end(tx)
                return None
            tx.epoch = db.number if db.open else 0
            while db.locked & tx.subjects:
                yield
            db.lock(tx)
            some, _ = actions()
            for ahead, _, _, state, b in some:
                if state == BARRIER:
                    tx.barriers[b] = tx.barriers.get(b, set()) | ahead
            changed = db.prepare(tx, [a for a in some if a[3] != BARRIER], None, direct)
            yield
            if tx.epoch and not (self.sure() or self.ours(tx.epoch)):
                db.end(tx)
                return None
            if tx.epoch and not (yield from before(tx, changed)):
                db.end(tx)
                return None
            tx.ready = True
            yield
            if w.profile.get("lag") and w.rnd.random() < 0.1:
                db.end(tx)
                return None
            if w.profile.get("crash") and w.rnd.random() < 0.02 or not self.up("database"):
                w.zombies.append(tx)  # committed or not: nobody has told us
                return None
            return tx if db.commit(tx) else None
        except GeneratorExit:
            if tx in db.active:
                w.zombies.append(tx)
            raise

    def publish(self, tx, tries):
        """Returns whether everyone may see the counts."""
        if not tx.epoch:
            return True
        w = self.w
        for s in tx.subjects:
            while True:
                c = tx.counts[s]
                if w.now - tx.at > w.FILL and w.on("old_publishes"):  # the key may have gone and come since: read again
                    c = w.db.counts[s] if self.up("database") else None
                if c and self.call(self.redis.put_counts, tx.epoch, s, c, True)[0]:
                    break
                tries -= 1
                if tries == 0:
                    return False
                if self.number != tx.epoch or not self.open:
                    break
                yield
            yield
        return True


class Message:
    def __init__(self, *action):
        self.action = action  # id, user, subject, state, version; of a barrier also what is ahead of it
        self.delivered = self.again = self.redelivered = False
        self.behind = 0  # the latest barrier that was published before

    def barrier(self):
        return self.action[3] == BARRIER


class Worker(Part):
    def __init__(self, world):
        super().__init__(world)
        self.turn = self.idle = 0
        self.published = -NEVER  # the last barrier
        self.start()

    def start(self):
        """What was delivered comes again, not always in the order in which it was published."""
        self.turn += 1
        for m in self.w.queue:
            m.again, m.redelivered = m.again or m.delivered, m.redelivered or m.delivered
        self.w.queue.sort(key=lambda m: not (m.redelivered and m.barrier()))
        self.working = self.work(self.turn)

    def drain(self, barrier):
        """A barrier goes the way of the actions: who passes it has passed all that was confirmed before."""
        yield
        if self.w.queue_up and self.w.now - self.published > self.w.SECOND:
            self.published = self.w.now
            ahead = {m.action[0] for m in self.w.queue if not m.barrier()}
            self.w.queue.append(Message(ahead, None, None, BARRIER, barrier))
            self.w.barrier = max(self.w.barrier, barrier)

    def step(self):
        if self.w.now >= self.idle:
            next(self.working)

    def crash(self):
        self.claim()
        self.working.close()
        self.start()
        self.idle = self.w.now + self.w.rnd.choice((0, 0, 100, 400))

    def replaced(self):
        """The queue has lost this one and delivers to another. It goes on with what it has in hand."""
        self.w.ghosts.append(self.working)
        self.start()

    def work(self, turn):
        w, tried = self.w, []
        size, prefetch = (12, 16) if w.profile.get("lag") else (4, 6)
        while turn == self.turn:
            yield
            held = w.queue[:prefetch]
            if not held or turn != self.turn:
                continue
            for m in held:
                m.delivered = True
            batch = held[:w.rnd.randint(1, size)]
            again = [m for m in held if m.again]
            if again and not w.on("gather_all"):
                again = [m for m in batch if m.again]
            for m in again:
                m.again = False
            tried = [m for m in tried if m in w.queue] + [m for m in again if m not in tried]
            yield
            early = not w.on("forget_locked") and tried and w.on("forget")
            if early:
                if not (yield from self.forget_all(tried, w.db.number, None)):
                    continue
                tried = []
            committed = yield from self.persist(turn, batch, tried)
            if committed is None:
                tried = tried + [m for m in batch if m not in tried]
                if turn == self.turn and w.profile.get("crash") and w.rnd.random() < 0.3:
                    yield from self.stop(turn, batch[len(batch) // 2:], tried)
                continue
            if not (yield from self.publish(committed, 0)):
                continue
            self.ack(turn, batch)
            if w.profile.get("lag") and w.rnd.random() < (0.9 if committed.first else 0.01):
                self.idle = w.now + 250

    def ack(self, turn, batch):
        if turn == self.turn:
            done = set(batch)
            self.w.queue[:] = [m for m in self.w.queue if m not in done]

    def stop(self, turn, rest, tried):
        """A worker that is told to stop gives back what it could not persist, and tries the rest of the batch."""
        committed = yield from self.persist(turn, rest, tried, not self.w.on("barrier_stop"))
        if committed and (yield from self.publish(committed, 0)):
            self.ack(turn, rest)
        self.start()
        yield

    def persist(self, turn, batch, tried, passing=True):
        w = self.w

        def before(tx, changed):
            if turn != self.turn and w.on("fencing"):
                return False
            if w.on("forget_locked") and w.on("forget"):
                if not (yield from self.forget_all(tried, tx.epoch, tx.subjects)):
                    return False
            return (yield from self.mark(tx, changed) if w.on("mark_first") else nothing())

        actions = [m.action for m in batch if not m.barrier()
                   or passing and not (m.redelivered and w.on("barrier_fresh"))]
        tx = yield from self.transact({m.action[2] for m in batch if not m.barrier()}, lambda: (actions, None), before, False)
        if tx and tx.epoch and not w.on("mark_first"):
            yield from self.mark(tx, {s for s in tx.subjects})
        return tx

    def forget_all(self, messages, epoch, subjects):
        by = {}
        for m in messages:
            if not m.barrier() and (subjects is None or m.action[2] in subjects):
                _, u, s, state, v = m.action
                if state != READ:
                    by.setdefault(u, []).append(s)
        for u, subs in by.items():
            if not self.noted(self.redis.forget, epoch, u, subs, None):
                return False
            yield
        return True

    def mark(self, tx, changed):
        by = {}
        for u, s, register in tx.applied:
            by.setdefault(u, []).append((s, register, tx.counts[s][1] if s in changed else 0))
        for u, states in by.items():
            if not self.noted(self.redis.mark, tx.epoch, u, states):
                return False
            yield
        return True


def nothing():
    return True
    yield


class Node(Part):
    def __init__(self, world, name):
        super().__init__(world)
        self.name = name
        self.restart()

    def restart(self):
        w = self.w
        self.claim()
        self.local, self.stale, self.floors = {}, {}, {}
        self.unshown, self.doubtful, self.telling = {}, {}, None
        self.replied, self.began = {s: 0 for s in w.subjects}, -NEVER
        for key, node in w.excused.items():
            if node is self:
                w.excused[key] = None
        if not w.on("no_setnx"):
            self.redis.alive.add(w.db.number)

    def background(self):
        """Invalidations arrive; what could not be shown is shown."""
        w = self.w
        if self.stale and w.rnd.random() < 0.5:
            s = w.rnd.choice(list(self.stale))
            self.local.pop(s, None)
            del self.stale[s]
        elif self.telling:  # the database did not have it a moment ago
            e, key, register = self.telling
            self.telling = None
            if self.shows() and e == self.number and self.call(self.redis.show, e, [(0,) + key + (register, 0)])[0] and self.shown_to_all():
                self.shown(key, register)
        elif self.unshown and w.on("retry"):
            key = w.rnd.choice(list(self.unshown))
            register = self.unshown[key]
            if self.up("database") and w.db.has(*key, register):
                self.shown(key, register)
            else:
                self.telling = self.number, key, register

    def rewind(self):
        super().rewind()
        self.floors.clear()

    def rewound(self):
        """Whether others may believe an epoch on a line of commits that the database has left."""
        return self.w.now - self.noticed <= self.w.VALID

    def shows(self):
        return self.open and (not self.rewound() or self.w.on("show_rewound"))

    def shown_to_all(self):
        """Whether what was just shown was shown in the epoch of everybody else."""
        return self.sure() or not self.w.on("show_sure")

    def shown(self, key, register):
        if key in self.unshown and merge(self.w, register, self.unshown[key])[1]:
            del self.unshown[key]
        for x in [x for x, node in self.w.excused.items() if x[:2] == key and node is self]:
            if merge(self.w, register, self.w.word(*x))[1]:
                del self.w.excused[x]  # and what it has come in place of

    # Reading.

    def past(self, e, s):
        ok, c = self.call(self.redis.get_counts, e, s)
        if ok and c:
            self.raise_floor(s, c[1])
        return ok, c

    def raise_floor(self, s, version):
        have = self.floors.get(s, (0, 0))
        if version >= have[0] or self.w.now > have[1]:
            self.floors[s] = (version, self.w.now + self.w.FLOOR)

    def counts(self, e, asked, cached):
        """subject -> counts, None where a part is away."""
        w, out, missing = self.w, {}, []
        for s in asked:
            if s in self.stale and w.now - self.stale[s] > w.LAG:
                del self.stale[s]
                self.local.pop(s, None)
            c = self.local.get(s) if cached else None
            if c and c[0] == e:
                c = c[1]
            elif cached:
                ok, c = self.call(self.redis.get_counts, e, s)
                if not ok:
                    return None
                if c:
                    self.local[s] = (e, c)
                    self.stale.pop(s, None)
            else:
                ok, c = self.past(e, s)
                if not ok:
                    return None
            floor, until = self.floors.get(s, (0, 0))
            if w.now <= until and w.on("floors") and c and c[1] < floor:
                ok, c = self.past(e, s)
                if not ok:
                    return None
                if c and c[1] < floor and w.on("floor_database"):
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
                if w.on("floor_raised"):
                    self.raise_floor(s, out[s][1])
                if w.now - begin <= w.FILL or not w.on("old_fills"):
                    self.call(self.redis.put_counts, e, s, out[s])
            yield
        return out

    def entries(self, e, u, asked):
        """subject -> entry, None where a part is away."""
        w = self.w
        mine = dict(self.unshown) if w.on("overlay_first") else self.unshown
        ok, reply = self.call(self.redis.look, e, u, asked, (self.name, w.now))
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
                register, at = rows.get(s, (NOTHING, 0))
                history = ((at if w.on("fill_version") else 0, int(register), "f"),)
                x = out[s]
                merged, covered = merge(w, register, x[2]) if x else (register, True)
                if not x or covered and x[0] < register.version:
                    out[s] = (register.version, False, register, history, 0)
                else:
                    out[s] = (merged.version, x[1], merged, x[3] or history, 0)
            yield
        for s in asked:
            if (u, s) in mine and w.on("overlay"):
                merged = join(w, out[s][2], mine[u, s])
                if not merged.same(out[s][2]):
                    out[s] = (merged.version, True, merged) + out[s][3:]
        return out

    def query(self, u):
        w = self.w
        asked = w.rnd.sample(w.subjects, w.rnd.randint(1, 2))
        upto = {s: (w.required(u, s, self), len(w.acks[u, s])) for s in asked}
        before = {s: self.replied[s] for s in asked}
        e, early, doubted = self.number, self.sure(), self.doubts()
        yield
        answer = (yield from self.answer(e, u, asked)) if self.open else None
        sure = self.sure() if w.on("sure_at_end") else early
        if answer is None or not sure or doubted or self.doubts() or self.number != e:
            w.stale += 1
            return
        if w.lately(w.tainted, e):
            return
        for s, (x, c, total) in answer.items():
            w.live += 1
            if w.lately(w.behind, e):
                self.check_since(u, s, x, upto[s])
                continue
            self.check(u, s, x, c, total, upto[s], before[s])

    def answer(self, e, u, asked):
        """subject -> (entry, counts, what the viewer sees), None where that is not known."""
        w = self.w
        if w.on("counts_first"):
            c = yield from self.counts(e, asked, True)
            yield
            x = c and (yield from self.entries(e, u, asked))
        else:
            x = yield from self.entries(e, u, asked)
            yield
            c = x and (yield from self.counts(e, asked, True))
        if not x or not c:
            return None
        out, marked = {}, w.on("marked")
        for s in asked:
            share = included(x[s][3], c[s], marked)
            if share is None:
                yield
                again = yield from self.counts(e, [s], False)
                if not again:
                    return None
                c[s] = again[s]
                yield
                again = yield from self.entries(e, u, [s])
                if not again:
                    return None
                x[s] = again[s]
                share = included(x[s][3], c[s], marked)
            if share is None and not w.on("snapshot"):
                share = w.db.row(u, s)
            elif share is None:
                yield
                if not self.up("database"):
                    return None
                begin, c[s], share = w.now, w.db.counts[s], w.db.row(u, s)
                merged, covered = merge(w, share, x[s][2])
                x[s] = (merged.version, not covered and x[s][1], merged, None, 0)
                yield
                if w.on("floor_raised"):
                    self.raise_floor(s, c[s][1])
                if w.on("snapshot_fills"):
                    fresh = w.now - begin <= w.FILL or not w.on("old_fills")
                    if not fresh or not self.call(self.redis.put_counts, e, s, c[s])[0]:
                        return None
                yield
            out[s] = (x[s], c[s], c[s][0] + x[s][2] - share)
        return out

    def check_since(self, u, s, x, upto):
        """A reply may show what the database has lost, and must not lack what was acknowledged since."""
        w = self.w
        need = {v for v in upto[0] & w.required(u, s, self, upto[1]) if w.issued[u, s, v] == w.db.history}
        if x[0] < max(need, default=0):
            w.flag("own state after it went back", u, s, x, max(need))

    def check(self, u, s, x, c, total, upto, before):
        w = self.w
        need = upto[0] & w.required(u, s, self, upto[1])
        if x[0] < max(need, default=0):
            w.flag("own state", u, s, x, max(need))
        elif x[2] not in w.possible(u, s, x[0], need):
            w.flag("not what was said", u, s, x, sorted(w.words[u, s].items())[-4:], sorted(need)[-4:])
        others = w.db.at[s].get(c[1])
        if others is None:
            w.flag("counts of nothing", u, s, c)
        elif total != sum(others.values()) - others.get(u, 0) + x[2]:
            w.flag("own count", u, s, x, c, total, others)
        if c[1] < before:
            w.flag("went back", s, c, before)
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
            w.queue.append(m)  # and nobody has told us
        if (yield from self.direct([s], lambda: ([m.action], None))):
            w.ack_read(u, s, v, history)

    def mutate(self, u):
        w, s, state = self.w, self.w.rnd.choice(self.w.subjects), self.w.rnd.choice((1, 2, -1, -2, 0))
        e, upto, doubted = self.number, (w.required(u, s, self), len(w.acks[u, s])), self.doubts()
        yield
        x = yield from self.entries(e, u, [s]) if self.open else nothing()
        x = x[s] if isinstance(x, dict) else None
        if x and x[3] is None and w.on("look_history"):
            yield
            row = w.db.row(u, s)
            if not self.up("database"):
                x = None
            else:
                merged, covered = merge(w, row, x[2])
                x = (merged.version, not covered and x[1], merged, None, 0)
        known = x and self.sure() and not doubted and not self.doubts() and self.number == e
        seen, doubt = x[0] if x else 0, self.doubtful.get((u, s), NOTHING)
        if known and merge(w, x[2], doubt)[1] and (x[2] == state if state >= 0 else x[2] != -state):
            need = upto[0] & w.required(u, s, self, upto[1])
            if not (w.lately(w.tainted, e) or w.lately(w.behind, e)):
                if seen < max(need, default=0) or x[2] not in w.possible(u, s, seen, need):
                    w.flag("look", u, s, x, sorted(need))
            return
        v = w.version(u, s, max(seen, doubt.version), known)
        w.words[u, s][v] = state
        w.ids += 1
        m = Message(w.ids, u, s, state, v)
        yield
        if w.queue_up:
            w.queue.append(m)
            m.behind = w.barrier
            yield
            yield from self.show(e, m)
            return
        if w.rnd.random() < 0.2:
            w.queue.append(m)  # and nobody has told us
        tx = yield from self.direct([s], lambda: ([m.action], None))
        if tx:
            w.ack(u, s, v)
        else:
            self.doubtful[u, s] = join(w, w.word(u, s, v), doubt)

    def show(self, e, m):
        w, (_, u, s, state, v) = self.w, m.action
        e = self.number
        tells = self.shows() and not self.doubts() and (u, s) not in self.unshown
        upto, before, c = (w.required(u, s, self), len(w.acks[u, s])), self.replied[s], None
        if tells and w.on("show_counts_first"):
            c = self.past(e, s)[1]
            yield
            tells, e = e == self.number, self.number
        rewound = self.rewound() and self.up("redis")
        ok = self.shows() and self.call(self.redis.show, e, [m.action])[0]
        x = self.redis.peek(e, u, s) if ok and tells else None
        if x and not w.on("show_counts_first"):
            yield
            c = self.past(e, s)[1]
        if ok and w.now - self.learned <= w.VALID and w.on("show_both"):  # who has not learned yet looks there
            ok = self.call(self.redis.show, self.before, [m.action])[0]
        if self.closing() and w.on("show_closed"):
            self.call(self.redis.show, e, [m.action])
        if not ok or not self.shown_to_all():
            self.unshown[u, s] = join(w, self.unshown.get((u, s), NOTHING), said(w, state, v))
        closed = not self.open and w.now - self.began <= w.VALID and (self.up("redis") or not self.closing())
        if ok and self.sure() or closed or rewound:
            w.ack(u, s, v)
            if w.db.open and not w.db.rewound() and e != w.db.number and m.behind >= w.db.barrier:
                w.flag("shown before a barrier", u, s, v, e, w.db.number)
        else:
            w.ack(u, s, v, self)  # cut off from one of them
        if x and c and self.sure() and e == self.number and not w.lately(w.tainted, e):
            self.told(u, s, v, x, c, upto, before, w.lately(w.behind, e))
        yield

    def told(self, u, s, v, x, c, upto, before, behind):
        """What a mutation answers: the counts that were read before it was shown, and the state that the script returned."""
        w, share = self.w, included(x[3], c, self.w.on("marked"))
        if share is None:
            return
        w.told += 1
        if x[0] < v:
            w.flag("own action", u, s, x, v)
        if behind:
            self.check_since(u, s, x, upto)
        else:
            self.check(u, s, x, c, c[0] + x[2] - share, upto, before)

    def direct(self, subjects, actions):
        """Persists without the queue: forget under the locks, commit, publish."""
        w, token = self.w, (self.name, self.w.now, self.w.rnd.random())

        def before(tx, changed):
            return (yield from self.forget(tx, changed, token) if w.on("direct_forgets") else nothing())

        tx = yield from self.transact(subjects, actions, before, True)
        if tx and tx.epoch and not w.on("direct_forgets"):
            yield from self.forget(tx, tx.subjects, token)
        if tx and tx.epoch:
            ok = yield from self.publish(tx, 3)
            if w.on("show_persisted"):
                ok = self.call(self.redis.show_persisted, tx.epoch, tx.said)[0] and ok
                yield
            for u in {a[0] for a in tx.applied} if ok and not w.on("no_lift") else ():
                self.call(self.redis.lift, tx.epoch, u, token)
                yield
        return tx

    def forget(self, tx, changed, token):
        w, by = self.w, {}
        for u, s, _ in tx.applied:
            by.setdefault(u, []).append(s)
        for u, subs in by.items():
            if not self.noted(self.redis.forget, tx.epoch, u, subs, token):
                return False
            yield
        for s in changed:
            if not self.noted(self.redis.fence, tx.epoch, s, tx.counts[s][1]):
                return False
            yield
        return True

    def bulk(self, u):
        """Empties a folder: everything of one user in one transaction."""
        w, taken = self.w, []

        def actions():
            for s in w.subjects:
                row = w.db.row(u, s)
                if row:
                    w.ids += 1
                    v = w.version(u, s, row.version, False)
                    w.words[u, s][v] = 0
                    taken.append((w.ids, u, s, 0, v))
            return taken, None

        tx = yield from self.direct(w.subjects, actions)
        for _, _, s, _, v in taken if tx else ():
            w.ack(u, s, v)
