-- +goose Up

-- account_id is the user's id as a number. password is an encoded hash with its
-- parameters. generation is raised when the user's tokens are revoked, revoked is
-- when it was last raised, 0 if never.
CREATE TABLE account (
    tenant     TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    name       TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    password   TEXT NOT NULL,
    avatar     TEXT NOT NULL,
    background TEXT NOT NULL,
    signature  TEXT NOT NULL,
    generation INTEGER NOT NULL,
    revoked    INTEGER NOT NULL,
    created    INTEGER NOT NULL,
    PRIMARY KEY (tenant, account_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX account_revoked ON account (revoked, tenant, account_id) WHERE revoked <> 0;

-- Which account has a folded name: apart from the accounts, as both keys cannot
-- lead to the same shard.
CREATE TABLE account_name (
    tenant     TEXT NOT NULL,
    name_key   TEXT NOT NULL,
    account_id INTEGER NOT NULL,
    PRIMARY KEY (tenant, name_key)
) STRICT, WITHOUT ROWID;
