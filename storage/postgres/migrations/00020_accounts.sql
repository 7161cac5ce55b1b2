-- +goose Up

-- Numbers that tell accounts of the same millisecond apart (sqlstore.IDShift).
CREATE SEQUENCE account_number;

-- account_id is the user's id as a number. password is an encoded hash with its
-- parameters. generation is raised when the user's tokens are revoked, revoked is
-- when it was last raised, 0 if never.
CREATE TABLE account (
    tenant     text COLLATE "C" NOT NULL,
    account_id bigint NOT NULL,
    name       text COLLATE "C" NOT NULL,
    name_key   text COLLATE "C" NOT NULL,
    password   text COLLATE "C" NOT NULL,
    avatar     text COLLATE "C" NOT NULL,
    background text COLLATE "C" NOT NULL,
    signature  text COLLATE "C" NOT NULL,
    generation bigint NOT NULL,
    revoked    bigint NOT NULL,
    created    bigint NOT NULL,
    PRIMARY KEY (tenant, account_id)
);

CREATE INDEX account_revoked ON account (revoked, tenant, account_id) WHERE revoked <> 0;

-- Which account has a folded name: apart from the accounts, as both keys cannot
-- lead to the same shard.
CREATE TABLE account_name (
    tenant     text COLLATE "C" NOT NULL,
    name_key   text COLLATE "C" NOT NULL,
    account_id bigint NOT NULL,
    PRIMARY KEY (tenant, name_key)
);
