-- +goose Up

-- Events that a consumer could not handle, each as a row of event_log with one event; at is
-- when it was set aside.
CREATE TABLE dead_event (
    consumer TEXT NOT NULL,
    position INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    reason   TEXT NOT NULL,
    data     TEXT NOT NULL,
    PRIMARY KEY (consumer, position)
) STRICT, WITHOUT ROWID;
