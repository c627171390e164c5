-- The write paths of evaluations, each one round trip: set the account, read, write, answer.
-- SECURITY INVOKER: row-level security applies inside them as everywhere else.
-- Planned once in a session (force_generic_plan), and pruned to their partitions as they run: to plan for the values at
-- hand looks cheaper to PostgreSQL, as it prunes earlier, and takes longer than the statements themselves, each time.
-- Such a plan stays, though it was made when a table, or a month, had few rows: reading all of them looks cheap then. So
-- these functions go by indexes (no enable_seqscan); rows of known ids are not joined but asked for by `id = ANY`; and where an
-- index of all that is pending looks as good as the key, `status || ''` keeps it out.

-- What becomes a row of a history, in the order of its columns.
DO $$ BEGIN
  CREATE TYPE history_entry AS (
    id bigint, evaluator_id text, profile_name text, revision int, score double precision, passed boolean, source text,
    source_id bigint, trial boolean, app text, project_id uuid, experiment_id bigint, config_id bigint, output_id bigint,
    created_at timestamptz);
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;

-- The id of an evaluation's row in the history: its own, as both sort by time. What was scored elsewhere, and is kept
-- here later, has a number of the time that it is of: "newest first" is then true of it, however shuffled it comes in.
CREATE OR REPLACE FUNCTION history_id(p_made_elsewhere boolean, p_created_at timestamptz, p_id bigint)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN NOT p_made_elsewhere THEN p_id ELSE
    (least(floor(extract(epoch FROM p_created_at) * 1000)::bigint - 1767225600000, p_id >> 22) << 22) | (p_id & 4194303) END
$$;

-- Write scores to the history: the only way in. What a config answered is one row for each evaluator and profile,
-- however many metrics read it and whoever scores it again; whether it was promoted meanwhile changes nothing. Returns
-- how many are new.
CREATE OR REPLACE FUNCTION remember_scores(p_account bigint, p_scores history_entry[])
RETURNS int LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  n int;
BEGIN
  INSERT INTO evaluations_historyscore (
    account_id, id, evaluator_id, profile_name, revision, score, passed, source, source_id, trial, app, project_id,
    experiment_id, config_id, output_id, created_at)
  SELECT p_account, s.* FROM unnest(p_scores) s
  WHERE NOT s.trial OR NOT EXISTS (
    SELECT 1 FROM evaluations_historyscore h WHERE h.account_id = p_account AND h.evaluator_id = s.evaluator_id
      AND h.profile_name = s.profile_name AND NOT h.trial AND h.id = s.id)
  ON CONFLICT (account_id, evaluator_id, profile_name, trial, id) DO NOTHING;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

-- What an answer needs of a row beside its id and score, as one number: the revision, where the score comes from, and
-- the verdict.
CREATE OR REPLACE FUNCTION history_facts(p_revision int, p_source text, p_passed boolean)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_revision, 0) * 16 + CASE p_source WHEN 'evaluation' THEN 0 WHEN 'experiment' THEN 4 ELSE 8 END
  + CASE WHEN p_passed THEN 2 WHEN NOT p_passed THEN 1 ELSE 0 END;

