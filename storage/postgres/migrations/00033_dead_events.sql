-- +goose Up

-- Events that a consumer could not handle, each as a row of event_log with one event; at is
-- when it was set aside.
CREATE TABLE dead_event (
    consumer text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    at       bigint NOT NULL,
    reason   text COLLATE "C" NOT NULL,
    data     text COLLATE "C" NOT NULL,
    PRIMARY KEY (consumer, position)
);
