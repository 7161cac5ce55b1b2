-- +goose Up

-- The order of events. A transaction takes a number while it holds the locks on what it
-- has changed.
CREATE SEQUENCE event_number;

-- Events that were committed and have no positions yet. A row holds events of one
-- transaction, as JSON (sqlstore.EventBatch). Rows are moved to event_log within seconds,
-- so the table stays small as long as it is vacuumed often.
CREATE TABLE event_outbox (
    number bigint PRIMARY KEY,
    events bigint NOT NULL,
    data   text COLLATE "C" NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
    toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 20000, toast.autovacuum_vacuum_cost_delay = 0);

-- The key is the position of the last event of the row; at is when the row was moved here.
-- Rows are only added at one end and removed at the other.
CREATE TABLE event_log (
    last   bigint PRIMARY KEY,
    events bigint NOT NULL,
    at     bigint NOT NULL,
    data   text COLLATE "C" NOT NULL
);

-- One row: the id of the log of events, the position of its last event, and that of the
-- last event that was pruned. A transaction that changes event_log locks the row first.
CREATE TABLE event_stream (
    one    boolean PRIMARY KEY CHECK (one),
    id     text COLLATE "C" NOT NULL,
    last   bigint NOT NULL,
    pruned bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO event_stream VALUES (TRUE, replace(gen_random_uuid()::text, '-', ''), 0, 0);

-- How far a consumer has handled events, and which holder has its lease until when.
CREATE TABLE event_consumer (
    name     text COLLATE "C" PRIMARY KEY,
    holder   text COLLATE "C" NOT NULL,
    until    bigint NOT NULL,
    position bigint NOT NULL
) WITH (fillfactor = 70);
