#!/usr/bin/env python3
"""A randomised model of the mirror: the write and read path between database and Redis (invariants I1 to I5).

Users act on a few subjects through nodes, by the queue or past it. Every arrow between node, queue, worker, database and
Redis is a step of its own, taken in random order. Processes die or go on when they were replaced, keys are evicted, parts
lose sight of Redis or of the database, Redis loses its data, epochs end and begin. A second is SECOND steps. Every LIVE
reply, also that of a mutation, must show the viewer's own acknowledged state, counts that include it once, and no older counts than before; at rest,
database, Redis and acknowledgements agree. Without faults no reply may be STALE.

A state stands for any: a collection and a follow are states that no conditional clear concerns.

Reads of subjects move the counts without a state; at rest every acknowledged one is counted once.

What is queued may be unknown after a loss of Redis or an eviction, until the worker has passed a barrier: see RULES.

A clear of one reaction leaves the other (I4a), whatever is known of the state before it: what is shown, and what is stored
in the end, must be what the acknowledged actions make of it in the order of their versions.

The database may go back to what it was seconds before, with everything that is durable in it; what only it had is lost and
may be done again.

Processes may be moved to another Redis, one by one, or not all of them, or back.

Not in it: tombstones of folders; a database that commits later than the guard lasts; counts that Redis evicts within a
second of writing them, which policies that evict the oldest or the next to expire do not; marks of a dead worker that are
evicted before its messages come again, which takes a window with more states than fit, or an hour.

    ./own_writes.py [RUNS [FIRST]]       the design: 0 violations; RUNS runs of 6,000 steps of each profile (100)
    ./own_writes.py RUNS RULE...         without these rules
    ./own_writes.py RUNS table           then every rule switched off in turn, and what was found
"""
import collections
import random
import sys

from processes import Node, Worker, share_at
from stores import NEVER, KNOWN_NONE, READ, Database, Redis, merge, register_of

RULES = {  # each can be switched off
    "counts_first": "counts are read before states",
    "show_counts_first": "and before a show that tells its state",
    "mark_first": "marks come before the commit",
    "leases": "a fill without its lease is dropped",
    "guard": "nobody fills while a transaction may commit",
    "conditional": "a clear names the reaction that it removes",
    "registers": "a clear that does not apply now is kept for what comes late",
    "joined": "what the database holds is merged into an entry",
    "marked_stays": "a fill leaves what is marked and not committed",
    "stays": "a fill leaves what was touched lately and is not older",
    "fill_version": "a fill says from which counts version on",
    "marked": "a mark is believed up to the queue worker's last version",
    "snapshot": "what history does not tell is read in one snapshot",
    "snapshot_fills": "a snapshot's counts go into Redis",
    "forget": "redelivered states are forgotten",
    "forget_keeps": "forget keeps state and version, as shown",
    "forget_locked": "a worker forgets under the row locks",
    "gather_all": "all redelivered ones are forgotten before the first persist",
    "fencing": "the database refuses a worker that was replaced",
    "direct_forgets": "direct writers forget before they commit",
    "show_persisted": "direct writers show what they persisted",
    "no_lift": "nobody lifts a guard",
    "shorten": "a direct writer shortens the life of counts",
    "fence": "and of counts written before its own",
    "tx_timeout": "no transaction commits after the guard",
    "old_fills": "old counts are not filled",
    "old_publishes": "old counts are read again before a publish",
    "floors": "a node remembers the versions it has seen",
    "floor_raised": "also those from the database",
    "floor_database": "below a floor the database is read",
    "look_history": "look asks the database about an unknown history",
    "overlay": "a node overlays what it could not show",
    "overlay_first": "the overlay is copied before Redis is read",
    "retry": "a failed show is tried again",
    "exclusive": "epochs change while no transaction is under way",
    "grace": "nothing commits unmarked within the grace",
    "next_grace": "nor right after a next epoch",
    "validity": "an epoch is believed for a while only",
    "sure_at_end": "whether it is believed is asked at the end",
    "doubt": "replies are STALE until the latest barrier is passed",
    "evicted": "an eviction raises a barrier",
    "barrier_late": "a barrier is published when nobody believes the epoch before any longer",
    "barrier_fresh": "a barrier that is redelivered is not passed",
    "barrier_stop": "nor one that is behind something that was given back",
    "show_sure": "what was shown counts as shown only in an epoch that is sure",
    "show_both": "shown in the epoch before, too, while others may believe it",
    "show_closed": "and in one that is closed, while others may believe it",
    "barrier_clock": "the number of a barrier is a time",
    "history": "the database says on which line of commits the epoch began",
    "silence": "a process of another mirror begins an epoch only when nobody uses this one",
    "show_rewound": "and in one on another line of commits, while others may believe it",
    "ours": "nothing is committed in an epoch that is in another Redis",
    "fresh_numbers": "no epoch has the number of another",
    "sentinel": "every poll looks for the sentinel",
    "inbox": "a message counts once",
    "no_setnx": "a process that opens leaves the sentinel alone",
}
PROFILES = {
    "calm": {},
    "evictions": dict(evict=1),
    "shown": dict(evict=1, shown=1, crash=1, slow=1),
    "crashes": dict(evict=1, crash=1),
    "direct": dict(evict=1, crash=1, direct=1, slow=1),
    "away": dict(evict=1, away=1, slow=1),
    "closings": dict(away=1, close=1),
    "losses": dict(evict=1, crash=1, loss=1, slow=1),
    "lags": dict(crash=1, loss=1, slow=1, lag=1, close=1),
    "moves": dict(crash=1, slow=1, move=1),
    "rewinds": dict(crash=1, loss=1, slow=1, rewind=1),
    "all": dict(evict=1, crash=1, direct=1, away=1, loss=1, slow=1, shown=1),
}


