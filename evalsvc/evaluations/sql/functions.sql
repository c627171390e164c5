-- The write paths of evaluations, each one round trip: set the account, read, write, answer.
-- SECURITY INVOKER: row-level security applies inside them as everywhere else.
-- Planned once in a session (force_generic_plan), and pruned to their partitions as they run: to plan for the values at
-- hand looks cheaper to PostgreSQL, as it prunes earlier, and takes longer than the statements themselves, each time.
-- Such a plan stays, though it was made when a table, or a month, had few rows: reading all of them looks cheap then. So
-- these functions go by indexes (no enable_seqscan); rows of known ids are not joined but asked for by `id = ANY`; and where an
-- index of all that is pending looks as good as the key, `status || ''` keeps it out.
-- In double braces stand the columns of a group of `columns.py`, as those of a row where one is named.

-- Keep requests of one account with their evaluations, finished or pending: those of p_captures ([{request, evaluations,
-- lease_seconds}]) from p_first to p_final, in one statement, as starting one costs more than a row. Their times and ids
-- the caller drew (`next_ids`: they share a partition): of each request, and of all evaluations in order, of which
-- p_offsets says how many come before each request's. Returns the evaluations' ids by request and position. Sets the
-- account, so that row-level security stands between two accounts in one transaction. Without `p_waits` a lock that
-- somebody holds is the error `lock_not_available`.
DROP FUNCTION IF EXISTS keep_evaluations(bigint, bigint, timestamptz, jsonb, jsonb, double precision, boolean);
DROP FUNCTION IF EXISTS keep_evaluations(bigint, bigint, bigint[], timestamptz, jsonb, jsonb, double precision, boolean);
CREATE OR REPLACE FUNCTION keep_evaluations(
  p_account bigint, p_captures jsonb, p_first int, p_final int, p_request_ids bigint[], p_ids bigint[], p_offsets int[],
  p_created_at timestamptz[], p_waits boolean
) RETURNS bigint[] LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  wanted uuid[];
  living uuid[];
  evaluation_ids bigint[];
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  -- As a foreign key would: whoever deletes the project waits for this, and finds it in use.
  -- Where the deletion came first, the evaluation is in no project rather than in one that is gone.
  FOR i IN p_first .. p_final LOOP
    wanted := wanted || (p_captures -> (i - 1) -> 'request' ->> 'project_id')::uuid;
  END LOOP;
  IF p_waits THEN
    living := ARRAY(
      SELECT p.id FROM projects_project p WHERE p.account_id = p_account AND p.id = ANY(wanted) FOR KEY SHARE);
  ELSE
    living := ARRAY(
      SELECT p.id FROM projects_project p WHERE p.account_id = p_account AND p.id = ANY(wanted) FOR KEY SHARE NOWAIT);
  END IF;
  WITH sent AS MATERIALIZED (
    SELECT c.n, c.value->'request' AS request, c.value->'evaluations' AS evaluations,
      (c.value->>'lease_seconds')::double precision AS lease_seconds
    FROM jsonb_array_elements(p_captures) WITH ORDINALITY c(value, n) WHERE c.n BETWEEN p_first AND p_final
  ), requests AS (
    INSERT INTO evaluations_evaluationrequest AS q
    SELECT r.* FROM sent s, LATERAL jsonb_populate_record(
      NULL::evaluations_evaluationrequest, s.request || jsonb_build_object(
        'id', p_request_ids[s.n], 'account_id', p_account, 'purged', false, 'created_at', p_created_at[s.n],
        'project_id', (SELECT l.id FROM unnest(living) l(id) WHERE l.id = wanted[s.n - p_first + 1] LIMIT 1),
        'completed_at', CASE WHEN NOT jsonb_path_exists(s.evaluations, '$[*] ? (@.status == "pending")')
          THEN p_created_at[s.n] END,
        'log_id', NULL, 'trace_id', NULL)) r
    RETURNING q.id, q.created_at, q.project_id, q.app, q.experiment_id, q.dataset_id, q.sample_hash, q.batch_id,
      q.probability
  ), added AS (
    INSERT INTO evaluations_evaluation AS e (
      {{accepted}},
      id, account_id, request_id, n_attempts, n_sweeps, lease_expires_at, created_at, completed_at,
      project_id, app, experiment_id, dataset_id, log_id, trace_id)
    SELECT {{r.accepted}},
      p_ids[p_offsets[s.n] + r.ordinality], p_account, q.id, 0, 0,
      -- Nobody is told of what waits for a judge: whoever claims it next may have it.
      CASE WHEN r.status = 'pending' THEN
        q.created_at + CASE r.lane WHEN 'judge' THEN 0 ELSE s.lease_seconds END * interval '1 second' END,
      q.created_at, CASE WHEN r.status <> 'pending' THEN q.created_at END,
      q.project_id, q.app, q.experiment_id, q.dataset_id, s.request->>'log_id', s.request->>'trace_id'
    FROM requests q JOIN sent s ON p_request_ids[s.n] = q.id,
      LATERAL jsonb_populate_recordset(NULL::evaluations_evaluation, s.evaluations) WITH ORDINALITY r
    RETURNING e.id, e.request_id, e.position, e.in_history, e.evaluator_id, e.profile_name, e.profile_revision, e.score,
      e.passed, e.app, e.project_id, e.experiment_id, e.created_at
  ), remembered AS (
    -- What `insert_scores` would write, of ids that nobody has had before: a statement of its own costs a twentieth of
    -- the call.
    INSERT INTO evaluations_historyscore (
      account_id, id, evaluator_id, profile_name, revision, score, passed, source, source_id, app, project_id,
      experiment_id, created_at, sample_hash, batch_id, probability)
    SELECT p_account, a.id, a.evaluator_id, a.profile_name, a.profile_revision, a.score, a.passed, 'evaluation', a.id,
      a.app, a.project_id, a.experiment_id, a.created_at, q.sample_hash, q.batch_id,
      q.probability
    FROM added a JOIN requests q ON q.id = a.request_id WHERE a.in_history
  )
  SELECT array_agg(a.id ORDER BY a.request_id, a.position) INTO evaluation_ids FROM added a;
  IF jsonb_path_exists(p_captures, '$[*].request.tags ? (@ != null)') THEN
    INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
    SELECT t.* FROM evaluations_evaluationrequest q
    JOIN evaluations_evaluation e ON e.account_id = p_account AND e.id = ANY(evaluation_ids) AND e.captured
      AND e.request_id = q.id AND e.id >= ids_from(p_request_ids[1]) AND e.id < ids_until(p_request_ids[1]),
      LATERAL tags_of(e, q.tags) t
    WHERE q.account_id = p_account AND q.id = ANY(p_request_ids[p_first:p_final]) AND q.tags IS NOT NULL
      AND q.id >= ids_from(p_request_ids[1]) AND q.id < ids_until(p_request_ids[1])
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN evaluation_ids;
END $$;

