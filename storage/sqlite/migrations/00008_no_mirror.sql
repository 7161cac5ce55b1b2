-- +goose Up

-- No cache stands in front of SQLite: epochs and barriers are Postgres's alone.
DROP TABLE mirror;
DROP TABLE watermark;
