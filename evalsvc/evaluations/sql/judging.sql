-- The judge lane, over all accounts: what its runners claim, read, keep, put off and finish, each in one round trip.
-- See docs/adr/0034-one-runner-for-judges.md. Pending work of the lane is free when its lease has ended: a new
-- evaluation is born with one that has.

-- Who waits, as (account, profile), without looking at each evaluation: every step jumps to the next key of the index
-- ix_evaluation_judging. Of one account at most 32 profiles, found in at most 256 steps from a random one on, so that
-- an account with a thousand of them costs the others little, and each has its turn.
DROP FUNCTION IF EXISTS judging_pairs;
CREATE FUNCTION judging_pairs(p_from uuid, p_free_at timestamptz, p_low bigint, p_high bigint)
RETURNS TABLE (account bigint, profile uuid) LANGUAGE plpgsql STABLE SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  first uuid;
  n int;
BEGIN
  account := -1;
  LOOP
    SELECT e.account_id INTO account FROM evaluations_evaluation e
    WHERE e.status = 'pending' AND e.lane = 'judge' AND e.account_id > account
      AND e.id >= p_low AND e.id < p_high ORDER BY e.account_id LIMIT 1;
    EXIT WHEN NOT FOUND;
    CONTINUE WHEN account_rests(account);
    first := NULL; n := 0; profile := NULL;
    FOR step IN 1 .. 256 LOOP
      IF profile IS NULL THEN
        SELECT e.profile_id INTO profile FROM evaluations_evaluation e
        WHERE e.status = 'pending' AND e.lane = 'judge' AND e.account_id = account AND e.profile_id >= p_from
          AND e.id >= p_low AND e.id < p_high
        ORDER BY e.profile_id LIMIT 1;
      ELSE
        SELECT e.profile_id INTO profile FROM evaluations_evaluation e
        WHERE e.status = 'pending' AND e.lane = 'judge' AND e.account_id = account AND e.profile_id > profile
          AND e.id >= p_low AND e.id < p_high
        ORDER BY e.profile_id LIMIT 1;
      END IF;
      IF NOT FOUND THEN
        -- Once round: go on with the lowest, until the one that was first.
        SELECT e.profile_id INTO profile FROM evaluations_evaluation e
        WHERE e.status = 'pending' AND e.lane = 'judge' AND e.account_id = account
          AND e.id >= p_low AND e.id < p_high
        ORDER BY e.profile_id LIMIT 1;
      END IF;
      EXIT WHEN profile IS NULL OR profile = first;
      first := coalesce(first, profile);
      PERFORM 1 FROM evaluations_evaluation e
      WHERE e.status = 'pending' AND e.lane = 'judge' AND e.account_id = account AND e.profile_id = profile
        AND e.id >= p_low AND e.id < p_high AND e.lease_expires_at <= p_free_at LIMIT 1;
      IF FOUND THEN
        RETURN NEXT;
        n := n + 1;
        EXIT WHEN n = 32;
      END IF;
    END LOOP;
  END LOOP;
END $$;

