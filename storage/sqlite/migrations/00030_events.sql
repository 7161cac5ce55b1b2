-- +goose Up

-- One row: the id of the log of events, the position of its last event, and that of the
-- last event that was pruned.
CREATE TABLE event_stream (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    id     TEXT NOT NULL,
    last   INTEGER NOT NULL,
    pruned INTEGER NOT NULL
) STRICT;

INSERT INTO event_stream VALUES (1, lower(hex(randomblob(16))), 0, 0);

-- A row holds consecutive events of one transaction, as JSON (sqlstore.EventBatch). The
-- key is the position of the last one; at is when the row was written.
CREATE TABLE event_log (
    last   INTEGER PRIMARY KEY,
    events INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    data   TEXT NOT NULL
) STRICT;

-- How far a consumer has handled events, and which holder has its lease until when.
CREATE TABLE event_consumer (
    name     TEXT PRIMARY KEY,
    holder   TEXT NOT NULL,
    until    INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
