"""The database and Redis of the model. Every method is one atomic step. Time is counted in steps of the world."""

NEVER = float("inf")
HISTORY_LENGTH = 3  # maximum length of a history
READ = "read"  # the state of an action that records a read
BARRIER = "barrier"  # the state of a message that is a barrier; its version is the number of the barrier


class Register(int):
    """A reaction (0, 1 or 2) with the version of the latest unconditional action and the versions of the latest clears of
    1 and of 2, if they are higher. The reaction is unknown if only clears are known."""

    def __new__(cls, value, version, clears=(0, 0), known=True):
        self = super().__new__(cls, value)
        self.set, self.clears, self.known = version, clears, known
        self.version = max(version, *clears)
        return self

    def same(self, other):
        return (int(self), self.set, self.clears, self.known) == (int(other), other.set, other.clears, other.known)

    def __repr__(self):
        return f"{int(self) if self.known else '?'}@{self.set}" + (f"-{self.clears}" if any(self.clears) else "")


UNSET, UNKNOWN = Register(0, 0), Register(0, 0, known=False)
KNOWN_NONE = (0, False, UNSET, ((0, 0, "f"),), 0)  # an absent entry of a full window: known to be unset


def register_of(world, state, v):
    """The Register of a single action: state 0, 1 or 2 sets the reaction, -1 or -2 clears only reaction 1 or 2."""
    if state >= 0 or not world.enabled("conditional_clears"):
        return Register(max(state, 0), v)
    clears = (v, 0) if state == -1 else (0, v)
    return Register(0, 0, clears, known=False)


def join(world, a, b):
    """b merged into a, which wins if both have the same version."""
    if b.set == 0 and any(b.clears) and not world.enabled("registers"):
        return Register(0, b.version) if a and a.set < b.clears[a - 1] else a
    value, at = (b, b.set) if b.set > a.set or not a.known and b.set == a.set else (a, a.set)
    clears = tuple(c if c > at else 0 for c in map(max, a.clears, b.clears))
    return Register(0 if value and clears[value - 1] else int(value), at, clears, a.known or b.known)


def merge(world, row, x):
    """Merges an entry x into a row of the database. Also returns whether the row covers the entry."""
    if not world.enabled("merge_rows"):
        return (row, True) if row.version >= x.version else (x, False)
    merged = join(world, row, x)
    return merged, merged.same(row)


def deep_copy(x):
    """A copy that shares no dict or set."""
    return {k: deep_copy(v) for k, v in x.items()} if isinstance(x, dict) else set(x) if isinstance(x, set) else x


class Transaction:
    """The writes of a transaction before its commit."""

    def __init__(self, subjects, epoch):
        self.subjects, self.epoch = subjects, epoch
        self.rows, self.inbox, self.counts, self.states, self.actions = {}, set(), {}, [], []
        self.reads = []  # (user, subject, version)
        self.marked = False  # its marks are in Redis, and only the commit is left
        self.deadline = NEVER
        # the barriers that it persists: number -> ids of the messages before it; whether it passes the latest one
        self.barriers, self.passed_latest = {}, False
        self.holds_locks = self.aborted = False