-- Keep a request with its evaluations, and answer with the histories as they were before it.
CREATE OR REPLACE FUNCTION capture_request(
  p_account bigint, p_request jsonb, p_evaluations jsonb, p_lease_seconds double precision,
  p_evaluators text[], p_profiles text[], p_snapshots text[], p_waits boolean DEFAULT true,
  OUT request_id bigint, OUT created_at timestamptz, OUT evaluation_ids bigint[],
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT hashes bytea[], OUT batches bytea[],
  OUT probabilities bytea[], OUT snapshots text[], OUT are_new boolean[]
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  drawn bigint[];
BEGIN
  SELECT h.* INTO ids, scores, facts, hashes, batches, probabilities, snapshots, are_new
  FROM newest_scores(p_account, p_evaluators, p_profiles, p_snapshots, NULL) h;
  drawn := next_ids(1 + jsonb_array_length(p_evaluations));
  request_id := drawn[1];
  created_at := clock_timestamp();
  evaluation_ids := keep_evaluations(
    p_account, jsonb_build_array(jsonb_build_object(
      'request', p_request, 'evaluations', p_evaluations, 'lease_seconds', p_lease_seconds)),
    1, 1, drawn[:1], drawn[2:], '{0}', ARRAY[created_at], p_waits);
END $$;

-- Keep the requests of several callers, of any accounts, in one transaction: all of them or none. p_captures:
-- [{account, request, evaluations, lease_seconds}]. The wanted histories, each with its account and named once, equal
-- accounts side by side, are read before anything is written: a transaction that has written hands no snapshot out.
-- For the same reason no caller's scores are in the history of another one; and as all requests have their ids before
-- the first evaluation has one, they are not "before" one another when an interval is asked for again either. Waits for
-- nobody's lock. `evaluation_ids` are those of the first request, then of the second, and so on. What is of one account is
-- to stand side by side, as it is written together.
CREATE OR REPLACE FUNCTION capture_requests(
  p_captures jsonb, p_accounts bigint[], p_evaluators text[], p_profiles text[], p_snapshots text[],
  OUT request_ids bigint[], OUT created_at timestamptz[], OUT evaluation_ids bigint[],
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT hashes bytea[], OUT batches bytea[],
  OUT probabilities bytea[], OUT snapshots text[], OUT are_new boolean[]
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  part record;
  accounts bigint[];
  offsets int[];
  drawn bigint[];
  n int := jsonb_array_length(p_captures);
  n_evaluations int := 0;
  first int := 1;
  final int;
BEGIN
  WHILE first <= coalesce(array_length(p_accounts, 1), 0) LOOP
    final := first;
    WHILE p_accounts[final + 1] = p_accounts[first] LOOP
      final := final + 1;
    END LOOP;
    SELECT h.* INTO part FROM newest_scores(
      p_accounts[first], p_evaluators[first:final], p_profiles[first:final], p_snapshots[first:final], NULL) h;
    ids := ids || part.ids; scores := scores || part.scores; facts := facts || part.facts;
    hashes := hashes || part.hashes; batches := batches || part.batches;
    probabilities := probabilities || part.probabilities; snapshots := snapshots || part.snapshots;
    are_new := are_new || part.are_new;
    first := final + 1;
  END LOOP;
  FOR i IN 1 .. n LOOP
    accounts := accounts || (p_captures -> (i - 1) ->> 'account')::bigint;
    offsets := offsets || n_evaluations;
    n_evaluations := n_evaluations + jsonb_array_length(p_captures -> (i - 1) -> 'evaluations');
    created_at := created_at || clock_timestamp();
  END LOOP;
  drawn := next_ids(n + n_evaluations);
  request_ids := drawn[1:n];
  first := 1;
  WHILE first <= n LOOP
    final := first;
    WHILE accounts[final + 1] = accounts[first] LOOP
      final := final + 1;
    END LOOP;
    evaluation_ids := evaluation_ids || keep_evaluations(
      accounts[first], p_captures, first, final, request_ids, drawn[n + 1:], offsets, created_at, false);
    first := final + 1;
  END LOOP;
END $$;

-- Take the pending evaluations of one lane of a request. A message that expects fewer attempts than were made is late:
-- it takes the work only when the lease of whoever has it has ended. Database time: workers' clocks may differ.
CREATE OR REPLACE FUNCTION lease_evaluations(
  p_account bigint, p_request bigint, p_lane text, p_expected_attempts int, p_lease_seconds double precision
) RETURNS SETOF evaluations_evaluation LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  RETURN QUERY
    UPDATE evaluations_evaluation e
    SET n_attempts = e.n_attempts + 1, lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
    WHERE e.account_id = p_account AND e.request_id = p_request AND e.lane = p_lane AND e.status || '' = 'pending'
      AND e.id >= ids_from(p_request) AND e.id < ids_until(p_request)
      AND (e.n_attempts <= p_expected_attempts OR e.lease_expires_at < clock_timestamp())
      AND NOT (SELECT account_rests(p_account))
    RETURNING e.*;
END $$;

-- Blank the texts of finished requests of which nothing was captured; their verdicts can be fetched for an hour.
CREATE OR REPLACE FUNCTION blank_uncaptured(p_account bigint, p_requests bigint[], p_first bigint, p_final bigint)
RETURNS void LANGUAGE sql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  UPDATE evaluations_evaluationrequest q
  SET input = NULL, output = NULL, contexts = NULL, gold = NULL, system_prompt = NULL, extras = NULL, tags = NULL
  WHERE q.account_id = p_account AND q.id = ANY(p_requests) AND q.id BETWEEN p_first AND p_final
    AND q.capture <> 'all' AND q.completed_at IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM evaluations_evaluation e WHERE e.account_id = p_account AND e.request_id = q.id AND e.captured
        AND e.id >= ids_from(q.id) AND e.id < ids_until(q.id));
$$;

-- Write verdicts of pending evaluations, their history scores, and, after the last one, the request's completion.
-- What has an answer keeps it: the second of two workers changes nothing. Returns the positions that were written.
CREATE OR REPLACE FUNCTION finish_evaluations(p_account bigint, p_request bigint, p_verdicts jsonb)
RETURNS smallint[] LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  mode text;
  sample bigint;
  batch bigint;
  chance double precision;
  finished smallint[];
  entries history_row[];
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  -- Two lanes that end at once must agree on who was last.
  SELECT q.capture, q.sample_hash, q.batch_id, q.probability INTO mode, sample, batch, chance FROM evaluations_evaluationrequest q
  WHERE q.account_id = p_account AND q.id = p_request FOR UPDATE;
  WITH verdicts AS (
    SELECT v.*, coalesce(mode = 'all' OR (mode = 'fails-only' AND v.passed = false), false) AS keep,
           (mode = 'all' AND v.status = 'success') AS remember
    FROM jsonb_populate_recordset(NULL::evaluations_evaluation, p_verdicts) v
  ), written AS (
    UPDATE evaluations_evaluation e
    SET ({{verdict}}) = ROW({{v.verdict}}), captured = v.keep, lease_expires_at = NULL,
        -- An output counts once, though a request may have the same evaluator judge it several times.
        in_history = v.remember AND NOT EXISTS (
          SELECT 1 FROM evaluations_evaluation f WHERE f.account_id = p_account AND f.request_id = p_request
            AND f.id >= ids_from(p_request) AND f.id < ids_until(p_request) AND f.position < e.position AND (f.evaluator_id, f.profile_name) = (e.evaluator_id, e.profile_name)),
        completed_at = clock_timestamp()
    FROM verdicts v
    WHERE e.account_id = p_account AND e.request_id = p_request AND e.position = v.position AND e.status || '' = 'pending'
      AND e.id >= ids_from(p_request) AND e.id < ids_until(p_request)
    RETURNING e.*
  )
  SELECT array_agg(w.position ORDER BY w.position), array_agg(ROW(
    w.id, w.evaluator_id, w.profile_name, w.profile_revision, w.score, w.passed, 'evaluation', w.id, false, w.app,
    w.project_id, w.experiment_id, NULL, NULL, w.created_at, sample, batch,
    chance)::history_row) FILTER (WHERE w.in_history)
  INTO finished, entries FROM written w;
  IF entries IS NOT NULL THEN
    PERFORM insert_scores(p_account, entries);
  END IF;
  UPDATE evaluations_evaluationrequest q SET completed_at = clock_timestamp()
  WHERE q.account_id = p_account AND q.id = p_request AND q.completed_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM evaluations_evaluation e
    WHERE e.account_id = p_account AND e.request_id = p_request AND e.status || '' = 'pending'
      AND e.id >= ids_from(p_request) AND e.id < ids_until(p_request));
  IF mode <> 'all' THEN
    PERFORM blank_uncaptured(p_account, ARRAY[p_request], p_request, p_request);
  END IF;
  RETURN coalesce(finished, '{}');
END $$;
