#!/usr/bin/env python3
"""A randomised model of the mirror: the write and read path between database and Redis (invariants I1 to I5).

Users act on a few subjects through nodes, with or without the queue. Every call between node, queue, worker, database and
Redis is a step of its own; steps are taken in random order. Processes crash, or continue after they were replaced; keys
are evicted; processes lose the connection to Redis or to the database; Redis loses its data; epochs end and begin. A
second is SECOND steps. Every LIVE reply, including that of a mutation, must contain the viewer's own acknowledged state,
counts that include it exactly once, and no older counts than before. When everything is quiescent, database, Redis and
acknowledgements agree. Without faults no reply may be STALE.

A state stands for any kind: collections and follows are states without conditional clears.

Reads of subjects change the counts without a state. In the end each acknowledged one is counted once.

After a loss of Redis or an eviction, queued actions may be missing from Redis until the worker has passed a barrier: see
RULES.

A clear of one reaction keeps the other (I4a), whatever was known of the state before: replies and the final rows must be
what the acknowledged actions result in, in the order of their versions.

The database may be rewound to a backup taken seconds before, with everything that is durable in it. Actions that only the
lost commits contained are lost, and may be repeated.

Processes may be moved to another Redis: one by one, only some of them, or back.

The model does not include tombstones of folders; a database that commits after the guard has ended; counts that Redis
evicts within a second of writing them, which policies that evict the oldest key or the next to expire do not do; marks of
a crashed worker that are evicted before its messages are redelivered, which takes a window with more states than fit, or
an hour.

    ./own_writes.py [RUNS [FIRST]]       the design: 0 violations; RUNS runs of 6,000 steps of each profile (100)
    ./own_writes.py RUNS RULE...         without these rules
    ./own_writes.py RUNS table           then without each rule in turn, with the violations found
"""
import collections
import random
import sys

from processes import Node, Worker, contribution_at
from stores import KNOWN_NONE, NEVER, READ, Database, Redis, merge, register_of

