"""The database and Redis of the model. Every method is one atomic step; a transaction of the database takes several."""
import collections, copy
from types import SimpleNamespace
from typing import NamedTuple

NEVER = float("inf")
READ = "read"  # the state of an action that records a read

class Register(NamedTuple):
    """A reaction: the value that was set last (0 none, 1 like, 2 dislike), its version, and the versions of the latest
    conditional clears of a like and of a dislike. Joining registers in any order yields the same result."""
    value: int = 0
    set_at: int = 0
    clears: tuple = (0, 0)
    version = property(lambda self: max(self.set_at, *self.clears))
    state = property(lambda self: 0 if self.value and self.clears[self.value - 1] > self.set_at else self.value)

    def join(self, other):
        newer = other if other.set_at > self.set_at else self
        return Register(newer.value, newer.set_at, tuple(map(max, self.clears, other.clears)))

    def after(self, world, action):
        """State 0, 1 or 2 sets the reaction, -1 or -2 clears only reaction 1 or 2."""
        state, version, forget = action.state, action.version, not world.enabled("registers")
        if state < 0 and self.state != -state and forget: return Register(self.state, max(self.version, version))
        clears = tuple(version if state == -which else 0 for which in (1, 2))
        register = Register(0, 0, clears) if state < 0 else Register(state, version)
        return self.join(register) if world.enabled("row_version") or state < 0 else register

Counts = NamedTuple("Counts", version=int, likes=int, dislikes=int, reads=int)
Action = NamedTuple("Action", id=int, user=int, subject=int, state=object, version=int)
Told = NamedTuple("Told", counts=dict, rows=dict)  # to Redis: subject -> Counts, (user, subject) -> Register
# The row of the epoch. run: the run of Redis to which it belongs. drained: nothing is queued that Redis may lack.
Epoch = NamedTuple("Epoch", number=int, open=bool, run=int, closed_at=float, drained=bool)
NO_COUNTS = Counts(0, 0, 0, 0)
NOTHING = frozenset()
# A viewer's state of one subject. seen: the version of the counts that include it. queued: the ids of messages with what may
# not be persisted. since: when that was written or looked up. known: whether nothing older can be missing.
Entry = collections.namedtuple("Entry", "register seen queued since known", defaults=(Register(), 0, NOTHING, 0, True))

def filled(world, entry, row, seen, done):
    """An entry after a snapshot of the database. seen: its version of the counts. done: the messages that its inbox has."""
    queued = entry.queued - done if world.enabled("fill_keeps_queued") else NOTHING
    register = row.join(entry.register) if queued else row
    seen_in = max(entry.seen, seen if world.enabled("fill_version") else 0)
    return Entry(register, seen_in, queued if register != row else NOTHING, world.now)

class Message:
    """A batch of actions, in either lane, or a barrier. Its id is the id in the inbox in both lanes."""
    def __init__(self, id, actions, barrier=None):
        self.id, self.actions, self.barrier = id, actions, barrier
        self.delivered = self.redelivered = False

class Transaction:
    """One statement that persists messages. The server runs it to its end even if the client has lost the connection."""
    def __init__(self, world, messages, direct, told_ids):
        self.w, self.db, self.direct, self.told_ids = world, world.db, direct, told_ids
        self.messages = list({m.id: m for m in messages}.values())  # one may have been published twice
        self.actions = sorted((a for m in self.messages for a in m.actions), key=lambda a: a.version)
        self.keys = {(a.user, a.subject) for a in self.actions if a.state != READ}
        self.subjects = {a.subject for a in self.actions}
        self.failovers, self.held = self.db.failovers, []
        self.computed = self.committed = self.ended = False

    def run(self):
        w, db, snapshot = self.w, self.db, (dict(self.db.rows), dict(self.db.counts))
        locks = [(0, m.id) for m in self.messages] + [(1, *key) for key in self.keys] + [(2, s) for s in self.subjects]
        for lock in sorted(locks):  # in one order, or transactions wait for each other
            while lock in db.locks and self.failovers == db.failovers: yield
            if self.failovers != db.failovers: return self.end()
            db.locks.add(lock)
            self.held.append(lock)
            while w.rnd.random() < 0.6: yield
        self.compute(*snapshot)
        while w.rnd.random() < 0.6: yield
        if self.failovers == db.failovers: db.commit(self)
        self.end()

    def end(self):
        if self.failovers == self.db.failovers: self.db.locks.difference_update(self.held)
        self.ended = True

    def compute(self, old_rows, old_counts):
        """Under the locks. results: action -> (whether it changed the row, whether the row was newer); None: refused."""
        w, db = self.w, self.db
        self.rows = {key: db.row(*key) for key in self.keys}
        before = dict(self.rows) if w.enabled("real_moves") else {key: old_rows.get(key, Register()) for key in self.keys}
        moved = {s: [0, 0, 0] for s in self.subjects}
        self.fresh = [m for m in self.messages if m.id not in db.inbox or not w.enabled("inbox")]
        kept = {a: r for m in self.messages if m not in self.fresh for a, r in db.inbox[m.id].results.items()}
        self.results = kept if w.enabled("inbox_results") else dict.fromkeys(kept, (False, False))
        for a in (a for a in self.actions if a not in kept):
            key = a.user, a.subject
            row = self.rows.get(key)
            if a.id in w.poison: self.results[a] = None
            elif a.state == READ:
                moved[a.subject][2] += 1
                self.results[a] = True, False
            else:
                if w.enabled("join_older") or a.version > row.version or not self.direct:
                    self.rows[key] = row.after(w, a)
                self.results[a] = self.rows[key].state != row.state, a.version <= row.version
        for (u, s), row in self.rows.items():
            for value, by in (before[u, s].state, -1), (row.state, 1):
                if value: moved[s][value - 1] += by
        self.counts = {}
        for s, (likes, dislikes, reads) in moved.items():
            c = db.counts[s]
            if any(moved[s]): c = Counts(c.version + 1, c.likes + likes, c.dislikes + dislikes, c.reads + reads)
            self.counts[s] = c if any(moved[s]) or w.enabled("locked_counts") else old_counts[s]
        self.told, self.computed = Told(self.counts, self.rows), True