class Database:
    def __init__(self, world):
        self.world = world
        self.rows = {}                                   # (user, subject) -> Register
        self.counts = {s: (0, 0, 0, 0) for s in world.subjects}  # total, version, version of the last queue worker, reads
        self.reads = {(u, s): set() for u in world.users for s in world.subjects}  # versions
        self.inbox = set()
        self.epoch, self.previous_epoch, self.open, self.changed_at, self.replaced_open = 1, 0, True, -NEVER, False
        self.barrier, self.barrier_raised_at, self.passed_barrier = 0, -NEVER, 0  # numbers of the latest one raised and passed
        self.held_at = 0  # when a process last claimed the mirror of this epoch
        self.history, self.epoch_history = 0, 0  # the current one; the one on which the epoch began or was closed
        self.locked, self.active, self.waiting = set(), set(), 0
        self.contributions = {s: {0: {}} for s in world.subjects}  # oracle: what each version of the counts includes

    def row(self, u, s):
        return self.rows.get((u, s), UNSET)

    def includes(self, u, s, register):
        return merge(self.world, self.row(u, s), register)[1]

    def prepare(self, tx, actions, _, direct):
        """Prepares the rows of a transaction that holds its locks. actions: (id, user, subject, state, version)."""
        w, latest = self.world, {}
        for i, u, s, state, v in actions:
            if i in self.inbox and w.enabled("inbox"):
                continue
            tx.inbox.add(i)
            if state == READ:
                tx.reads.append((u, s, v))
            else:
                latest[u, s] = join(w, latest[u, s], register_of(w, state, v)) if (u, s) in latest else register_of(w, state, v)
        changed = set()
        for (u, s), new in latest.items():
            have = self.row(u, s)
            now = join(w, have, new)
            if not now.same(have):
                tx.rows[u, s] = now
                changed.add(s)
            tx.states.append((u, s, now))
            tx.actions.append((u, s, new))
        changed |= {s for _, s, _ in tx.reads}
        for s in tx.subjects:
            total, version, marked, reads = self.counts[s]
            if s in changed:
                reads += sum(x == s for _, x, _ in tx.reads)
                total += sum(st - self.row(u, x) for (u, x), st in tx.rows.items() if x == s)
                version += 1
                if not direct and tx.epoch:
                    marked = version
            tx.counts[s] = (total, version, marked, reads)
        tx.deadline = w.now + w.TX_TIMEOUT
        return changed

    def commit(self, tx):
        """Returns False if the database has aborted the transaction, or does so now because of its timeout."""
        if tx.aborted or self.world.now > tx.deadline and self.world.enabled("tx_timeout"):
            self.end(tx)
            return False
        tx.committed_at = self.world.now
        self.rows.update(tx.rows)
        self.inbox |= tx.inbox
        for number, preceding in tx.barriers.items():
            if number == self.barrier:  # any other number is obsolete, even a higher one
                if not preceding <= self.inbox | self.world.lost:
                    self.world.report("barrier passed too early", number)
                tx.passed_latest, self.passed_barrier = self.passed_barrier < number, number
        for u, s, v in tx.reads:
            self.reads[u, s].add(v)
        for s, c in tx.counts.items():
            self.counts[s] = c
            self.contributions[s].setdefault(c[1], {u: int(st) for (u, x), st in self.rows.items() if x == s})
        self.end(tx)
        self.world.after_commit(tx)
        return True

    def raise_barrier(self):
        """Redis may lack actions that are queued now, until the queue has passed the barrier."""
        clock = self.world.now if self.world.enabled("barrier_clock") else 0
        self.barrier, self.barrier_raised_at = max(self.barrier + 1, clock), self.world.now

    def drained(self):
        return self.passed_barrier == self.barrier

    def lock(self, tx):
        if not tx.aborted:
            tx.holds_locks = True
            self.locked |= tx.subjects

    DURABLE = (
        "rows", "counts", "reads", "inbox", "epoch", "previous_epoch", "open", "changed_at", "replaced_open", "barrier",
        "barrier_raised_at", "passed_barrier", "epoch_history", "held_at", "contributions",
    )

    def backup(self):
        return {name: deep_copy(getattr(self, name)) for name in self.DURABLE}

    def rewind(self, backup):
        """Rewinds the database to a backup: a failover to a lagging replica, or a restore."""
        for tx in self.active:
            tx.aborted, tx.holds_locks = True, False
        self.active.clear()
        self.locked.clear()
        for name, value in backup.items():
            setattr(self, name, deep_copy(value))
        self.history += 1

    def rewound(self):
        return self.history != self.epoch_history and self.world.enabled("history")

    def end(self, tx):
        self.active.discard(tx)
        if tx.holds_locks:
            self.locked -= tx.subjects
            tx.holds_locks = False


class Window:
    def __init__(self):
        # subject -> (version, queued, Register, history, touched). queued: True if the queue has confirmed the state and it is
        # not persisted yet, "m" if it is marked. history: ((version of the counts, contribution, "m" or "f"), ...), by mark
        # or fill
        self.entries = {}
        self.loaded = self.full = False
        self.lease, self.guard = None, (0, None)


