"""The database and Redis of the model. Every method is one atomic step; time is the world's, in steps."""

NEVER = float("inf")
KEEP = 3  # marks a history remembers
READ = "read"  # the state of an action that is a read
BARRIER = "barrier"  # of what is no action, and whose version is the number of a barrier
NONE = (0, False, 0, ((0, 0, "f"),), 0)  # the entry of what is absent from a window that holds all


class Transaction:
    """What a transaction is about to write."""

    def __init__(self, subjects, epoch):
        self.subjects, self.epoch = subjects, epoch
        self.rows, self.inbox, self.counts, self.applied = {}, set(), {}, []
        self.reads = []  # (user, subject, version)
        self.ready = False  # marked: nothing is left but the commit
        self.deadline = NEVER
        # A barrier that it passes, the messages that were ahead of it, and whether it is the first to pass it.
        self.barrier, self.ahead, self.first = 0, set(), False
        self.holds = False


class Database:
    def __init__(self, world):
        self.world = world
        self.rows = {}                                   # (user, subject) -> (state, version)
        self.counts = {s: (0, 0, 0, 0) for s in world.subjects}  # total, version, version of the last queue worker, reads
        self.reads = {(u, s): set() for u in world.users for s in world.subjects}  # versions
        self.inbox = set()
        self.number, self.open, self.since, self.fresh = 1, True, -NEVER, False
        self.barrier, self.raised, self.passed = 0, -NEVER, 0  # the latest, when it was raised; the latest that was passed
        self.locked, self.active, self.waiting = set(), set(), 0
        self.at = {s: {0: {}} for s in world.subjects}   # oracle: whose share each version includes

    def row(self, u, s):
        return self.rows.get((u, s), (0, 0))

    def prepare(self, tx, actions, _, direct):
        """Writes the rows of a transaction that holds its locks. actions: (id, user, subject, state, version)."""
        w, latest = self.world, {}
        for i, u, s, state, v in actions:
            if i in self.inbox and w.on("inbox"):
                continue
            tx.inbox.add(i)
            if state == READ:
                tx.reads.append((u, s, v))
            elif v > latest.get((u, s), (0, 0))[1]:
                latest[u, s] = (state, v)
        changed = set()
        for (u, s), (state, v) in latest.items():
            have = self.row(u, s)
            if v > have[1]:
                tx.rows[u, s] = (state, v)
                changed.add(s)
            tx.applied.append((u, s) + tx.rows.get((u, s), have))
        changed |= {s for _, s, _ in tx.reads}
        for s in tx.subjects:
            total, version, marked, reads = self.counts[s]
            if s in changed:
                reads += sum(x == s for _, x, _ in tx.reads)
                total += sum(st - self.row(u, x)[0] for (u, x), (st, _) in tx.rows.items() if x == s)
                version += 1
                if not direct and tx.epoch:
                    marked = version
            tx.counts[s] = (total, version, marked, reads)
        tx.deadline = w.now + w.TX
        return changed

    def commit(self, tx):
        """False where it is too late: the database has given the transaction up."""
        if self.world.now > tx.deadline and self.world.on("tx_timeout"):
            self.end(tx)
            return False
        tx.at = self.world.now
        self.rows.update(tx.rows)
        self.inbox |= tx.inbox
        if tx.barrier > self.passed and not tx.ahead <= self.inbox:
            self.world.flag("barrier passed", tx.barrier)
        self.passed, tx.first = max(self.passed, tx.barrier), tx.barrier > self.passed
        for u, s, v in tx.reads:
            self.reads[u, s].add(v)
        for s, c in tx.counts.items():
            self.counts[s] = c
            self.at[s].setdefault(c[1], {u: st for (u, x), (st, _) in self.rows.items() if x == s})
        self.end(tx)
        self.world.committed(tx)
        return True

    def doubt(self):
        """What is queued now may not be shown: until the next barrier is passed, nobody knows."""
        self.barrier, self.raised = self.barrier + 1, self.world.now

    def drained(self):
        return self.passed >= self.barrier

    def lock(self, tx):
        tx.holds = True
        self.locked |= tx.subjects

    def end(self, tx):
        self.active.discard(tx)
        if tx.holds:
            self.locked -= tx.subjects
            tx.holds = False


class Window:
    def __init__(self):
        self.entries = {}    # subject -> (version, shown, state, history, touched); history: ((version, share, kind), ...)
        self.loaded = self.full = False
        self.lease, self.guard = None, (0, None)