class World:
    SECOND = 60
    USERS, SUBJECTS, NODES = 3, 3, 2

    def __init__(self, seed, profile, off=(), steps=6000):
        self.rnd, self.disabled, self.steps = random.Random(seed), frozenset(off), steps
        self.profile, self.now, self.clock, self.ids = PROFILES[profile], 0, 0, 0
        second = self.SECOND
        self.GUARD, self.GRACE, self.LEASE, self.TX_TIMEOUT = 5 * second, 3 * second, 3 * second // 2, 4 * second
        self.INVALIDATION_DELAY, self.MIN_VERSION_LIFE, self.RECENT = second, 2 * second, 10 * second
        self.MAX_FILL_AGE = second
        self.users, self.subjects = range(self.USERS), range(self.SUBJECTS)
        self.nodes, self.exempt, self.lost = [], {}, set()  # ids of what was persisted and is not any more
        self.last_epoch, self.issued = 1, {}  # the latest number of an epoch; (user, subject, version) -> history
        self.db, self.redis, self.other_redis, self.epochs_begun = Database(self), Redis(self, 1), Redis(self), 0
        self.moves = 0  # of processes to the other Redis
        self.queue, self.queue_up, self.barrier, self.backups = [], True, 0, []  # the latest that was published
        self.nodes = [Node(self, n) for n in range(self.NODES)]
        self.worker = Worker(self)
        self.processes = self.nodes + [self.worker]
        self.orphans, self.replaced_workers, self.operations, self.highest, self.paused_until = [], [], {}, {}, {}
        self.acks = collections.defaultdict(list)     # (user, subject) -> versions acknowledged, rising
        self.action_states = collections.defaultdict(dict)    # (user, subject) -> version -> what it says
        self.exempt = {}                             # (user, subject, version) -> node that alone may know it, or None
        self.lost_at = {}                             # epoch -> when it was lost, or something in it
        self.rewound_at = {}                              # epoch -> when the database went back behind it
        keys = [(u, s) for u in self.users for s in self.subjects]
        self.reads_begun, self.reads_acked = {k: set() for k in keys}, {k: set() for k in keys}
        self.violations, self.stale_replies, self.live_replies, self.mutation_replies, self.completed = [], 0, 0, 0, 0

    def enabled(self, rule):
        return rule not in self.disabled

    def next_version(self, u, s, seen, known):
        """The version of the next action. Clocks alone tell what is later where the last one is not known."""
        hidden = not known or any(k[:2] == (u, s) for k in self.exempt)
        self.clock += self.rnd.randint(0, 2)
        high = self.highest.get((u, s), 0)
        if hidden or max(self.clock, seen + 1) in self.action_states[u, s]:
            self.clock = max(self.clock, high + 1)
        v = max(self.clock, seen + 1)
        self.highest[u, s] = max(high, v)
        self.issued[u, s, v] = self.db.history
        return v

    # The oracle.

    def after_commit(self, tx):
        for u, s, register in tx.states:
            for x in [x for x in self.exempt if x[:2] == (u, s)]:
                if merge(self, register, self.register(*x))[1]:
                    del self.exempt[x]

    def queued(self, u, s, v, read=False):
        """Whether an action will be persisted. One that was, and is not any more, may still be in the hands of a worker, which
        takes it for persisted."""
        queued = [m.action for m in self.queue if m.action[1:3] == (u, s) and m.action[0] not in self.lost]
        return any(v == version and read == (state == READ) for _, _, _, state, version in queued)

    def durable(self, u, s, v):
        """Whether the database has an action, or will: not everything is there after it went back."""
        return self.db.includes(u, s, self.register(u, s, v)) or self.queued(u, s, v)

    def ack_read(self, u, s, v, history):
        if history == self.db.history or v in self.db.reads[u, s] or self.queued(u, s, v, True):
            self.reads_acked[u, s].add(v)

    def ack(self, u, s, v, excuse=None):
        if self.issued[u, s, v] != self.db.history and not self.durable(u, s, v):
            return
        if v > max(self.acks[u, s], default=0):
            self.acks[u, s].append(v)
        if excuse is not None and not self.db.includes(u, s, self.register(u, s, v)):
            self.exempt[u, s, v] = excuse

    def register(self, u, s, v):
        return register_of(self, self.action_states[u, s][v], v)

    def required(self, u, s, node, upto=None):
        """The versions of the actions that a viewer's state must include."""
        return {v for v in self.acks[u, s][:upto] if self.exempt.get((u, s, v), node) is node}

    def possible(self, u, s, version, required):
        """What the actions up to a version may have made of the state: the required ones have happened, others may have."""
        states, of_actions = {0}, self.action_states[u, s]
        for v in sorted(v for v in of_actions if v <= version):
            after = {max(of_actions[v], 0)} if of_actions[v] >= 0 else {0 if state == -of_actions[v] else state for state in states}
            states = after if v in required or v == version else states | after
        return states

    def report(self, kind, *what):
        self.violations.append((kind, self.now) + what)

    # Steps.

    def run(self):
        rnd = self.rnd
        for self.now in range(self.steps):
            x = rnd.random()
            if x < 0.22:
                self.worker.step()
            elif x < 0.36:
                rnd.choice(self.processes).poll_step()
            elif x < 0.42:
                rnd.choice(self.nodes).background()
            elif x < 0.44:
                self.finish_orphans()
            elif x < 0.46:
                self.inject_fault()
            else:
                self.user_step(rnd.randrange(self.USERS))
            if not self.profile.get("away") or self.profile.get("close"):  # no poll is slow
                for p in self.processes:
                    lags = self.profile.get("lag") and (self.LEASE if p is not self.worker else 0)
                    if self.now - p.lease_began > (self.SECOND if lags in (None, False) else lags):
                        p.poll_step()
        self.quiesce()
        return self.violations

    def user_step(self, u):
        op = self.operations.get(u)
        if self.now < self.paused_until.get(u, 0):
            return
        if self.profile.get("slow") and self.rnd.random() < 0.004:
            self.paused_until[u] = self.now + self.rnd.randrange(6 * self.SECOND)
        if op is None:
            node, x = self.rnd.choice(self.nodes), self.rnd.random()
            if x < 0.45:
                op = node.query(u)
            elif x < 0.7:
                op = node.read(u)
            elif x < 0.97 or not self.profile.get("direct"):
                op = node.mutate(u)
            else:
                op = node.empty_folder(u)
            op = self.operations[u] = (op, node)
        if next(op[0], self) is self:
            self.completed += 1
            del self.operations[u]

    def finish_orphans(self):
        """What a dead process has left in the database ends, and so does what a replaced worker has in hand."""
        if self.orphans and self.rnd.random() < 0.3:
            tx = self.orphans.pop(self.rnd.randrange(len(self.orphans)))
            if tx.marked and self.rnd.random() < 0.7:
                self.db.commit(tx)
            else:
                self.db.end(tx)
        if self.replaced_workers:
            worker = self.rnd.choice(self.replaced_workers)
            if next(worker, self) is self:
                self.replaced_workers.remove(worker)

    def inject_fault(self):
        rnd, p = self.rnd, self.profile
        if p.get("evict") and rnd.random() < 0.4:
            rnd.choice((self.redis.evict, self.redis.trim))(rnd)
        if p.get("crash"):
            x = rnd.random()
            if x < 0.06:
                self.worker.crash()
            elif x < 0.09:
                self.worker.replace()
            elif x < 0.11:
                self.restart(rnd.choice(self.nodes))
        if p.get("lag"):
            if rnd.random() < 0.1:
                self.worker.crash()
            if rnd.random() < 0.2:
                away = rnd.choice(self.nodes).down_until
                away["database"] = max(away["database"], self.now + rnd.choice((30, 150, 300)))
        if p.get("direct") and rnd.random() < 0.1:
            self.queue_up = not self.queue_up
        if p.get("away"):
            for what in "redis", "database":
                if rnd.random() < 0.02:
                    who = self.processes if rnd.random() < 0.4 else [rnd.choice(self.processes)]
                    until = self.now + rnd.choice((10, 100, 600, 900))
                    for part in who:
                        part.down_until[what] = max(part.down_until[what], until)
        if p.get("close") and rnd.random() < 0.05:
            self.worker.down_until["redis"] = max(self.worker.down_until["redis"], self.now + 3 * self.SECOND)
        if p.get("close") and rnd.random() < 0.3:
            away = rnd.choice(self.nodes).down_until
            away["database"] = max(away["database"], self.now + 3 * self.SECOND // 2)
        if p.get("loss") and rnd.random() < 0.01:
            part = rnd.choice(self.processes)  # believes in a loss, rightly or not
            part.suspects_loss = True
        if p.get("loss") and rnd.random() < (0.04 if p.get("lag") else 0.015):
            everything = rnd.random() < 0.6
            self.redis.lose(everything)
            if everything:
                if rnd.random() < 0.3:
                    rnd.choice(self.nodes).restart()
                self.record_loss(self.lost_at)
        if p.get("move") and rnd.random() < 0.02:
            self.move(rnd.choice(self.processes))
        if p.get("rewind"):
            self.backups = self.backups[-4:]
            if rnd.random() < 0.5:
                self.backups.append(self.db.backup())
            if self.backups and rnd.random() < 0.02:
                self.rewind()
        if p.get("shown") and rnd.random() < 0.03:
            before = self.redis.evictions
            self.redis.evict_queued(rnd)
            if self.redis.evictions > before:
                self.record_loss(self.lost_at)

    def record_loss(self, tainted):
        """Until everyone has polled, replies lack what is lost; also those in the epoch before, which some still believe."""
        tainted[self.db.epoch] = tainted[self.db.previous_epoch] = self.now

    def recently(self, tainted, e):
        return e in tainted and self.now - tainted[e] <= self.LEASE

    def restart(self, node):
        for u, (op, at) in list(self.operations.items()):
            if at is node:
                op.close()
                del self.operations[u]
        node.restart()

    def move(self, part):
        """A process is started again with the other Redis."""
        self.moves += 1
        part.redis = self.other_redis if part.redis is self.redis else self.redis
        part.lease_began = -NEVER
        if part is self.worker:
            part.crash()
        else:
            self.restart(part)

    def rewind(self):
        """What only the database had is lost, and nobody is promised it any longer."""
        self.record_loss(self.rewound_at)
        saved = self.backups[self.rnd.randrange(len(self.backups))]
        inbox = self.db.inbox
        self.db.rewind(saved)
        self.record_loss(self.rewound_at)
        self.backups.clear()
        self.orphans.clear()
        self.lost |= inbox - self.db.inbox
        for (u, s), acks in self.acks.items():
            acks[:] = [v for v in acks if self.durable(u, s, v)]
        for x in [x for x in self.exempt if not self.durable(*x)]:
            del self.exempt[x]
        for (u, s), acked in self.reads_acked.items():
            acked &= self.db.reads[u, s] | {v for v in acked if self.queued(u, s, v, True)}
        for n in self.nodes:
            n.replied = dict.fromkeys(self.subjects, 0)
        for part in self.processes:  # which have to connect again
            part.down_until["database"] = max(part.down_until["database"], self.now + self.rnd.choice((0, 40, 100)))

    # At rest.

    def quiesce(self):
        self.profile, self.queue_up, budget = {}, True, 60000
        for part in self.processes:
            part.down_until = dict.fromkeys(part.down_until, 0)
            if part.redis is not self.redis:
                self.move(part)
        quiet_since = None
        while budget > 0:
            self.now += 1
            budget -= 1
            for u in list(self.operations):
                self.user_step(u) if u in self.operations else None
            self.worker.step()
            for p in self.processes:
                p.poll_step()
            for n in self.nodes:
                n.background()
            self.finish_orphans()
            idle = not (self.operations or self.queue or self.orphans or self.replaced_workers or any(n.pending for n in self.nodes))
            idle = idle and self.db.open and not self.db.rewound() and self.db.drained() and all(p.epoch == self.db.epoch for p in self.processes) and not self.db.active
            if not idle:
                quiet_since = None
            elif quiet_since is None:
                quiet_since = self.now
            elif self.now - quiet_since > self.GUARD:
                break
        else:
            return self.report("never at rest", len(self.queue), self.db.open)
        if self.moves and self.epochs_begun > 2 * self.moves:
            self.report("epochs for ever", self.epochs_begun, self.moves)
        self.compare()

    def compare(self):
        e = self.db.epoch
        for s in self.subjects:
            total = sum(st for (u, x), st in self.db.rows.items() if x == s)
            if self.db.counts[s][0] != total:
                self.report("rest: database", s)
            c = self.redis.get_counts(e, s)
            if c and c != self.db.counts[s]:
                self.report("rest: counts", s, c, self.db.counts[s])
            if self.db.counts[s][3] != sum(len(r) for (_, x), r in self.db.reads.items() if x == s):
                self.report("rest: reads counted", s)
            for u in self.users:
                if not self.reads_acked[u, s] <= self.db.reads[u, s] <= self.reads_begun[u, s]:
                    self.report("rest: reads", u, s)
                state = self.db.row(u, s)
                v = state.version
                for a in self.acks[u, s]:
                    if a > v:
                        self.report("rest: acknowledged and gone", u, s, a, v)
                if state not in self.possible(u, s, v, set(self.acks[u, s])):
                    self.report("rest: state", u, s, state, sorted(self.action_states[u, s].items())[-4:], self.acks[u, s][-4:])
                w = self.redis.window(e, u)
                x = w and (w.entries.get(s) or (KNOWN_NONE if w.full else None))
                if x:
                    if (x[0] != v or x[2] != state) and x[3] is not None:
                        self.report("rest: entry", u, s, x, v)
                    if w.loaded and x[0] < v:
                        self.report("rest: older entry", u, s, x, v)
                    if x[3] is not None and share_at(x[3], self.db.counts[s]) not in (None, state):
                        self.report("rest: history", u, s, x, state, self.db.counts[s])



def batch(profile, seeds, off=(), steps=6000):
    """Violations by kind, an example, and what was counted."""
    kinds, example, counted = collections.Counter(), None, collections.Counter()
    for seed in seeds:
        world = World(seed, profile, off, steps)
        for f in world.run():
            kinds[f[0]] += 1
            example = example or (seed, f)
        counted.update(steps=world.now, calls=world.completed, live=world.live_replies, stale=world.stale_replies, told=world.mutation_replies)
    return kinds, example, counted


def main():
    args, off = [a for a in sys.argv[1:] if a.isdigit()], [a for a in sys.argv[1:] if a in RULES]
    unknown = [a for a in sys.argv[1:] if a not in RULES and not a.isdigit() and a != "table"]
    if unknown:
        sys.exit(f"unknown: {unknown[0]}; rules: {' '.join(RULES)}")
    runs, bad = int(args[0]) if args else 100, 0
    first = int(args[1]) if len(args) > 1 else 0
    for profile in PROFILES:
        kinds, example, counted = batch(profile, range(first, first + runs), off)
        bad += sum(kinds.values())
        if profile in ("calm", "evictions"):
            bad += counted["stale"]
        print(f"{profile:10}", dict(counted), dict(kinds) or "0 violations", example or "", flush=True)
    for rule in RULES if "table" in sys.argv else ():
        found = collections.Counter()
        for profile in PROFILES:
            for steps, times in (6000, runs // 3), (600, runs):
                found.update(batch(profile, range(times), off + [rule], steps)[0])
        print(f"{rule:15} {sum(found.values()):5} {RULES[rule]:60} {dict(found) or 'NOT NEEDED, OR NOT SEEN'}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