class Redis:
    """Counts: (epoch, subject) -> [counts or None, expires, fence, written]. Windows: (epoch, user) -> Window."""

    def __init__(self, world, *sentinels):
        self.world, self.counts, self.windows, self.sentinels = world, {}, {}, set(sentinels)
        self.run_id = 1
        self.evictions = 0  # of windows with queued entries

    def _invalidate(self, s):
        for n in [n for n in self.world.nodes if n.redis is self]:
            if s in n.cache and s not in n.invalidations:
                n.invalidations[s] = self.world.now

    def get_counts(self, e, s):
        have = self.counts.get((e, s))
        if have and self.world.now >= have[1]:
            del self.counts[e, s]
            self._invalidate(s)
            have = None
        return have[0] if have else None

    def write_counts(self, e, s, c, published=False):
        old = self.get_counts(e, s)
        have = self.counts.get((e, s))
        fence = have[2] if have else 0
        if old and (old[1] > c[1] or old[1] == c[1] and not published):
            return
        if fence and c[1] < fence and self.world.enabled("fence_fills"):
            self.counts[e, s] = [c, have[1], fence, self.world.now]
        else:
            self.counts[e, s] = [c, NEVER, 0, self.world.now]
        if old != c:
            self._invalidate(s)

    def fence(self, e, s, version):
        """A direct writer is about to commit this version: older counts expire soon."""
        soon = self.world.now + self.world.GUARD
        have = self.counts.get((e, s))
        if have is None:
            if self.world.enabled("fence_fills"):
                self.counts[e, s] = [None, soon, version, self.world.now]
        elif self.world.enabled("shorten_ttl"):
            have[1], have[2] = min(have[1], soon), max(have[2], version)

    def window(self, e, u, make=False):
        w = self.windows.get((e, u))
        if w is None and make:
            w = self.windows[e, u] = Window()
        return w

    def get(self, e, u, subjects, token):
        """Returns the entries, whether some are missing, and a lease."""
        w = self.window(e, u, make=True)
        out, missing = {}, not w.loaded
        for s in subjects:
            x = w.entries.get(s)
            if x:
                w.entries[s] = x = x[:4] + (self.world.now,)
                missing = missing or not x[2].known
            elif w.full:
                x = KNOWN_NONE
            else:
                missing = True
            out[s] = x
        lease = None
        if missing and (self.world.now >= w.guard[0] or not self.world.enabled("guard")):
            w.lease = lease = w.lease or token
        return out, missing, lease

    def applied_entry(self, e, u, s):
        """The entry of a loaded window; None if the database must be read."""
        w = self.window(e, u)
        x = w and w.loaded and (w.entries.get(s) or (KNOWN_NONE if w.full else None))
        return x if x and x[2].known else None

    def fill(self, e, u, lease, rows):
        """Fills the window. rows: subject -> (Register, version of the counts), for every subject that the user ever touched."""
        w = self.window(e, u)
        if w is None or w.lease != lease and self.world.enabled("leases"):
            return
        for s in self.world.subjects:
            x, row = w.entries.get(s), rows.get(s)
            register, at = row or (UNSET, 0)
            history = ((at if self.world.enabled("fill_version") else 0, int(register), "f"),) if row else ((0, 0, "f"),)
            queued = x and (x[1] if self.world.enabled("fill_keeps_marked") else x[1] is True)
            kept = x and (queued or self.world.now - x[4] < self.world.RECENT and self.world.enabled("fill_keeps_recent"))
            merged, covered = merge(self.world, register, x[2]) if kept else (register, True)
            if kept and not (covered and register.version > x[0]):
                w.entries[s] = (merged.version, not covered and x[1], merged, x[3] or history, x[4])
            elif row:
                w.entries[s] = (register.version, False, register, history, self.world.now)
            else:
                w.entries.pop(s, None)
        w.loaded = w.full = True

    def apply(self, e, actions):
        for _, u, s, state, v in actions:
            w = self.window(e, u, make=True)
            x = w.entries.get(s) or (KNOWN_NONE if w.full else (0, False, UNKNOWN, None, 0))
            merged = join(self.world, x[2], state if isinstance(state, Register) else register_of(self.world, state, v))
            if not merged.same(x[2]):
                w.entries[s] = (merged.version, True, merged, x[3], self.world.now)
                w.lease = None

    def apply_persisted(self, e, written):
        for u, s, register in written:
            w = self.window(e, u)
            x = w and w.entries.get(s)
            merged = x and join(self.world, x[2], register)
            if x and not merged.same(x[2]):
                w.entries[s] = (merged.version, x[1] and not merged.same(register), merged, None, self.world.now)

    def mark(self, e, u, states):
        """Marks states: (subject, Register, version of the counts, 0 if they have not changed)."""
        w = self.window(e, u, make=True)
        for s, register, at in states:
            x = w.entries.get(s) or (KNOWN_NONE if w.full else None)
            if x is None:
                w.guard = (self.world.now + self.world.GUARD, None)
                continue
            history = x[3]
            if at:
                kept = tuple(h for h in history or () if h[0] < at)
                if not kept or kept[-1][1] != register:
                    kept = kept[1 - HISTORY_LENGTH:] + ((at, int(register), "m"),)
                history = kept
            merged, covered = merge(self.world, register, x[2])
            w.entries[s] = (merged.version, "m" if covered else x[1], merged, history, self.world.now)
        w.lease = None

    def invalidate(self, e, u, subjects, token):
        w = self.window(e, u, make=True)
        for s in subjects:
            x = w.entries.get(s)
            if x and (x[1] or self.world.enabled("invalidate_keeps")):
                w.entries[s] = (x[0], True, x[2], None, x[4])
            elif x:
                del w.entries[s]
        w.loaded = w.full = False
        w.lease, w.guard = None, (self.world.now + self.world.GUARD, token)

    def lift_guard(self, e, u, token):
        w = self.window(e, u)
        if w and w.guard[1] == token:
            w.guard = (0, None)

    def _evictable(self, u, s, x):
        """Whether an entry may be evicted: a window outlives the redelivery of messages that were marked and not committed."""
        return x[1] is not True and self.world.now - x[4] > self.world.RECENT and (not x[1] or self.world.db.includes(u, s, x[2]))

    def evict(self, rnd):
        """Evicts a window that was not touched recently, or counts that were not just written, as policies do that evict the
        oldest key or the next to expire."""
        if self.counts and rnd.random() < 0.6:
            key = rnd.choice(list(self.counts))
            _, _, fence, written = self.counts[key]
            if fence == 0 and self.world.now - written > self.world.MAX_FILL_AGE:
                del self.counts[key]
                self._invalidate(key[1])
        elif self.windows:
            key = rnd.choice(list(self.windows))
            w = self.windows[key]
            evictable = all(self._evictable(key[1], s, x) for s, x in w.entries.items())
            if evictable and self.world.now >= w.guard[0]:
                del self.windows[key]

    def evict_queued(self, rnd):
        """Evicts a window that may have queued entries. Redis counts these evictions."""
        if self.windows:
            key = rnd.choice(list(self.windows))
            w = self.windows[key]
            old = all(self.world.now - x[4] > self.world.TX_TIMEOUT for x in w.entries.values())
            if old and self.world.now >= w.guard[0]:
                del self.windows[key]
                self.evictions += 1

    def trim(self, rnd):
        """Drops an entry that was not touched recently, or makes a window load again."""
        if self.windows:
            e, u = rnd.choice(list(self.windows))
            w = self.windows[e, u]
            evictable = [s for s, x in w.entries.items() if self._evictable(u, s, x)]
            if evictable:
                del w.entries[rnd.choice(evictable)]
                w.full = False
            elif rnd.random() < 0.5:
                w.loaded = False  # it has expired

    def lose(self, everything):
        for e, s in list(self.counts):
            self._invalidate(s)
        self.counts.clear()
        if everything:
            self.run_id += self.world.rnd.random() < 0.5
            self.windows.clear()
            self.sentinels.clear()
