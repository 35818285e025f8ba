-- The first version of what a remote keeps. Every row is of a team; who logs in sees the rows of one team alone.

CREATE SCHEMA uwf;

CREATE TABLE uwf.version (
    version       int PRIMARY KEY,
    oldest_reader int NOT NULL,        -- the oldest program, by the newest version that it knows, that may read this
    oldest_writer int NOT NULL,        -- … that may write
    applied       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE uwf.team (
    name          text COLLATE "C" PRIMARY KEY,
    budget_usd    numeric,
    budget_period text,
    max_threads   int,
    max_nodes     bigint,
    max_bytes     bigint
);
INSERT INTO uwf.team (name) VALUES ('default');

-- Which team a login belongs to; without a row it is 'default'.
CREATE TABLE uwf.member (
    login name PRIMARY KEY,
    team  text NOT NULL REFERENCES uwf.team (name)
);

-- Of whoever has logged in, whatever role it has taken on since.
CREATE FUNCTION uwf.team() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog
    AS $$ SELECT coalesce((SELECT team FROM uwf.member WHERE login = session_user), 'default') $$;

CREATE TABLE uwf.node (
    team   text COLLATE "C" NOT NULL,
    hash   text COLLATE "C" NOT NULL,
    digest bytea NOT NULL,             -- BLAKE3 of type and payload: two nodes of one hash have two digests
    type   text COLLATE "C" NOT NULL,
    made   bigint NOT NULL,            -- the node's own timestamp, in milliseconds
    bytes  bytea,                      -- its payload, in the store's encoding; none where `object` has it
    object text,
    size   int NOT NULL,
    refs   text[] COLLATE "C" NOT NULL DEFAULT '{}',   -- the nodes that it refers to, its type among them
    put    timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, hash),
    CHECK (octet_length(digest) = 32),
    CHECK ((bytes IS NULL) <> (object IS NULL))
);

CREATE TABLE uwf.thread (
    team          text COLLATE "C" NOT NULL,
    id            text COLLATE "C" NOT NULL,
    head          text COLLATE "C" NOT NULL,
    tags          jsonb NOT NULL,      -- of the variable that is the thread's head
    status        text NOT NULL,
    workflow      text NOT NULL,
    workflow_name text,
    task          text,
    role          text,                -- who plays next
    state         text NOT NULL CHECK (state IN ('ready', 'leased', 'waiting', 'paused', 'done', 'dead', 'held')),
    priority      int NOT NULL DEFAULT 0,
    labels        text[] NOT NULL DEFAULT '{}',
    ready_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    fence         bigint NOT NULL DEFAULT 0,
    attempts      int NOT NULL DEFAULT 0,
    max_attempts  int NOT NULL DEFAULT 5,
    worker        text,                -- who has it, or had it last
    lease_until   timestamptz,
    answer        text,                -- what a person has said to a thread that was suspended, until a step has heard it
    wish          text CHECK (wish IN ('cancel', 'pause')),
    steps         int NOT NULL DEFAULT 0,
    cost_usd      double precision NOT NULL DEFAULT 0,
    tokens        bigint NOT NULL DEFAULT 0,
    max_cost_usd  double precision,
    workspace     jsonb NOT NULL DEFAULT '{}',
    reason        text,
    created       timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated       timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, id),
    -- Who may not set `lease_until` cannot take a lease, nor take one away.
    CONSTRAINT leased_until CHECK ((state = 'leased') = (lease_until IS NOT NULL))
) WITH (fillfactor = 60);
CREATE INDEX thread_ready ON uwf.thread (team, priority DESC, ready_at) WHERE state = 'ready';
CREATE INDEX thread_leased ON uwf.thread (lease_until) WHERE state = 'leased';
CREATE INDEX thread_updated ON uwf.thread (team, updated DESC);

-- A thread's own variables but its head: failed attempts, what was undone, options, the reason of a pause.
CREATE TABLE uwf.variable (
    team   text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,
    tags   jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (team, thread, name),
    FOREIGN KEY (team, thread) REFERENCES uwf.thread ON DELETE CASCADE
);

-- What was written into the journal of a step that is going on; `start` is an offset in bytes.
CREATE TABLE uwf.journal (
    team   text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    start  bigint NOT NULL,
    fence  bigint NOT NULL,
    bytes  bytea NOT NULL,
    nodes  text[] COLLATE "C" NOT NULL DEFAULT '{}',   -- the nodes that these lines name: they are not garbage
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, thread, name, start),
    FOREIGN KEY (team, thread) REFERENCES uwf.thread ON DELETE CASCADE
);

CREATE TABLE uwf.event (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    team   text COLLATE "C" NOT NULL,
    thread text COLLATE "C",
    at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind   text NOT NULL,
    worker text,
    fence  bigint,
    data   jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX event_team ON uwf.event (team, at);
CREATE INDEX event_thread ON uwf.event (team, thread, id);

CREATE TABLE uwf.worker (
    team     text COLLATE "C" NOT NULL,
    name     text NOT NULL,
    version  text NOT NULL,
    host     text NOT NULL,
    labels   text[] NOT NULL DEFAULT '{}',
    parallel int NOT NULL,
    running  int NOT NULL DEFAULT 0,
    state    text NOT NULL,
    started  timestamptz NOT NULL DEFAULT clock_timestamp(),
    seen     timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (team, name)
);

-- The owner of the schema keeps it for all teams; everybody else has the rows of a team.
ALTER TABLE uwf.team     ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.member   ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.node     ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.thread   ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.variable ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.journal  ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.event    ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.worker   ENABLE ROW LEVEL SECURITY;
-- As a subselect the function is asked once a query, not once a row.
CREATE POLICY of_team ON uwf.team     USING (name = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.member   USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.node     USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.thread   USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.variable USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.journal  USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.event    USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.worker   USING (team = (SELECT uwf.team()));
