-- Roles for logins at a remote: GRANT uwf_worker TO build1. Each of them sees and writes the rows of its own team alone (row
-- level security), and of these no more than is granted here. Whoever owns the schema, and its members, may do anything. Run
-- again it changes nothing, and takes back what is not granted here. The roles are the server's: in each of its databases that a
-- login may connect to it has them. CONNECT is for whoever owns the database to revoke and grant.

DO $$
DECLARE
    named text;
BEGIN
    FOREACH named IN ARRAY ARRAY['uwf_reader', 'uwf_submitter', 'uwf_worker'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = named) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', named);
        END IF;
    END LOOP;
    FOREACH named IN ARRAY ARRAY['uwf_submitter', 'uwf_worker'] LOOP
        IF NOT pg_has_role(named, 'uwf_reader', 'MEMBER') THEN
            EXECUTE format('GRANT uwf_reader TO %I', named);
        END IF;
    END LOOP;
END $$;

REVOKE ALL ON ALL TABLES IN SCHEMA uwf FROM uwf_reader, uwf_submitter, uwf_worker;
REVOKE ALL ON ALL FUNCTIONS IN SCHEMA uwf FROM uwf_reader, uwf_submitter, uwf_worker;
REVOKE ALL ON SCHEMA uwf FROM uwf_reader, uwf_submitter, uwf_worker;

-- To see what there is. Who is a member of which team is for the owner.
GRANT USAGE ON SCHEMA uwf TO uwf_reader;
GRANT SELECT ON uwf.version, uwf.team, uwf.setting, uwf.node, uwf.thread, uwf.variable, uwf.journal, uwf.event, uwf.worker, uwf.usage TO uwf_reader;
GRANT EXECUTE ON FUNCTION uwf.team(), uwf.period_start(text), uwf.spent(text), uwf.is_spent(text) TO uwf_reader;

-- Both put nodes, which nobody but the owner changes or removes, and tell what happened.
GRANT EXECUTE ON FUNCTION uwf.have(text[]) TO uwf_submitter, uwf_worker;
-- A lease that is over is taken from whoever had it; one that is not stays.
GRANT EXECUTE ON FUNCTION uwf.reap() TO uwf_submitter, uwf_worker;
GRANT INSERT (team, hash, digest, type, made, bytes, object, size, refs) ON uwf.node TO uwf_submitter, uwf_worker;
GRANT INSERT (team, thread, kind, worker, fence, data) ON uwf.event TO uwf_submitter, uwf_worker;
GRANT INSERT, UPDATE, DELETE ON uwf.variable TO uwf_submitter, uwf_worker;

-- To push threads, have them run, and say what is to be done with them: without `lease_until`, so that what is leased stays so.
GRANT INSERT (team, id, head, tags, status, workflow, workflow_name, task, role, state, priority, labels, ready_at, max_attempts,
              max_cost_usd, workspace, reason)
    ON uwf.thread TO uwf_submitter;
GRANT UPDATE (head, tags, status, task, role, state, priority, labels, ready_at, attempts, max_attempts, max_cost_usd, workspace,
              answer, wish, reason, updated)
    ON uwf.thread TO uwf_submitter;

-- To make steps: not to say which threads are run, how urgent they are and what they may cost.
GRANT UPDATE (head, tags, status, role, state, ready_at, fence, attempts, worker, lease_until, answer, wish, steps, cost_usd, tokens,
              workspace, reason, updated)
    ON uwf.thread TO uwf_worker;
GRANT INSERT, UPDATE, DELETE ON uwf.journal TO uwf_worker;
GRANT INSERT, UPDATE, DELETE ON uwf.worker TO uwf_worker;
