-- The first version of what a remote keeps. Every row is of a team; who logs in sees the rows of one team alone.

CREATE SCHEMA uwf;

CREATE TABLE uwf.version (
    version       int PRIMARY KEY,
    oldest_reader int NOT NULL,        -- the oldest program, by the newest version that it knows, that may read this
    oldest_writer int NOT NULL,        -- … that may write
    applied       timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE uwf.team (
    name          text COLLATE "C" PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9_-]{0,39}$'),   -- it is part of the names of channels
    budget_usd    numeric CHECK (budget_usd >= 0),
    budget_period text CHECK (budget_period IN ('day', 'month')),      -- none: in all
    max_threads   int CHECK (max_threads >= 0),
    max_nodes     bigint CHECK (max_nodes >= 0),
    max_bytes     bigint CHECK (max_bytes >= 0)
);
INSERT INTO uwf.team (name) VALUES ('default');

-- What the owner has set for a team; 'objects' is the URL of the store of its large nodes, which never has keys in it.
CREATE TABLE uwf.setting (
    team  text COLLATE "C" NOT NULL REFERENCES uwf.team (name) ON DELETE CASCADE,
    name  text COLLATE "C" NOT NULL CHECK (name IN ('objects')),
    value text NOT NULL,
    PRIMARY KEY (team, name)
);

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
    CHECK ((bytes IS NULL) <> (object IS NULL)),
    -- Whoever owns the tables removes what these name: nobody names what is another team's.
    CONSTRAINT object CHECK (starts_with(object, team || '/')),
    -- Limits are sums of these.
    CONSTRAINT size CHECK (size >= 0 AND (bytes IS NULL OR size = octet_length(bytes)))
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
-- Those that are leased are few, and are found by this one; a lease is written without any index so.
CREATE INDEX thread_state ON uwf.thread (team, state, id);

-- A thread's own variables but its head: failed attempts, what was undone, options, the reason of a pause.
CREATE TABLE uwf.variable (
    team   text COLLATE "C" NOT NULL,
    thread text COLLATE "C" NOT NULL,
    name   text COLLATE "C" NOT NULL,
    value  text COLLATE "C" NOT NULL,
    tags   jsonb NOT NULL DEFAULT '{}',
    also   text[] COLLATE "C" NOT NULL DEFAULT '{}',   -- the nodes that `value` names in its text: they are not garbage
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
    data   jsonb NOT NULL DEFAULT '{}',
    -- Budgets are sums of these.
    CONSTRAINT cost CHECK (kind NOT IN ('step', 'attempt') OR coalesce((data ->> 'cost_usd')::float8, 0) >= 0)
);
CREATE INDEX event_paid ON uwf.event (team, at) WHERE kind IN ('step', 'attempt');   -- who claims writes nothing here
CREATE INDEX event_thread ON uwf.event (team, thread, id);

-- When the running period of a budget began.
CREATE FUNCTION uwf.period_start(period text) RETURNS timestamptz
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
SELECT CASE period WHEN 'day' THEN date_trunc('day', clock_timestamp(), 'UTC')
                   WHEN 'month' THEN date_trunc('month', clock_timestamp(), 'UTC')
                   ELSE '-infinity' END
$$;

-- What a team has spent in the running period of its budget, in US dollars: for steps, and for attempts that failed.
CREATE FUNCTION uwf.spent(whose text) RETURNS double precision
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
SELECT coalesce(sum((e.data ->> 'cost_usd')::float8), 0)
FROM uwf.team t JOIN uwf.event e ON e.team = t.name AND e.kind IN ('step', 'attempt') AND e.at >= uwf.period_start(t.budget_period)
WHERE t.name = whose
$$;

-- Whether a team has a budget, and nothing is left of it.
CREATE FUNCTION uwf.is_spent(whose text) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp
    AS $$
SELECT EXISTS (SELECT FROM uwf.team WHERE name = whose AND budget_usd IS NOT NULL AND budget_usd::float8 <= uwf.spent(name))
$$;

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

-- What each team has, for its limits; in several rows, so that those who write at the same time do not wait for each other.
CREATE TABLE uwf.usage (
    team    text COLLATE "C" NOT NULL,
    slot    int NOT NULL,
    threads bigint NOT NULL DEFAULT 0,
    nodes   bigint NOT NULL DEFAULT 0,
    bytes   bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (team, slot)
) WITH (fillfactor = 50);

