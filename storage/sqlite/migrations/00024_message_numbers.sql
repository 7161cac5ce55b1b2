-- +goose Up

-- How many messages of the conversation, up to and including this one, are from user_low,
-- and how many from user_high.
ALTER TABLE message ADD COLUMN low_sent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE message ADD COLUMN high_sent INTEGER NOT NULL DEFAULT 0;

INSERT INTO message (tenant, user_low, user_high, message_id, from_low, text, created, low_sent, high_sent)
SELECT tenant, user_low, user_high, message_id, from_low, '', 0, sum(from_low) OVER w, sum(1 - from_low) OVER w
FROM message WHERE true
WINDOW w AS (PARTITION BY tenant, user_low, user_high ORDER BY message_id)
ON CONFLICT DO UPDATE SET low_sent = excluded.low_sent, high_sent = excluded.high_sent;
