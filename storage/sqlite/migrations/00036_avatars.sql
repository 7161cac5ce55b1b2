-- +goose Up

-- The accounts whose avatar is an uploaded picture, by its path: the sweep of the blob
-- store keeps their files.
CREATE INDEX account_avatar ON account (avatar) WHERE avatar >= '/media/avatars/' AND avatar < '/media/avatars0';