-- Counts, and holds what there is then against the limits of the team. Who writes at the same time is not seen: a limit can be
-- exceeded by what is being written just then.
CREATE FUNCTION uwf.count_usage(whose text, threads bigint, nodes bigint, bytes bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    may uwf.team;
    has record;
    over text;
BEGIN
    INSERT INTO uwf.usage AS u (team, slot, threads, nodes, bytes)
    VALUES (whose, pg_backend_pid() % 16, $2, $3, $4)
    ON CONFLICT (team, slot) DO UPDATE
        SET threads = u.threads + excluded.threads, nodes = u.nodes + excluded.nodes, bytes = u.bytes + excluded.bytes;
    SELECT * INTO may FROM uwf.team WHERE name = whose;
    IF NOT ($2 > 0 AND may.max_threads IS NOT NULL OR $3 > 0 AND (may.max_nodes IS NOT NULL OR may.max_bytes IS NOT NULL)) THEN
        RETURN;
    END IF;
    SELECT sum(u.threads) AS threads, sum(u.nodes) AS nodes, sum(u.bytes) AS bytes INTO has FROM uwf.usage u WHERE u.team = whose;
    over := CASE
        WHEN $2 > 0 AND has.threads > may.max_threads THEN format('%s threads, and this would be %s', may.max_threads, has.threads)
        WHEN $3 > 0 AND has.nodes > may.max_nodes THEN format('%s nodes, and these would make it %s', may.max_nodes, has.nodes)
        WHEN $3 > 0 AND has.bytes > may.max_bytes THEN format('%s bytes of nodes, and these would make it %s', may.max_bytes, has.bytes)
    END;
    IF over IS NOT NULL THEN
        RAISE EXCEPTION 'team % may have %', whose, over USING ERRCODE = 'UWF01',
            HINT = format('the owner of the remote removes threads that are over (`uwf remote prune`, `uwf remote gc`), or raises the limit: `uwf remote team set NAME %s --help`', whose);
    END IF;
END $$;
REVOKE EXECUTE ON FUNCTION uwf.count_usage FROM PUBLIC;

CREATE FUNCTION uwf.count_nodes() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    PERFORM uwf.count_usage(team, 0, sign * count(*), sign * sum(size::bigint)::bigint) FROM changed GROUP BY team;
    RETURN NULL;
END $$;
CREATE FUNCTION uwf.count_threads() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    sign int := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
    PERFORM uwf.count_usage(team, sign * count(*), 0, 0) FROM changed GROUP BY team;
    RETURN NULL;
END $$;
-- Whoever may execute them may attach them to a table of their own, and have them count what is in nobody's.
REVOKE EXECUTE ON FUNCTION uwf.count_nodes, uwf.count_threads FROM PUBLIC;
CREATE TRIGGER added AFTER INSERT ON uwf.node REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_nodes();
CREATE TRIGGER removed AFTER DELETE ON uwf.node REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_nodes();
CREATE TRIGGER added AFTER INSERT ON uwf.thread REFERENCING NEW TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_threads();
CREATE TRIGGER removed AFTER DELETE ON uwf.thread REFERENCING OLD TABLE AS changed
    FOR EACH STATEMENT EXECUTE FUNCTION uwf.count_threads();

-- Which of these nodes are there, of the team of whoever asks, and what is to be compared of them. They count as put just now, or
-- a short time ago: whoever collects garbage leaves them alone until the head that needs them is set. A node that is being
-- collected is not there. Locked in the order of their hashes, so that nobody waits for another in a circle.
CREATE FUNCTION uwf.have(hashes text[]) RETURNS TABLE (hash text, digest bytea, refs text[])
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    -- Whoever asks may have set how claims are planned.
    SET enable_sort = on SET enable_seqscan = on SET enable_bitmapscan = on
    AS $$
WITH mine AS MATERIALIZED (SELECT uwf.team() AS team, clock_timestamp() - interval '30 min' AS young),
old AS (
    SELECT n.team, n.hash FROM uwf.node n
    WHERE n.team = (SELECT team FROM mine) AND n.hash = ANY (hashes) AND n.put < (SELECT young FROM mine)
    ORDER BY n.hash FOR NO KEY UPDATE),
confirmed AS (
    UPDATE uwf.node n SET put = clock_timestamp() FROM old
    WHERE n.team = old.team AND n.hash = old.hash RETURNING n.hash, n.digest, n.refs)
SELECT confirmed.hash, confirmed.digest, confirmed.refs FROM confirmed
UNION ALL
SELECT n.hash, n.digest, n.refs FROM uwf.node n
WHERE n.team = (SELECT team FROM mine) AND n.hash = ANY (hashes) AND n.put >= (SELECT young FROM mine)
$$;
REVOKE EXECUTE ON FUNCTION uwf.have FROM PUBLIC;

-- Frees the threads of the team of whoever asks whose leases are over; says which these are, and who had them. One that was to be
-- cancelled or paused is that now; of the others, those that were tried too often are dead, and those that have cost what they
-- may are paused. Here because those do that, too, who may not touch a lease: when the last worker is killed nobody else would.
CREATE FUNCTION uwf.reap() RETURNS TABLE (id text, worker text, state text)
    LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
    AS $$
WITH ended AS (
    SELECT t.team, t.id FROM uwf.thread t
    WHERE t.team = (SELECT uwf.team()) AND t.state = 'leased' AND t.lease_until < clock_timestamp()
    FOR UPDATE SKIP LOCKED),
freed AS (
    UPDATE uwf.thread t
    SET state = CASE WHEN t.wish = 'cancel' THEN 'done' WHEN t.wish = 'pause' THEN 'paused'
                     WHEN t.attempts >= t.max_attempts THEN 'dead' WHEN t.max_cost_usd <= t.cost_usd THEN 'paused' ELSE 'ready' END,
        status = CASE WHEN t.wish = 'cancel' THEN 'cancelled' ELSE t.status END,
        tags = CASE WHEN t.wish = 'cancel' THEN jsonb_build_object('status', 'cancelled', 'completedAt',
                   floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint::text) ELSE t.tags END,
        reason = CASE WHEN t.wish IS NOT NULL THEN t.reason
                      WHEN t.attempts >= t.max_attempts THEN
                          format('%s workers in a row were not heard of any more while they had it; the last one was %s', t.attempts, t.worker)
                      WHEN t.max_cost_usd <= t.cost_usd THEN
                          format('its steps have cost $%s of $%s', round(t.cost_usd::numeric, 4), t.max_cost_usd)
                      ELSE format('%s was not heard of any more', t.worker) END,
        lease_until = NULL, wish = NULL, ready_at = clock_timestamp(), updated = clock_timestamp()
    FROM ended WHERE t.team = ended.team AND t.id = ended.id
    RETURNING t.team, t.id, t.worker, t.fence, t.state, t.reason),
told AS (
    INSERT INTO uwf.event (team, thread, kind, worker, fence, data)
    SELECT f.team, f.id, CASE f.state WHEN 'dead' THEN 'dead' ELSE 'lost' END, f.worker, f.fence,
           jsonb_build_object('reason', f.reason) FROM freed f)
SELECT f.id, f.worker, f.state FROM freed f, LATERAL pg_notify('uwf_ready_' || f.team, '')
$$;
REVOKE EXECUTE ON FUNCTION uwf.reap FROM PUBLIC;

-- Who may not lease does not touch what is leased: where a thread stands, where it works, and its variables, be it to take them
-- away to another thread.
CREATE FUNCTION uwf.refuse_leased() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
    AS $$
DECLARE
    held record;
BEGIN
    IF TG_TABLE_NAME = 'thread' THEN
        held := OLD;
    ELSE
        -- Where a variable is moved, the thread that it is taken from and the one that it goes to; in order, so that nobody waits
        -- in a circle. Looked at when they are locked.
        PERFORM FROM uwf.thread WHERE team = coalesce(NEW.team, OLD.team) AND id IN (OLD.thread, NEW.thread)
            ORDER BY id FOR NO KEY UPDATE;
        SELECT id, state, worker INTO held FROM uwf.thread
        WHERE team = coalesce(NEW.team, OLD.team) AND id IN (OLD.thread, NEW.thread) AND state = 'leased' LIMIT 1;
    END IF;
    IF held.state = 'leased' THEN
        RAISE EXCEPTION 'worker % has thread % just now', held.worker, held.id USING ERRCODE = 'UWF02',
            HINT = format('wait until it has ended, or `uwf thread cancel %s --remote NAME`', held.id);
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER leased BEFORE UPDATE OF head, tags, status, role, workspace ON uwf.thread FOR EACH ROW
    WHEN (OLD.state = 'leased' AND NOT has_column_privilege('uwf.thread', 'lease_until', 'UPDATE'))
    EXECUTE FUNCTION uwf.refuse_leased();
CREATE TRIGGER leased BEFORE INSERT OR UPDATE OR DELETE ON uwf.variable FOR EACH ROW
    WHEN (NOT has_column_privilege('uwf.thread', 'lease_until', 'UPDATE'))
    EXECUTE FUNCTION uwf.refuse_leased();

-- The owner of the schema keeps it for all teams; everybody else has the rows of a team.
ALTER TABLE uwf.team     ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.setting  ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.member   ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.node     ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.thread   ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.variable ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.journal  ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.event    ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.worker   ENABLE ROW LEVEL SECURITY;
ALTER TABLE uwf.usage    ENABLE ROW LEVEL SECURITY;
-- As a subselect the function is asked once a query, not once a row.
CREATE POLICY of_team ON uwf.team     USING (name = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.setting  USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.member   USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.node     USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.thread   USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.variable USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.journal  USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.worker   USING (team = (SELECT uwf.team()));
CREATE POLICY of_team ON uwf.usage    USING (team = (SELECT uwf.team()));
-- What a step has cost is told by those alone who may lease a thread.
CREATE POLICY of_team ON uwf.event FOR SELECT USING (team = (SELECT uwf.team()));
CREATE POLICY told ON uwf.event FOR INSERT WITH CHECK (team = (SELECT uwf.team())
    AND (kind NOT IN ('step', 'attempt') OR (SELECT has_column_privilege('uwf.thread', 'lease_until', 'UPDATE'))));