-- The newest 1000 scores of each asked-for history, as PostgreSQL's binary arrays of ids, of scores and of facts; null
-- where none is wanted. Without trials. A caller that holds a history as of a snapshot gets only what that snapshot
-- could not see: rows are written by concurrent transactions and do not become visible in the order of their ids, but
-- a snapshot knows exactly which transactions it has seen, except for its own: a transaction that has written already hands no snapshot out, as
-- what it writes next would count as seen. `p_before` answers as of an earlier request instead: ids sort by time.
CREATE OR REPLACE FUNCTION latest_scores(
  p_account bigint, p_evaluators text[], p_profiles text[], p_snapshots text[], p_before bigint,
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT snapshots text[], OUT are_new boolean[]
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  some_ids bytea;
  some_scores bytea;
  some_facts bytea;
  seen pg_snapshot;
  taken text;
  n bigint;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  FOR i IN 1 .. coalesce(array_length(p_evaluators, 1), 0) LOOP
    some_ids := NULL; some_scores := NULL; some_facts := NULL; taken := NULL; seen := p_snapshots[i]::pg_snapshot; n := 0;
    IF seen IS NOT NULL THEN
      SELECT count(*), array_send(array_agg(unseen.id)), array_send(array_agg(unseen.score)),
        array_send(array_agg(unseen.facts)), pg_current_snapshot()::text
      INTO n, some_ids, some_scores, some_facts, taken FROM (
        SELECT h.id, h.score, history_facts(h.revision, h.source, h.passed) AS facts FROM evaluations_historyscore h
        WHERE h.account_id = p_account AND h.evaluator_id = p_evaluators[i] AND h.profile_name = p_profiles[i]
          AND NOT h.trial AND h.xact >= pg_snapshot_xmin(seen) AND NOT pg_visible_in_snapshot(h.xact, seen)
        LIMIT 1000
      ) unseen;
    END IF;
    -- So much is new, or nothing is known: read all of it.
    IF p_evaluators[i] IS NOT NULL AND (seen IS NULL OR n = 1000) THEN
      seen := NULL;
      SELECT array_send(array_agg(newest.id)), array_send(array_agg(newest.score)), array_send(array_agg(newest.facts)),
        pg_current_snapshot()::text
      INTO some_ids, some_scores, some_facts, taken FROM (
        SELECT h.id, h.score, history_facts(h.revision, h.source, h.passed) AS facts FROM evaluations_historyscore h
        WHERE h.account_id = p_account AND h.evaluator_id = p_evaluators[i] AND h.profile_name = p_profiles[i]
          AND NOT h.trial AND h.id < coalesce(p_before, 9223372036854775807)
        ORDER BY h.id DESC LIMIT 1000
      ) newest;
    END IF;
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
      taken := NULL;
    END IF;
    ids := ids || some_ids; scores := scores || some_scores; facts := facts || some_facts;
    snapshots := snapshots || taken;
    are_new := are_new || (seen IS NOT NULL);
  END LOOP;
END $$;

-- The newest scores of each asked-for history within a window: of an app, a project, an experiment or tags, from an id or
-- a revision on, with or without what experiments have tried. p_window: {include: none | promoted | all, most, app,
-- project, experiment, tags, from_id, revision, without: an experiment}. Planned for the values at hand, as what fits
-- one window walks a million rows for another.
CREATE OR REPLACE FUNCTION scoped_scores(
  p_account bigint, p_evaluators text[], p_profiles text[], p_window jsonb, p_before bigint,
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[]
) LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  some_ids bytea;
  some_scores bytea;
  some_facts bytea;
  digests bigint[];
  key text := 'h.id';
  source text := 'evaluations_historyscore h';
  conditions text := 'h.account_id = $1 AND h.evaluator_id = $2 AND h.profile_name = $3';
  rows text;
  newest text;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  IF p_window ? 'app' THEN
    conditions := conditions || format(' AND h.app = %L', p_window->>'app');
  END IF;
  IF p_window ? 'project' THEN
    conditions := conditions || format(' AND h.project_id = %L', p_window->>'project');
  END IF;
  IF p_window ? 'experiment' THEN
    conditions := conditions || format(' AND h.experiment_id = %s', (p_window->>'experiment')::bigint);
  END IF;
  IF p_window ? 'without' THEN
    conditions := conditions || format(' AND h.experiment_id IS DISTINCT FROM %s', (p_window->>'without')::bigint);
  END IF;
  IF p_window ? 'tags' THEN
    -- Begin with the tag that the fewest evaluations have, as far as that can be told in a moment.
    SELECT array_agg(d.digest ORDER BY d.n) INTO digests FROM (
      SELECT t.digest, (SELECT count(*) FROM (
        SELECT 1 FROM evaluations_evaluationtag e WHERE e.account_id = p_account AND e.digest = t.digest LIMIT 5000) met) AS n
      FROM (SELECT tag_digest(p_account, tag.key, tag.value) AS digest FROM jsonb_each_text(p_window->'tags') tag) t) d;
    source := format('evaluations_evaluationtag g JOIN evaluations_historyscore h'
      ' ON g.account_id = $1 AND g.history = history_tag(%L::bigint, $2, $3) AND h.id = g.score_id', digests[1]);
    SELECT conditions || ' AND h.source <> ''experiment''' || coalesce(string_agg(format(
      ' AND EXISTS (SELECT 1 FROM evaluations_evaluationtag o WHERE o.account_id = $1 AND o.evaluation_id = g.evaluation_id'
      ' AND o.digest = %L::bigint)', d.digest), ''), '') INTO conditions FROM unnest(digests[2:]) d(digest);
    key := 'g.score_id';
  END IF;
  IF p_window ? 'from_id' THEN
    conditions := conditions || format(' AND %s >= %s', key, (p_window->>'from_id')::bigint);
  END IF;
  IF p_window ? 'revision' THEN
    conditions := conditions || format(' AND h.revision >= %s', (p_window->>'revision')::int);
  END IF;
  IF p_before IS NOT NULL THEN
    conditions := conditions || format(' AND %s < %s', key, p_before);
  END IF;
  rows := 'SELECT ' || key || ' AS id, h.score, history_facts(h.revision, h.source, h.passed) AS facts FROM ' || source || ' WHERE '
    || conditions || ' AND ';
  newest := ' ORDER BY id DESC LIMIT ' || least(1000, coalesce((p_window->>'most')::int, 1000));
  newest := CASE p_window->>'include' WHEN 'none' THEN rows || 'NOT h.trial AND h.source <> ''experiment''' || newest
    WHEN 'promoted' THEN rows || 'NOT h.trial' || newest
    ELSE '(' || rows || 'NOT h.trial' || newest || ') UNION ALL (' || rows || 'h.trial' || newest || ')' || newest END;
  FOR i IN 1 .. coalesce(array_length(p_evaluators, 1), 0) LOOP
    some_ids := NULL; some_scores := NULL; some_facts := NULL;
    IF p_evaluators[i] IS NOT NULL THEN
      EXECUTE 'SELECT array_send(array_agg(n.id)), array_send(array_agg(n.score)), array_send(array_agg(n.facts)) FROM ('
        || newest || ') n' INTO some_ids, some_scores, some_facts USING p_account, p_evaluators[i], p_profiles[i];
    END IF;
    ids := ids || some_ids; scores := scores || some_scores; facts := facts || some_facts;
  END LOOP;
END $$;

-- What a config was worth belongs to production from now on: its trials, under these evaluators and profiles, become
-- rows of the histories. They carry this transaction, so that processes which remember a history see them as new.
CREATE OR REPLACE FUNCTION promote_scores(p_account bigint, p_evaluators text[], p_profiles text[], p_experiment bigint, p_config bigint)
RETURNS int LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  n int;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  UPDATE evaluations_historyscore h SET trial = false, xact = pg_current_xact_id()
  FROM unnest(p_evaluators, p_profiles) AS asked(evaluator_id, profile_name)
  WHERE h.account_id = p_account AND h.evaluator_id = asked.evaluator_id AND h.profile_name = asked.profile_name
    AND h.experiment_id = p_experiment AND h.trial AND h.config_id = p_config;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

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
    RETURNING q.id, q.created_at, q.project_id, q.app, q.experiment_id, q.dataset_id
  ), added AS (
    INSERT INTO evaluations_evaluation AS e (
      id, account_id, request_id, position, evaluator_id, runs, family, profile_id, profile_name, profile_revision,
      explain_strategy, lane, status, error_code, error_message, score, passed, text_output, explanation, spans, extra,
      duration_us, captured, in_history, n_attempts, n_sweeps, lease_expires_at, created_at, completed_at,
      project_id, app, experiment_id, dataset_id, log_id, trace_id)
    SELECT p_ids[p_offsets[s.n] + r.ordinality], p_account, q.id, r.position, r.evaluator_id, r.runs, r.family,
      r.profile_id, r.profile_name, r.profile_revision, r.explain_strategy, r.lane, r.status, r.error_code,
      r.error_message, r.score, r.passed, r.text_output, r.explanation, r.spans, r.extra, r.duration_us, r.captured,
      r.in_history, 0, 0,
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
    -- Not through `remember_scores`: what was numbered a moment ago is new, and to look whether it is costs a fifth of the call.
    INSERT INTO evaluations_historyscore (
      account_id, id, evaluator_id, profile_name, revision, score, passed, source, source_id, app, project_id,
      experiment_id, created_at)
    SELECT p_account, a.id, a.evaluator_id, a.profile_name, a.profile_revision, a.score, a.passed, 'evaluation', a.id,
      a.app, a.project_id, a.experiment_id, a.created_at
    FROM added a WHERE a.in_history
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

-- Keep a request with its evaluations, and answer with the histories as they were before it. Once it had a parameter
-- less: processes from then get the default, which two functions of the name would leave open.
DROP FUNCTION IF EXISTS capture_evaluations(bigint, jsonb, jsonb, double precision, text[], text[], text[]);
CREATE OR REPLACE FUNCTION capture_evaluations(
  p_account bigint, p_request jsonb, p_evaluations jsonb, p_lease_seconds double precision,
  p_evaluators text[], p_profiles text[], p_snapshots text[], p_waits boolean DEFAULT true,
  OUT request_id bigint, OUT created_at timestamptz, OUT evaluation_ids bigint[],
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT snapshots text[], OUT are_new boolean[]
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  drawn bigint[];
BEGIN
  SELECT h.* INTO ids, scores, facts, snapshots, are_new
  FROM latest_scores(p_account, p_evaluators, p_profiles, p_snapshots, NULL) h;
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
CREATE OR REPLACE FUNCTION capture_batch(
  p_captures jsonb, p_accounts bigint[], p_evaluators text[], p_profiles text[], p_snapshots text[],
  OUT request_ids bigint[], OUT created_at timestamptz[], OUT evaluation_ids bigint[],
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT snapshots text[], OUT are_new boolean[]
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
    SELECT h.* INTO part FROM latest_scores(
      p_accounts[first], p_evaluators[first:final], p_profiles[first:final], p_snapshots[first:final], NULL) h;
    ids := ids || part.ids; scores := scores || part.scores; facts := facts || part.facts;
    snapshots := snapshots || part.snapshots;
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
    RETURNING e.*;
END $$;

-- Write verdicts of pending evaluations, their history scores, and, after the last one, the request's completion.
-- What has an answer keeps it: the second of two workers changes nothing. Returns the positions that were written.
CREATE OR REPLACE FUNCTION finish_evaluations(p_account bigint, p_request bigint, p_verdicts jsonb)
RETURNS smallint[] LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  mode text;
  finished smallint[];
  entries history_entry[];
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  -- Two lanes that end at once must agree on who was last.
  SELECT q.capture INTO mode FROM evaluations_evaluationrequest q
  WHERE q.account_id = p_account AND q.id = p_request FOR UPDATE;
  WITH verdicts AS (
    SELECT v.*, coalesce(mode = 'all' OR (mode = 'fails-only' AND v.passed = false), false) AS keep,
           (mode = 'all' AND v.status = 'success') AS remember
    FROM jsonb_populate_recordset(NULL::evaluations_evaluation, p_verdicts) v
  ), written AS (
    UPDATE evaluations_evaluation e
    SET status = v.status, error_code = v.error_code, error_message = v.error_message, score = v.score,
        passed = v.passed, text_output = v.text_output, explanation = v.explanation, spans = v.spans, extra = v.extra,
        duration_us = v.duration_us, captured = v.keep, lease_expires_at = NULL,
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
    w.project_id, w.experiment_id, NULL, NULL, w.created_at)::history_entry) FILTER (WHERE w.in_history)
  INTO finished, entries FROM written w;
  IF entries IS NOT NULL THEN
    PERFORM remember_scores(p_account, entries);
  END IF;
  UPDATE evaluations_evaluationrequest q SET completed_at = clock_timestamp()
  WHERE q.account_id = p_account AND q.id = p_request AND q.completed_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM evaluations_evaluation e
    WHERE e.account_id = p_account AND e.request_id = p_request AND e.status || '' = 'pending'
      AND e.id >= ids_from(p_request) AND e.id < ids_until(p_request));
  RETURN coalesce(finished, '{}');
END $$;