RULES = {  # each can be disabled
    "counts_first": "counts are read before states",
    "apply_counts_first": "Apply reads counts before it writes the state",
    "mark_first": "marks precede the commit",
    "leases": "a fill without a valid lease is dropped",
    "guard": "no fill while a transaction may commit",
    "conditional_clears": "a clear names the reaction that it removes",
    "registers": "a clear that does not apply yet is kept for late actions",
    "merge_rows": "rows of the database are merged into entries",
    "fill_keeps_marked": "a fill keeps marked entries that are not committed",
    "fill_keeps_recent": "a fill keeps recent entries that are not older",
    "fill_version": "a fill records the version of the counts it is valid from",
    "trust_marks": "a mark is trusted up to the queue worker's last version",
    "snapshot": "where the history is unknown, one snapshot is read",
    "snapshot_fills": "counts of a snapshot are written to Redis",
    "invalidate": "redelivered states are invalidated",
    "invalidate_keeps": "Invalidate keeps state and version, as queued",
    "invalidate_locked": "a worker invalidates under the row locks",
    "invalidate_all": "all redelivered states are invalidated before a persist",
    "fence_worker": "the database rejects a worker that was replaced",
    "direct_invalidates": "direct writers invalidate before they commit",
    "apply_persisted": "direct writers apply what they persisted",
    "guard_not_lifted": "a guard is never lifted early",
    "shorten_ttl": "a direct writer shortens the life of counts",
    "fence_fills": "also of counts that are filled before its own",
    "tx_timeout": "no transaction commits after the guard",
    "old_fills": "old counts are not filled",
    "old_publishes": "old counts are re-read before they are published",
    "min_versions": "a node keeps the minimum versions it has seen",
    "min_versions_raised": "also those read from the database",
    "min_versions_reread": "counts below the minimum version are read from the database",
    "get_unknown_history": "Get reads the database if the history is unknown",
    "overlay": "a node overlays its pending writes",
    "overlay_first": "the overlay is copied before Redis is read",
    "retry_pending": "pending writes are applied again",
    "exclusive_change": "epochs change while no transaction is in progress",
    "grace": "nothing is committed unmarked during the grace period",
    "next_grace": "nor right after the next epoch has begun",
    "lease_expiry": "the lease on an epoch expires",
    "lease_at_end": "the lease must be valid at the end of a reply",
    "may_miss_writes": "replies are STALE until the latest barrier is passed",
    "eviction_barrier": "an eviction raises a barrier",
    "barrier_delay": "a barrier waits until leases on the old epoch have expired",
    "barrier_redelivered": "a redelivered barrier does not count",
    "barrier_requeued": "nor one behind messages that were returned",
    "apply_needs_lease": "Apply needs a valid lease, else the write stays pending",
    "applied_needs_lease": "and stays so until there is one on the epoch in which it was applied",
    "apply_previous_epoch": "Apply also writes to the previous epoch while leases on it are valid",
    "apply_closed_epoch": "and to a closed epoch while leases on it are valid",
    "barrier_clock": "the number of a barrier is a time",
    "history": "the database records the history on which the epoch began",
    "silence": "a foreign process begins an epoch only if the mirror is unused",
    "apply_rewound_epoch": "Apply also writes to an epoch of another history while leases are valid",
    "no_foreign_epoch": "nothing is committed in an epoch of another Redis",
    "unique_numbers": "the number of an epoch is never reused",
    "sentinel": "every poll checks the sentinel",
    "inbox": "a redelivered message counts once",
    "no_setnx": "a process that starts does not write the sentinel",
}
PROFILES = {
    "calm": {},
    "evictions": dict(evict=1),
    "queued_evictions": dict(evict=1, evict_queued=1, crash=1, slow=1),
    "crashes": dict(evict=1, crash=1),
    "direct": dict(evict=1, crash=1, direct=1, slow=1),
    "outages": dict(evict=1, outage=1, slow=1),
    "closed_epochs": dict(outage=1, close=1),
    "losses": dict(evict=1, crash=1, loss=1, slow=1),
    "lags": dict(crash=1, loss=1, slow=1, lag=1, close=1),
    "moves": dict(crash=1, slow=1, move=1),
    "rewinds": dict(crash=1, loss=1, slow=1, rewind=1),
    "all": dict(evict=1, crash=1, direct=1, outage=1, loss=1, slow=1, evict_queued=1),
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
        self.nodes, self.exempt, self.lost = [], {}, set()  # lost: ids of messages whose commits a rewind has lost
        self.last_epoch, self.issued = 1, {}  # the latest number of an epoch; (user, subject, version) -> history
        self.db, self.redis, self.other_redis, self.epochs_begun = Database(self), Redis(self, 1), Redis(self), 0
        self.moves = 0  # of processes from one Redis to the other
        self.queue, self.queue_up, self.backups = [], True, []
        self.barrier = 0  # number of the latest one published
        self.nodes = [Node(self, n) for n in range(self.NODES)]
        self.worker = Worker(self)
        self.processes = self.nodes + [self.worker]
        self.orphans, self.replaced_workers, self.operations, self.highest, self.paused_until = [], [], {}, {}, {}
        self.acks = collections.defaultdict(list)  # (user, subject) -> acknowledged versions, rising
        self.action_states = collections.defaultdict(dict)  # (user, subject) -> version -> state of the action
        self.exempt = {}  # (user, subject, version) of an acknowledged action -> the only node that must include it, or None
        self.lost_at = {}  # epoch -> when it lost data
        self.rewound_at = {}  # epoch -> when the database was rewound to a time before it
        keys = [(u, s) for u in self.users for s in self.subjects]
        self.reads_begun, self.reads_acked = {k: set() for k in keys}, {k: set() for k in keys}
        self.violations, self.stale_replies, self.live_replies, self.mutation_replies, self.completed = [], 0, 0, 0, 0

    def enabled(self, rule):
        return rule not in self.disabled

    def next_version(self, u, s, seen, known):
        """The version of the next action. If the previous version is unknown, only the clock orders the two."""
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
        """Whether an action will be persisted. A worker may still hold a message whose commit was lost; it takes the action for
        persisted, so that does not count."""
        queued = [m.action for m in self.queue if m.action[1:3] == (u, s) and m.action[0] not in self.lost]
        return any(v == version and read == (state == READ) for _, _, _, state, version in queued)

    def durable(self, u, s, v):
        """Whether the database includes an action or will: a rewind loses some."""
        return self.db.includes(u, s, self.register(u, s, v)) or self.queued(u, s, v)

    def ack_read(self, u, s, v, history):
        if history == self.db.history or v in self.db.reads[u, s] or self.queued(u, s, v, True):
            self.reads_acked[u, s].add(v)

    def ack(self, u, s, v, only=None):
        if self.issued[u, s, v] != self.db.history and not self.durable(u, s, v):
            return
        if v > max(self.acks[u, s], default=0):
            self.acks[u, s].append(v)
        if only is not None and not self.db.includes(u, s, self.register(u, s, v)):
            self.exempt[u, s, v] = only

    def register(self, u, s, v):
        return register_of(self, self.action_states[u, s][v], v)

    def required(self, u, s, node, upto=None):
        """The versions of the actions that a reply of the node must include."""
        return {v for v in self.acks[u, s][:upto] if self.exempt.get((u, s, v), node) is node}

    def possible(self, u, s, version, required):
        """The states that the actions up to a version may result in: required ones are persisted, others may be."""
        states, actions = {0}, self.action_states[u, s]
        for v in sorted(v for v in actions if v <= version):
            after = {max(actions[v], 0)} if actions[v] >= 0 else {0 if state == -actions[v] else state for state in states}
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
            if not self.profile.get("outage") or self.profile.get("close"):  # no poll may be slow
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
        """Ends the transactions of crashed processes, and lets replaced workers continue."""
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
                down_until = rnd.choice(self.nodes).down_until
                down_until["database"] = max(down_until["database"], self.now + rnd.choice((30, 150, 300)))
        if p.get("direct") and rnd.random() < 0.1:
            self.queue_up = not self.queue_up
        if p.get("outage"):
            for what in "redis", "database":
                if rnd.random() < 0.02:
                    affected = self.processes if rnd.random() < 0.4 else [rnd.choice(self.processes)]
                    until = self.now + rnd.choice((10, 100, 600, 900))
                    for process in affected:
                        process.down_until[what] = max(process.down_until[what], until)
        if p.get("close") and rnd.random() < 0.05:
            self.worker.down_until["redis"] = max(self.worker.down_until["redis"], self.now + 3 * self.SECOND)
        if p.get("close") and rnd.random() < 0.3:
            down_until = rnd.choice(self.nodes).down_until
            down_until["database"] = max(down_until["database"], self.now + 3 * self.SECOND // 2)
        if p.get("loss") and rnd.random() < 0.01:
            rnd.choice(self.processes).suspects_loss = True  # rightly or not
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
        if p.get("evict_queued") and rnd.random() < 0.03:
            before = self.redis.evictions
            self.redis.evict_queued(rnd)
            if self.redis.evictions > before:
                self.record_loss(self.lost_at)

    def record_loss(self, times):
        """Until every process has polled, replies may lack lost data, also in the previous epoch if a lease on it is valid."""
        times[self.db.epoch] = times[self.db.previous_epoch] = self.now

    def recently(self, times, e):
        return e in times and self.now - times[e] <= self.LEASE

    def restart(self, node):
        for u, (op, at) in list(self.operations.items()):
            if at is node:
                op.close()
                del self.operations[u]
        node.restart()

    def move(self, process):
        """Restarts a process with the other Redis."""
        self.moves += 1
        process.redis = self.other_redis if process.redis is self.redis else self.redis
        process.lease_began = -NEVER
        if process is self.worker:
            process.crash()
        else:
            self.restart(process)

    def rewind(self):
        """Rewinds the database. Actions that only the lost commits contained no longer count as acknowledged."""
        self.record_loss(self.rewound_at)
        backup = self.backups[self.rnd.randrange(len(self.backups))]
        inbox = self.db.inbox
        self.db.rewind(backup)
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
        for process in self.processes:  # they must reconnect
            process.down_until["database"] = max(process.down_until["database"], self.now + self.rnd.choice((0, 40, 100)))

    # The final state.

    def quiesce(self):
        self.profile, self.queue_up, budget = {}, True, 60000
        for process in self.processes:
            process.down_until = dict.fromkeys(process.down_until, 0)
            if process.redis is not self.redis:
                self.move(process)
        idle_since = None
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
            idle = not (self.operations or self.queue or self.orphans or self.replaced_workers)
            idle = idle and not any(n.pending for n in self.nodes)
            idle = idle and self.db.open and not self.db.rewound() and self.db.drained() and not self.db.active
            idle = idle and all(p.epoch == self.db.epoch for p in self.processes)
            if not idle:
                idle_since = None
            elif idle_since is None:
                idle_since = self.now
            elif self.now - idle_since > self.GUARD:
                break
        else:
            return self.report("does not quiesce", len(self.queue), self.db.open)
        if self.moves and self.epochs_begun > 2 * self.moves:
            self.report("epochs keep changing", self.epochs_begun, self.moves)
        self.compare()

    def compare(self):
        e = self.db.epoch
        for s in self.subjects:
            total = sum(st for (u, x), st in self.db.rows.items() if x == s)
            if self.db.counts[s][0] != total:
                self.report("final: total in the database", s)
            c = self.redis.get_counts(e, s)
            if c and c != self.db.counts[s]:
                self.report("final: counts in Redis", s, c, self.db.counts[s])
            if self.db.counts[s][3] != sum(len(r) for (_, x), r in self.db.reads.items() if x == s):
                self.report("final: read count", s)
            for u in self.users:
                if not self.reads_acked[u, s] <= self.db.reads[u, s] <= self.reads_begun[u, s]:
                    self.report("final: reads", u, s)
                state = self.db.row(u, s)
                v = state.version
                for a in self.acks[u, s]:
                    if a > v:
                        self.report("final: acknowledged action lost", u, s, a, v)
                if state not in self.possible(u, s, v, set(self.acks[u, s])):
                    self.report("final: state", u, s, state, sorted(self.action_states[u, s].items())[-4:], self.acks[u, s][-4:])
                w = self.redis.window(e, u)
                x = w and (w.entries.get(s) or (KNOWN_NONE if w.full else None))
                if x:
                    if (x[0] != v or x[2] != state) and x[3] is not None:
                        self.report("final: entry", u, s, x, v)
                    if w.loaded and x[0] < v:
                        self.report("final: stale entry", u, s, x, v)
                    if x[3] is not None and contribution_at(x[3], self.db.counts[s]) not in (None, state):
                        self.report("final: history", u, s, x, state, self.db.counts[s])


def batch(profile, seeds, off=(), steps=6000):
    """Runs seeds. Returns the violations by kind, an example, and totals."""
    kinds, example, counted = collections.Counter(), None, collections.Counter()
    for seed in seeds:
        world = World(seed, profile, off, steps)
        for f in world.run():
            kinds[f[0]] += 1
            example = example or (seed, f)
        counted.update(steps=world.now, operations=world.completed, live=world.live_replies, stale=world.stale_replies,
                       live_mutations=world.mutation_replies)
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
        print(f"{profile:16}", dict(counted), dict(kinds) or "0 violations", example or "", flush=True)
    for rule in RULES if "table" in sys.argv else ():
        found = collections.Counter()
        for profile in PROFILES:
            for steps, times in (6000, runs // 3), (600, runs):
                found.update(batch(profile, range(times), off + [rule], steps)[0])
        print(f"{rule:20} {sum(found.values()):5} {RULES[rule]:60} {dict(found) or 'NOT NEEDED, OR NOT SEEN'}", flush=True)
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