-- Claim up to p_limit evaluations whose lease has ended: the account with the fewest in flight first, within it the
-- connection with the fewest, within that the longest free. p_accounts, p_connections and p_held say what the caller
-- has in flight. When it lends (all of its p_slots are taken) only those with less than their share get something.
-- One claim at a time, so that two runners do not choose the same; what somebody has locked is passed over.
CREATE OR REPLACE FUNCTION claim_judging(
  p_limit int, p_slots int, p_lends boolean, p_lease_seconds double precision,
  p_accounts bigint[], p_connections text[], p_held int[], p_from uuid
) RETURNS TABLE (
  id bigint, account_id bigint, request_id bigint, "position" smallint, runs varchar, explain_strategy varchar,
  n_attempts smallint, n_sweeps smallint, connection text
) LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  free_at timestamptz;
  accounts bigint[];
  profiles uuid[];
  most int;
  part record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('claim_judging', 0));
  free_at := clock_timestamp();
  FOR part IN SELECT * FROM claimed_ranges(free_at) LOOP
    SELECT array_agg(w.account), array_agg(w.profile) INTO accounts, profiles
    FROM judging_pairs(p_from, free_at, part.low, part.high) w;
    EXIT WHEN accounts IS NOT NULL;
  END LOOP;
  IF accounts IS NULL THEN
    RETURN;
  END IF;
  most := 2 + 2 * p_limit / array_length(accounts, 1);
  RETURN QUERY
  WITH waiting AS MATERIALIZED (
    SELECT f.*, coalesce(r.settings->>'connection', '') AS connection
    FROM unnest(accounts, profiles) AS w(account, profile)
    CROSS JOIN LATERAL (
      SELECT e.id, e.account_id, e.profile_id, e.profile_revision, e.lease_expires_at FROM evaluations_evaluation e
      WHERE e.status = 'pending' AND e.lane = 'judge' AND e.id >= part.low AND e.id < part.high
        AND e.account_id = w.account AND e.profile_id = w.profile
        AND e.lease_expires_at <= free_at
      ORDER BY e.lease_expires_at LIMIT most) f
    LEFT JOIN catalog_profilerevision r ON r.profile_id = f.profile_id AND r.number = f.profile_revision
  ), held AS (
    SELECT * FROM unnest(p_accounts, p_connections, p_held) AS h(account, connection, n)
  ), in_play AS (
    SELECT account_id AS account, connection FROM waiting UNION SELECT account, connection FROM held WHERE n > 0
  ), shares AS (
    SELECT account, greatest(1, p_slots / (SELECT count(DISTINCT account) FROM in_play) / count(*)) AS share
    FROM in_play GROUP BY account
  ), by_connection AS (
    SELECT w.*, coalesce(h.n, 0) + row_number() OVER (
      PARTITION BY w.account_id, w.connection ORDER BY w.lease_expires_at, w.id) AS of_connection
    FROM waiting w LEFT JOIN held h ON h.account = w.account_id AND h.connection = w.connection
  ), by_account AS (
    SELECT c.*, coalesce(h.n, 0) + row_number() OVER (
      PARTITION BY c.account_id ORDER BY c.of_connection, c.lease_expires_at, c.id) AS of_account
    FROM by_connection c LEFT JOIN (SELECT account, sum(n) AS n FROM held GROUP BY account) h ON h.account = c.account_id
  ), chosen AS MATERIALIZED (
    SELECT a.id, a.connection FROM by_account a JOIN shares s ON s.account = a.account_id
    WHERE NOT p_lends OR a.of_connection <= s.share
    ORDER BY a.of_account, a.of_connection, a.lease_expires_at, a.id LIMIT p_limit
  ), free AS MATERIALIZED (
    SELECT e.id FROM evaluations_evaluation e
    WHERE e.id = ANY(ARRAY(SELECT c.id FROM chosen c)) AND e.status || '' = 'pending' AND e.lease_expires_at <= free_at
      AND e.id >= part.low AND e.id < part.high
    FOR UPDATE OF e SKIP LOCKED
  ), claimed AS (
    UPDATE evaluations_evaluation e
    SET n_attempts = e.n_attempts + 1, lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
    WHERE e.id = ANY(ARRAY(SELECT f.id FROM free f)) AND e.id >= part.low AND e.id < part.high
    RETURNING e.id, e.account_id, e.request_id, e.position, e.runs, e.explain_strategy, e.n_attempts, e.n_sweeps
  )
  SELECT k.*, c.connection FROM claimed k JOIN chosen c ON c.id = k.id;
END $$;