class Database:
    def __init__(self, world):
        self.w, self.locks, self.failovers = world, set(), 0
        self.rows, self.counts, self.inbox = {}, dict.fromkeys(world.subjects, NO_COUNTS), {}
        self.epoch, self.last_number = Epoch(1, True, 1, -NEVER, True), 1
        # Oracle. history and versions: of counts and rows. applied: (version, state). truth: what each action changed, and the
        # version of the counts. dead: letters. read_ids: how often each read was counted.
        self.history = {s: {0: NO_COUNTS} for s in world.subjects}
        self.versions, self.applied = collections.defaultdict(lambda: {Register()}), collections.defaultdict(set)
        self.truth, self.dead, self.read_ids = {}, set(), collections.Counter()

    def row(self, u, s): return self.rows.get((u, s), Register())

    def commit(self, tx):
        self.rows.update(tx.rows)
        for key, row in tx.rows.items(): self.versions[key].add(row)
        for s, c in tx.counts.items():
            if c.version > self.counts[s].version: self.counts[s] = self.history[s][c.version] = c
        for m in tx.fresh:
            results = {a: tx.results[a] for a in m.actions}
            self.inbox[m.id] = SimpleNamespace(keys=m.actions, results=results, told=not tx.direct, at=self.w.now)
            for a in m.actions:
                if results[a] is None: self.dead.add(a)
                else: self.truth.setdefault(a, (results[a][0], tx.counts[a.subject].version))
                if a.state == READ: self.read_ids[a.subject, a.id] += 1
                elif results[a]: self.applied[a.user, a.subject].add((a.version, a.state))
        for i in tx.told_ids: self.inbox[i].told = True
        for m in tx.messages:
            if m.barrier == self.epoch.closed_at and not (m.redelivered and self.w.enabled("barrier_once")):
                self.epoch = self.epoch._replace(drained=True)
                if self.w.queued(m.barrier, list(self.w.waiting)): self.w.report("barrier passed too early")
        tx.committed = True

    def told(self, keys):
        """What a snapshot of the database tells about the subjects and rows of some actions."""
        rows = {(a.user, a.subject): self.row(a.user, a.subject) for a in keys if a.state != READ}
        return Told({a.subject: self.counts[a.subject] for a in keys}, rows)

    def fail_over(self):
        """A synchronous standby takes over: whatever is committed is kept, transactions in progress are aborted."""
        self.failovers += 1
        self.locks.clear()

    def close_epoch(self, number):
        if self.epoch.number == number and self.epoch.open:
            self.epoch = self.epoch._replace(open=False, closed_at=self.w.now, drained=False)

    def open_epoch(self, number, run):
        if self.epoch.number == number and not self.epoch.open:
            if any(p.lease_valid(number) for p in self.w.processes): self.w.report("epoch begun while a lease is valid")
            self.last_number += self.w.enabled("new_number")
            self.epoch = self.epoch._replace(number=self.last_number, open=True, run=run)