class Redis:
    """Counts: (epoch, subject) -> [counts or None, expires, fence]. Windows: (epoch, user) -> Window."""

    def __init__(self, world):
        self.world, self.counts, self.windows, self.alive = world, {}, {}, {1}
        self.evicted = 0  # windows that held something shown

    def _touch(self, s):
        for n in self.world.nodes:
            if s in n.local and s not in n.stale:
                n.stale[s] = self.world.now

    def get_counts(self, e, s):
        have = self.counts.get((e, s))
        if have and self.world.now >= have[1]:
            del self.counts[e, s]
            self._touch(s)
            have = None
        return have[0] if have else None

    def put_counts(self, e, s, c, published=False):
        old = self.get_counts(e, s)
        have = self.counts.get((e, s))
        fence = have[2] if have else 0
        if old and (old[1] > c[1] or old[1] == c[1] and not published):
            return
        if fence and c[1] < fence and self.world.on("fence"):
            self.counts[e, s] = [c, have[1], fence]
        else:
            self.counts[e, s] = [c, NEVER, 0]
        if old != c:
            self._touch(s)

    def fence(self, e, s, version):
        """A direct writer is about to commit this version: what is there does not live long."""
        soon = self.world.now + self.world.GUARD
        have = self.counts.get((e, s))
        if have is None:
            if self.world.on("fence"):
                self.counts[e, s] = [None, soon, version]
        elif self.world.on("shorten"):
            have[1], have[2] = min(have[1], soon), max(have[2], version)

    def window(self, e, u, make=False):
        w = self.windows.get((e, u))
        if w is None and make:
            w = self.windows[e, u] = Window()
        return w

    def look(self, e, u, subjects, token):
        """Entries, whether something is missing, and a lease."""
        w = self.window(e, u, make=True)
        out, missing = {}, not w.loaded
        for s in subjects:
            x = w.entries.get(s)
            if x:
                w.entries[s] = x = x[:4] + (self.world.now,)
            elif w.full:
                x = NONE
            else:
                missing = True
            out[s] = x
        lease = None
        if missing and (self.world.now >= w.guard[0] or not self.world.on("guard")):
            w.lease = lease = w.lease or token
        return out, missing, lease

    def fill(self, e, u, lease, rows):
        """rows: subject -> (state, version, counts version), of all that the user ever touched."""
        w = self.window(e, u)
        if w is None or w.lease != lease and self.world.on("leases"):
            return
        for s in self.world.subjects:
            x, row = w.entries.get(s), rows.get(s)
            state, v, at = row or (0, 0, 0)
            history = ((at if self.world.on("fill_version") else 0, state, "f"),) if row else ((0, 0, "f"),)
            stays = x and (x[1] or self.world.now - x[4] < self.world.MINUTE and self.world.on("stays")) and x[0] >= v
            if stays:
                w.entries[s] = (x[0], x[1] and x[0] > v, x[2], x[3] or history, x[4])
            elif row:
                w.entries[s] = (v, False, state, history, self.world.now)
            else:
                w.entries.pop(s, None)
        w.loaded = w.full = True

    def show(self, e, actions):
        for _, u, s, state, v in actions:
            w = self.window(e, u, make=True)
            x = w.entries.get(s) or (NONE if w.full else (0, False, 0, None, 0))
            if v > x[0]:
                w.entries[s] = (v, True, state, x[3], self.world.now)
                w.lease = None

    def show_persisted(self, e, applied):
        for u, s, state, v in applied:
            w = self.window(e, u)
            x = w and w.entries.get(s)
            if x and x[0] < v:
                w.entries[s] = (v, False, state, None, self.world.now)

    def mark(self, e, u, states):
        """states: (subject, state, version, counts version or 0)."""
        w = self.window(e, u, make=True)
        for s, state, v, at in states:
            x = w.entries.get(s) or (NONE if w.full else None)
            if x is None:
                w.guard = (self.world.now + self.world.GUARD, None)
                continue
            history = x[3]
            if at:
                kept = tuple(h for h in history or () if h[0] < at)
                if not kept or kept[-1][1] != state:
                    kept = kept[1 - KEEP:] + ((at, state, "m"),)
                history = kept
            if x[0] <= v:
                w.entries[s] = (v, False, state, history, self.world.now)
            else:
                w.entries[s] = x[:3] + (history, self.world.now)
        w.lease = None

    def forget(self, e, u, subjects, token):
        w = self.window(e, u, make=True)
        for s in subjects:
            x = w.entries.get(s)
            if x and (x[1] or self.world.on("forget_keeps")):
                w.entries[s] = (x[0], True, x[2], None, x[4])
            elif x:
                del w.entries[s]
        w.loaded = w.full = False
        w.lease, w.guard = None, (self.world.now + self.world.GUARD, token)

    def lift(self, e, u, token):
        w = self.window(e, u)
        if w and w.guard[1] == token:
            w.guard = (0, None)

    def evict(self, rnd):
        """What nobody has touched for a while, and counts at any time."""
        if self.counts and rnd.random() < 0.6:
            key = rnd.choice(list(self.counts))
            if self.counts[key][2] == 0:
                del self.counts[key]
                self._touch(key[1])
        elif self.windows:
            key = rnd.choice(list(self.windows))
            w = self.windows[key]
            idle = all(not x[1] and self.world.now - x[4] > self.world.MINUTE for x in w.entries.values())
            if idle and self.world.now >= w.guard[0]:
                del self.windows[key]

    def evict_shown(self, rnd):
        """A window that may hold something shown. That some were evicted can be seen."""
        if self.windows:
            key = rnd.choice(list(self.windows))
            w = self.windows[key]
            settled = all(self.world.now - x[4] > self.world.TX for x in w.entries.values())
            if settled and self.world.now >= w.guard[0]:
                del self.windows[key]
                self.evicted += 1

    def trim(self, rnd):
        """One entry that nobody has touched for a while; a window that is to be loaded again."""
        if self.windows:
            e, u = rnd.choice(list(self.windows))
            w = self.windows[e, u]
            idle = [s for s, x in w.entries.items() if not x[1] and self.world.now - x[4] > self.world.MINUTE]
            if idle:
                del w.entries[rnd.choice(idle)]
                w.full = False
            elif rnd.random() < 0.5:
                w.loaded = False  # it has lasted long enough

    def lose(self, everything):
        for e, s in list(self.counts):
            self._touch(s)
        self.counts.clear()
        if everything:
            self.windows.clear()
            self.alive.clear()