-- What claimed evaluations are about: the settings that each was accepted with, and the inputs of its request, which
-- stand beside the first evaluation of each request only. Sets the account for each of them, so that row-level security
-- stands between two accounts of a batch.
CREATE OR REPLACE FUNCTION read_judging(p_accounts bigint[], p_ids bigint[])
RETURNS TABLE (
  id bigint, settings jsonb, is_first boolean, input text, output text, contexts text[], gold text, system_prompt text,
  extras jsonb
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  part record;
BEGIN
  FOR part IN
    SELECT w.account, array_agg(w.id) AS ids, min(w.id) AS first, max(w.id) AS final
    FROM unnest(p_accounts, p_ids) AS w(account, id) GROUP BY w.account
  LOOP
    PERFORM set_config('app.account_id', part.account::text, true);
    RETURN QUERY
    SELECT f.id, r.settings, f.place = 1,
      CASE f.place WHEN 1 THEN q.input END, CASE f.place WHEN 1 THEN q.output END, CASE f.place WHEN 1 THEN q.contexts END,
      CASE f.place WHEN 1 THEN q.gold END, CASE f.place WHEN 1 THEN q.system_prompt END, CASE f.place WHEN 1 THEN q.extras END
    FROM (
      SELECT e.*, row_number() OVER (PARTITION BY e.request_id ORDER BY e.id) AS place FROM evaluations_evaluation e
      -- The range leaves the partitions that have them; a list of ids alone leaves all.
      WHERE e.account_id = part.account AND e.id = ANY(part.ids) AND e.id BETWEEN part.first AND part.final) f
    JOIN evaluations_evaluationrequest q ON q.account_id = part.account AND q.id = f.request_id
    LEFT JOIN catalog_profilerevision r ON r.profile_id = f.profile_id AND r.number = f.profile_revision;
  END LOOP;
END $$;

-- Which of these are still held: pending, and not claimed again since. What somebody has locked is being answered,
-- deleted or claimed at this moment, and is left to them. The caller changes them in the same transaction.
CREATE OR REPLACE FUNCTION held_judging(p_ids bigint[], p_attempts int[])
RETURNS SETOF bigint LANGUAGE sql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  SELECT e.id FROM evaluations_evaluation e
  WHERE e.id = ANY(p_ids) AND e.status || '' = 'pending' AND e.n_attempts = p_attempts[array_position(p_ids, e.id)]
  FOR UPDATE OF e SKIP LOCKED
$$;

-- Say of evaluations that a runner is busy with them, or (0 seconds) that it has given them up: another may claim them.
CREATE OR REPLACE FUNCTION extend_judging(p_ids bigint[], p_attempts int[], p_lease_seconds double precision)
RETURNS SETOF bigint LANGUAGE sql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  WITH held AS MATERIALIZED (SELECT h.id FROM held_judging(p_ids, p_attempts) AS h(id))
  UPDATE evaluations_evaluation e SET lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
  WHERE e.id = ANY(ARRAY(SELECT h.id FROM held h)) RETURNING e.id
$$;

-- What is shown of a judgement that waits; null where the service itself was away.
CREATE OR REPLACE FUNCTION waiting_message(p_until timestamptz, p_message text) RETURNS text
LANGUAGE sql STABLE PARALLEL SAFE
RETURN 'Waiting for the judge endpoint until '
  || to_char(p_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || '. ' || p_message;

-- Put evaluations off, each by a delay of its own, which is cut at the end of the patience after they were accepted; those
-- that may not be asked again before that end are not put off. What was no attempt counts as none. Tells of each that is
-- still held whether it was put off. A row says what it waits for in the columns of an error, until its verdict is there.
CREATE OR REPLACE FUNCTION postpone_judging(
  p_ids bigint[], p_attempts int[], p_delays double precision[], p_least double precision[], p_codes text[],
  p_messages text[], p_patience_seconds double precision
) RETURNS TABLE (id bigint, was_put_off boolean) LANGUAGE sql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  WITH held AS MATERIALIZED (SELECT h.id FROM held_judging(p_ids, p_attempts) AS h(id)
  ), waits AS MATERIALIZED (
    SELECT e.id, w.code, w.message,
      clock_timestamp() + least(w.delay, r.seconds) * interval '1 second' AS until
    FROM evaluations_evaluation e
    JOIN unnest(p_ids, p_delays, p_least, p_codes, p_messages) AS w(id, delay, least, code, message) ON w.id = e.id
    CROSS JOIN LATERAL (
      SELECT extract(epoch FROM e.created_at - clock_timestamp()) + p_patience_seconds AS seconds) r
    WHERE e.id = ANY(ARRAY(SELECT h.id FROM held h)) AND r.seconds > greatest(w.least, 0.1)
  ), put_off AS (
    UPDATE evaluations_evaluation e
    SET lease_expires_at = w.until, n_attempts = e.n_attempts - 1, n_sweeps = least(e.n_sweeps + 1, 1000),
      error_code = w.code, error_message = waiting_message(w.until, w.message)
    FROM waits w WHERE e.id = ANY(ARRAY(SELECT w.id FROM waits w)) AND e.id = w.id
    RETURNING e.id
  )
  SELECT h.id, p.id IS NOT NULL FROM held h LEFT JOIN put_off p ON p.id = h.id
$$;

-- Write the verdicts of several requests, of any accounts, in one transaction: all of them or none. p_items:
-- [{account, request, verdicts}]. What `finish_evaluations` does for one request is done here for all of an account at
-- once: each statement costs more than what it does for a row. Requests are locked by account, then by id, so that two
-- batches lock them alike. Returns the positions that were written of each, and nothing of those without any.
CREATE OR REPLACE FUNCTION finish_judging(p_items jsonb)
RETURNS TABLE (request bigint, positions smallint[]) LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  part record;
  finished bigint[];
  places smallint[];
  entries history_row[];
  has_uncaptured boolean;
BEGIN
  FOR part IN
    SELECT i.account, jsonb_agg(to_jsonb(i)) AS items, array_agg(i.request) AS requests, min(i.request) AS first, max(i.request) AS final
    FROM jsonb_to_recordset(p_items) AS i(account bigint, request bigint, verdicts jsonb) GROUP BY i.account ORDER BY i.account
  LOOP
    PERFORM set_config('app.account_id', part.account::text, true);
    -- Two lanes that end at once must agree on who was last.
    SELECT bool_or(l.capture <> 'all') INTO has_uncaptured FROM (
      SELECT q.capture FROM evaluations_evaluationrequest q
      WHERE q.account_id = part.account AND q.id = ANY(part.requests) AND q.id BETWEEN part.first AND part.final
      ORDER BY q.id FOR UPDATE) l;
    WITH verdicts AS MATERIALIZED (
      SELECT q.id AS request, v.position, {{v.verdict}}, coalesce(v.id, (
          -- Workers of earlier versions tell no ids.
          SELECT e.id FROM evaluations_evaluation e WHERE e.account_id = part.account AND e.request_id = q.id
            AND e.position = v.position AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id))) AS evaluation,
        coalesce(q.capture = 'all' OR (q.capture = 'fails-only' AND v.passed = false), false) AS keep,
        q.capture = 'all' AND v.status = 'success' AS remember, q.sample_hash, q.batch_id, q.probability
      FROM jsonb_to_recordset(part.items) AS i(request bigint, verdicts jsonb)
      JOIN evaluations_evaluationrequest q ON q.account_id = part.account AND q.id = ANY(part.requests) AND q.id = i.request
      CROSS JOIN LATERAL jsonb_populate_recordset(NULL::evaluations_evaluation, i.verdicts) v
    ), written AS (
      UPDATE evaluations_evaluation e
      SET ({{verdict}}) = ROW({{v.verdict}}), captured = v.keep, lease_expires_at = NULL,
          -- An output counts once, though a request may have the same evaluator judge it several times.
          in_history = v.remember AND (e.position = 0 OR NOT EXISTS (
            SELECT 1 FROM evaluations_evaluation f WHERE f.account_id = part.account AND f.request_id = e.request_id
              AND f.id >= ids_from(e.request_id) AND f.id < ids_until(e.request_id) AND f.position < e.position
              AND (f.evaluator_id, f.profile_name) = (e.evaluator_id, e.profile_name))),
          completed_at = clock_timestamp()
      FROM verdicts v
      WHERE e.account_id = part.account AND e.id = ANY(ARRAY(SELECT k.evaluation FROM verdicts k)) AND e.id = v.evaluation
        AND e.request_id = v.request AND e.position = v.position AND e.status || '' = 'pending'
        AND e.id >= ids_from(part.first) AND e.id < ids_until(part.final)
      RETURNING e.*, v.sample_hash, v.batch_id, v.probability
    )
    SELECT array_agg(w.request_id), array_agg(w.position), array_agg(ROW(
      w.id, w.evaluator_id, w.profile_name, w.profile_revision, w.score, w.passed, 'evaluation', w.id, false, w.app,
      w.project_id, w.experiment_id, NULL, NULL, w.created_at, w.sample_hash, w.batch_id,
      w.probability)::history_row) FILTER (WHERE w.in_history)
    INTO finished, places, entries FROM written w;
    IF entries IS NOT NULL THEN
      PERFORM insert_scores(part.account, entries);
    END IF;
    UPDATE evaluations_evaluationrequest q SET completed_at = clock_timestamp()
    WHERE q.account_id = part.account AND q.id = ANY(part.requests) AND q.id BETWEEN part.first AND part.final
      AND q.completed_at IS NULL AND 0 = (
        SELECT count(*) FROM evaluations_evaluation e WHERE e.account_id = part.account AND e.request_id = q.id
          AND e.status || '' = 'pending' AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id));
    IF has_uncaptured THEN
      PERFORM blank_uncaptured(part.account, part.requests, part.first, part.final);
    END IF;
    RETURN QUERY
      SELECT u.request, array_agg(u.place ORDER BY u.place) FROM unnest(finished, places) AS u(request, place) GROUP BY u.request;
  END LOOP;
END $$;