class Redis:
    """One server. Counts: (epoch, subject) -> [Counts or None, lease]. Windows: (epoch, user) -> entries, whether they are
    complete, and lease. A lease: (token, until). Any write to a key voids the lease on it."""
    def __init__(self, world, run, original=None):
        self.w, self.run = world, run
        self.counts, self.windows = copy.deepcopy((original.counts, original.windows)) if original else ({}, {})

    def invalidate(self, s):
        for n in self.w.nodes:
            if n.redis is self and n.up("redis") and s in n.cache: n.invalidations.append(s)

    def lease(self, held, token):
        """A lease on what is missing, unless somebody else holds one."""
        return (token, self.w.now + self.w.SECOND) if held is None or held[1] <= self.w.now else held

    def get_counts(self, e, s, token):
        """The counts, or None and perhaps a lease with this token."""
        slot = self.counts.setdefault((e, s), [None, None])
        if slot[0] is None: slot[1] = self.lease(slot[1], token)
        return slot[0]

    def fill_counts(self, e, s, token, c):
        slot = self.counts.get((e, s), [None, None])
        leased = slot[1] and slot[1][0] == token
        if leased or not self.w.enabled("counts_lease") and not (slot[0] and slot[0].version >= c.version):
            self.counts[e, s] = [c, None]

    def tell_counts(self, e, s, c):
        slot = self.counts.get((e, s), [None, None])
        slot[1] = None
        if slot[0] is None and self.w.enabled("create_nothing"): return
        if not (slot[0] and slot[0].version >= c.version) or not self.w.enabled("newer_counts"):
            self.counts[e, s] = [c, None]
            self.invalidate(s)
            if self.w.db.history[s].get(c.version) != c: self.w.report("uncommitted counts in Redis", s, c)

    def window(self, e, u): return self.windows.setdefault((e, u), SimpleNamespace(entries={}, complete=False, lease=None))

    def missing(self, x):
        """Whether an entry must be looked up in the database."""
        overdue = x and x.queued and self.w.now - x.since > 2 * self.w.SECOND and self.w.enabled("queued_lookup")
        return x is None or not x.known or overdue

    def get_entries(self, e, u, asked, token):
        """subject -> Entry, or None if it is missing; perhaps with a lease with this token."""
        w = self.window(e, u)
        out = {s: w.entries.get(s) or (Entry() if w.complete else None) for s in asked}
        if any(map(self.missing, out.values())): w.lease = self.lease(w.lease, token)
        return out

    def fill_entries(self, e, u, token, rows, all_rows, done):
        """rows: subject -> (Register, version of the counts). done: as for filled."""
        w = self.windows.get((e, u))
        if w is None or not (w.lease and w.lease[0] == token) and self.w.enabled("window_lease"): return
        for s, (row, seen) in rows.items(): w.entries[s] = filled(self.w, w.entries.get(s, Entry()), row, seen, done)
        w.complete, w.lease = w.complete or all_rows, None

    def tell_entry(self, e, u, s, row, seen):
        """Joins a committed row into an entry. Returns the entry."""
        create = not self.w.enabled("create_nothing")
        if (e, u) not in self.windows and not create: return None
        w = self.window(e, u)
        w.lease = None
        x = w.entries.get(s) or (Entry() if w.complete or create else None)
        if x is None: return None
        joined = x.register.join(row) if self.w.enabled("newer_entries") else row
        queued = x.queued if row.join(joined) != row else NOTHING
        x = w.entries[s] = Entry(joined, max(x.seen, seen), queued, x.since, x.known)
        if x.known and not queued and joined not in self.w.db.versions[u, s]:
            self.w.report("uncommitted entry in Redis", u, s, x)
        return x

    def queue(self, e, id, a):
        """Shows an action that is queued in a message with this id. Returns the entry before, None if there was none."""
        w = self.window(e, a.user)
        w.lease = None
        x = w.entries.get(a.subject) or (Entry() if w.complete else None)
        before = x or Entry(known=not self.w.enabled("known"))
        after = before.register.after(self.w, a)
        queued = before.queued | {id} if before.queued or after != before.register else NOTHING
        w.entries[a.subject] = Entry(after, before.seen, queued, self.w.now, before.known)
        return x

    def evict(self, rnd):
        """Evicts counts, a window, or an entry (a window keeps the latest)."""
        stays = self.w.enabled("queued_stays")
        evictable = [k for k, w in self.windows.items() if not (stays and any(x.queued for x in w.entries.values()))]
        if self.counts and rnd.random() < 0.5:
            key = rnd.choice(list(self.counts))
            del self.counts[key]
            self.invalidate(key[1])
        elif evictable and rnd.random() < 0.5: del self.windows[rnd.choice(evictable)]
        elif evictable and (w := self.windows[rnd.choice(evictable)]).entries:
            del w.entries[rnd.choice(list(w.entries))]
            w.complete = w.complete and not self.w.enabled("complete_mark")
