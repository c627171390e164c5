-- The write paths of experiments, each one round trip. SECURITY INVOKER: row-level security applies inside them.
-- Locks are taken in one order everywhere: the plan, the config, then its units. NO KEY: the planner's new rows refer to
-- configs all the time, and neither waits for the other.

-- Lease a unit of a config whose row the caller has locked: one that was given back or whose worker is gone, else the
-- next positions. Null when everything has been given out. Database time: workers' clocks may differ by minutes.
CREATE OR REPLACE FUNCTION take_unit(p_config experiments_config, p_size int, p_n_examples int, p_lease_seconds double precision)
RETURNS experiments_workunit LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  unit experiments_workunit;
  until timestamptz := clock_timestamp() + p_lease_seconds * interval '1 second';
  -- Where a config waits at the end of a shard, nothing beyond is given out; without such an end that is null.
  n_open int := least(p_n_examples, p_config.pause_at);
BEGIN
  UPDATE experiments_workunit u
  SET state = 'leased', token = gen_random_uuid(), attempt = least(u.attempt + 1, 32767), epoch = p_config.epoch, lease_expires_at = until
  WHERE u.id = (
    SELECT w.id FROM experiments_workunit w
    WHERE w.config_id = p_config.id AND w.addition = 0 AND w.state <> 'done' AND w.state <> 'scoring'
      AND coalesce(w.lease_expires_at < clock_timestamp(), w.state = 'open')
    ORDER BY w.from_pos LIMIT 1)
  RETURNING u.* INTO unit;
  IF FOUND THEN
    RETURN unit;
  END IF;
  IF p_config.claim_pos >= n_open OR p_size < 1 THEN
    RETURN NULL;
  END IF;
  INSERT INTO experiments_workunit AS u (
    account_id, experiment_id, config_id, from_pos, to_pos, state, attempt, token, epoch, lease_expires_at)
  VALUES (p_config.account_id, p_config.experiment_id, p_config.id, p_config.claim_pos,
          least(p_config.claim_pos + p_size, n_open), 'leased', 1, gen_random_uuid(), p_config.epoch, until)
  RETURNING u.* INTO unit;
  UPDATE experiments_config c SET claim_pos = unit.to_pos WHERE c.id = p_config.id;
  RETURN unit;
END $$;

DROP FUNCTION IF EXISTS within_budget(bigint, bigint, int);
-- How many positions of a config may be given out now, of p_size wanted: an output that is sampled takes several
-- queries, and so does one of a pipeline and a conversation, of which those that nobody had to ask are given back when
-- it is recorded. Whoever asks within a budget has the
-- experiment's lock until its transaction ends: what two give out at the same time would each fit, and together not.
CREATE OR REPLACE FUNCTION within_budget(p_config experiments_config, p_budget bigint, p_size int) RETURNS int
LANGUAGE sql VOLATILE SECURITY INVOKER AS $$
  SELECT greatest(0, least(p_size, floor((p_budget - coalesce(sum(CASE WHEN c.kind = 'pipeline' OR c.n_asked > 0
    THEN c.n_asked + greatest(0, c.claim_pos - c.n_ok - c.n_error) * c.n_calls
    ELSE (c.claim_pos - c.n_reused) * c.n_calls END), 0)) / p_config.n_calls)))::int
  FROM experiments_config c WHERE c.experiment_id = p_config.experiment_id;
$$;

-- Dropped first: a replacement cannot rename a parameter.
DROP FUNCTION IF EXISTS claim_units(int, int, double precision, bigint[], bigint[]);
-- Claim up to p_limit units over all accounts, as the system role. The account with least in flight comes first, then
-- its experiment, then a config without work in flight, then the one furthest behind, so that clones catch up. In a race
-- only the leader runs ahead of the slowest by more than two units: it is the one that would have to run anyway. Not by
-- more than a quarter of the set, though, or half of it rather than leave a worker idle: what it reveals is no evidence
-- for a clone that is made afterwards. Without a race the window grows with the workers. Outputs that wait for their
-- scores come last, and of these last those that wait for metrics which were added later.
CREATE OR REPLACE FUNCTION claim_units(
  p_limit int, p_runners int, p_lease_seconds double precision, p_excluded_accounts bigint[], p_blocked_configs bigint[])
RETURNS SETOF experiments_workunit LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  candidate record;
  config experiments_config;
  unit experiments_workunit;
  n_claimed int := 0;
  progress boolean := true;
  -- Accounts that are off, or going.
  resting bigint[] := ARRAY(SELECT a.id FROM accounts_account a WHERE a.off_at IS NOT NULL OR a.deleted_at IS NOT NULL);
BEGIN
  WHILE n_claimed < p_limit AND progress LOOP
    progress := false;
    FOR candidate IN
      WITH busy AS (
        SELECT u.account_id, u.experiment_id, count(*) AS n FROM experiments_workunit u
        JOIN experiments_config c ON c.id = u.config_id
        WHERE u.state = 'leased' AND u.lease_expires_at > clock_timestamp() AND c.kind <> 'push'
        GROUP BY 1, 2
      ), racing AS (
        SELECT c.id, c.account_id, c.experiment_id, c.claim_pos, c.watermark, c.pause_at, p.micro_batch,
          coalesce(p."limit", p.n_examples) AS n_examples, coalesce(p.confirm, 0) AS n_confirmed,
          p.budget_queries, p.policy, count(*) OVER w AS n_active, min(c.watermark) OVER w AS slowest,
          coalesce(a.total / nullif(a.n, 0) * CASE WHEN p.higher_is_better THEN 1 ELSE -1 END, '-Infinity') AS standing
        FROM experiments_config c JOIN experiments_experimentplan p ON p.experiment_id = c.experiment_id
        LEFT JOIN experiments_aggregate a ON a.config_id = c.id AND a.metric = p.primary_metric AND a.scope = 'prefix'
        WHERE c.state = 'running' AND p.state = 'running' AND c.kind <> 'push'
          AND NOT c.account_id = ANY (p_excluded_accounts) AND NOT c.account_id = ANY (resting)
        WINDOW w AS (PARTITION BY c.experiment_id)
      ), ranked AS (
        SELECT r.*, r.policy <> 'manual'
          AND row_number() OVER (PARTITION BY r.experiment_id ORDER BY r.standing DESC, r.id) = 1 AS leads
        FROM racing r
      ), claimable AS (
        SELECT r.*, EXISTS (
          SELECT 1 FROM experiments_workunit u
          WHERE u.config_id = r.id AND u.addition = 0 AND u.state <> 'done' AND u.state <> 'scoring'
            AND coalesce(u.lease_expires_at < clock_timestamp(), u.state = 'open')) AS has_open, (
          SELECT count(*) FROM experiments_workunit u
          WHERE u.config_id = r.id AND u.addition = 0 AND u.state = 'open' AND u.lease_expires_at >= clock_timestamp()
        ) AS n_resting
        FROM ranked r WHERE NOT r.id = ANY (p_blocked_configs)
      )
      SELECT q.id, q.experiment_id, q.micro_batch AS size, q.n_examples, q.budget_queries
      FROM claimable q
      LEFT JOIN (SELECT account_id, sum(n) AS n FROM busy GROUP BY 1) a ON a.account_id = q.account_id
      LEFT JOIN busy e ON e.experiment_id = q.experiment_id
      CROSS JOIN LATERAL (
        SELECT (p_runners + q.n_active - 1) / q.n_active AS share) s
      CROSS JOIN LATERAL (
        SELECT q.slowest + CASE WHEN q.n_active = 1 THEN q.n_examples
          WHEN q.policy = 'manual' THEN 2 * s.share * q.micro_batch
          WHEN q.leads THEN greatest(2 * s.share * q.micro_batch, q.n_examples / 4) ELSE 2 * q.micro_batch END AS narrow,
          CASE WHEN q.leads THEN q.slowest + q.n_examples / 2 ELSE 0 END AS wide) v
      -- While an endpoint is away, so many units find out whether it is back; the others would wait beside them.
      WHERE q.has_open OR (q.n_resting < 8 AND q.claim_pos < least(q.n_examples, q.pause_at) AND (
        -- What is confirmed races with nothing.
        (q.n_confirmed > 0 AND q.claim_pos >= q.n_examples - q.n_confirmed) OR q.claim_pos < v.narrow OR (q.claim_pos < v.wide AND coalesce(e.n, 0) < p_runners)))
      ORDER BY coalesce(a.n, 0), coalesce(e.n, 0), NOT q.has_open AND q.claim_pos >= v.narrow,
        NOT q.leads AND q.claim_pos - q.watermark >= q.micro_batch, q.claim_pos, q.standing DESC, q.id
    LOOP
      SELECT c.* INTO config FROM experiments_config c
      WHERE c.id = candidate.id AND c.state = 'running' FOR NO KEY UPDATE SKIP LOCKED;
      CONTINUE WHEN NOT FOUND;
      IF candidate.budget_queries IS NOT NULL THEN
        CONTINUE WHEN NOT pg_try_advisory_xact_lock(1, hashint8(candidate.experiment_id));
        candidate.size := within_budget(config, candidate.budget_queries, candidate.size);
      END IF;
      unit := take_unit(config, candidate.size, candidate.n_examples, p_lease_seconds);
      CONTINUE WHEN unit.id IS NULL;
      RETURN NEXT unit;
      n_claimed := n_claimed + 1;
      progress := true;
      EXIT;
    END LOOP;
  END LOOP;
  IF n_claimed < p_limit THEN
    RETURN QUERY
      UPDATE experiments_workunit u
      SET token = gen_random_uuid(), lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second',
          attempt = least(u.attempt + 1, 32767),
          -- A retry asks whatever has become of its config meanwhile, and is to hear of what comes.
          epoch = (SELECT c.epoch FROM experiments_config c WHERE c.id = u.config_id)
      WHERE u.id IN (
        SELECT w.id FROM experiments_workunit w
        WHERE w.state = 'scoring' AND coalesce(w.lease_expires_at < clock_timestamp(), true)
          AND NOT w.account_id = ANY (p_excluded_accounts) AND NOT w.account_id = ANY (resting)
          AND NOT (w.addition >= 1000 AND w.config_id = ANY (p_blocked_configs))
        ORDER BY w.addition, w.id LIMIT p_limit - n_claimed FOR UPDATE SKIP LOCKED)
      RETURNING u.*;
  END IF;
END $$;

-- Lease a unit of one push config for the caller's own code: of a retry, whatever the state of the config, else nothing
-- while the experiment or the config does not run.
CREATE OR REPLACE FUNCTION lease_unit(p_account bigint, p_config bigint, p_size int, p_lease_seconds double precision)
RETURNS SETOF experiments_workunit LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  config experiments_config;
  plan experiments_experimentplan;
  unit experiments_workunit;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  unit := take_retry(p_account, p_config, p_lease_seconds);
  IF unit.id IS NOT NULL THEN
    RETURN NEXT unit;
    RETURN;
  END IF;
  SELECT c.* INTO config FROM experiments_config c
  WHERE c.account_id = p_account AND c.id = p_config AND c.kind = 'push' AND c.state = 'running' FOR NO KEY UPDATE;
  SELECT p.* INTO plan FROM experiments_experimentplan p WHERE p.experiment_id = config.experiment_id AND p.state = 'running';
  IF NOT FOUND THEN
    RETURN;
  END IF;
  IF plan.budget_queries IS NOT NULL THEN
    PERFORM pg_advisory_xact_lock(1, hashint8(config.experiment_id));
    p_size := within_budget(config, plan.budget_queries, p_size);
  END IF;
  unit := take_unit(config, p_size, coalesce(plan."limit", plan.n_examples), p_lease_seconds);
  IF unit.id IS NOT NULL THEN
    RETURN NEXT unit;
  END IF;
END $$;

-- What is kept of scores, by metric. It takes them as columns, each an array, and is the only place that says what the sums
-- are; its twin is `sums_of` in evalsvc/stats/basics/sums.py. What a metric does not apply to (the dataset lacks what it
-- needs) is counted apart from what failed.
CREATE OR REPLACE FUNCTION sums_of_scores(
  p_metrics text[], p_values double precision[], p_denominators double precision[], p_errors text[])
RETURNS TABLE (
  metric text, n bigint, n_error bigint, n_na bigint, total double precision, squares double precision,
  lowest double precision, highest double precision, den_total double precision, den_squares double precision,
  "cross" double precision
) LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT s.metric, count(s.value), count(*) FILTER (WHERE s.error_code <> 'not_applicable'),
    count(*) FILTER (WHERE s.error_code = 'not_applicable'), coalesce(sum(s.value), 0),
    coalesce(sum(s.value * s.value), 0), min(s.value), max(s.value), coalesce(sum(s.denominator), 0),
    coalesce(sum(s.denominator * s.denominator), 0), coalesce(sum(s.value * s.denominator), 0)
  FROM unnest(p_metrics, p_values, p_denominators, p_errors) AS s(metric, value, denominator, error_code)
  GROUP BY s.metric;
$$;

-- How many of the errors are outputs that failed by the fault of the system under test.
CREATE OR REPLACE FUNCTION count_failures(p_metrics text[], p_errors text[])
RETURNS TABLE (metric text, n_failed bigint) LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT s.metric, count(*) FILTER (WHERE s.error_code = 'failed_output')
  FROM unnest(p_metrics, p_errors) AS s(metric, error_code) GROUP BY s.metric;
$$;

-- How many of the errors are outputs that the evaluator has not decided.
CREATE OR REPLACE FUNCTION count_undecided(p_metrics text[], p_errors text[])
RETURNS TABLE (metric text, n_undecided bigint) LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT s.metric, count(*) FILTER (WHERE s.error_code = 'undecided')
  FROM unnest(p_metrics, p_errors) AS s(metric, error_code) GROUP BY s.metric;
$$;

-- Add the sums of scores to one scope of a config's aggregates.
CREATE OR REPLACE FUNCTION add_sums(
  p_account bigint, p_config bigint, p_scope text, p_metrics text[], p_values double precision[],
  p_denominators double precision[], p_errors text[])
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  INSERT INTO experiments_aggregate AS a (
    account_id, config_id, metric, scope, n, n_error, n_failed, n_undecided, n_na, total, squares, lowest, highest,
    den_total, den_squares, "cross")
  SELECT p_account, p_config, s.metric, p_scope, s.n, s.n_error, f.n_failed, u.n_undecided, s.n_na, s.total, s.squares,
    s.lowest, s.highest, s.den_total, s.den_squares, s."cross"
  FROM sums_of_scores(p_metrics, p_values, p_denominators, p_errors) s
  JOIN count_failures(p_metrics, p_errors) f ON f.metric = s.metric
  JOIN count_undecided(p_metrics, p_errors) u ON u.metric = s.metric
  ON CONFLICT (config_id, metric, scope) DO UPDATE SET
    n = a.n + excluded.n, n_error = a.n_error + excluded.n_error, n_failed = a.n_failed + excluded.n_failed,
    n_undecided = a.n_undecided + excluded.n_undecided, n_na = a.n_na + excluded.n_na,
    total = a.total + excluded.total, squares = a.squares + excluded.squares,
    lowest = least(a.lowest, excluded.lowest), highest = greatest(a.highest, excluded.highest),
    den_total = a.den_total + excluded.den_total, den_squares = a.den_squares + excluded.den_squares,
    "cross" = a."cross" + excluded."cross";
$$;

-- The same of the scores of a config in [p_from, p_to). Null means of all metrics.
CREATE OR REPLACE FUNCTION add_scores(
  p_account bigint, p_config bigint, p_scope text, p_from int, p_to int, p_metrics text[])
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  SELECT add_sums(p_account, p_config, p_scope, array_agg(s.metric), array_agg(s.value), array_agg(s.denominator),
    array_agg(s.error_code))
  FROM experiments_score s WHERE s.config_id = p_config AND s.pos >= p_from AND s.pos < p_to
    AND (p_metrics IS NULL OR s.metric = ANY (p_metrics));
$$;

-- The same for each scope that [p_from, p_to) belongs to: the designer of a clone may have seen the first of it.
CREATE OR REPLACE FUNCTION add_between(p_config experiments_config, p_from int, p_to int, p_metrics text[])
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  IF p_from < p_config.fresh_from THEN
    PERFORM add_scores(
      p_config.account_id, p_config.id, 'seen', p_from, least(p_to, p_config.fresh_from), p_metrics);
  END IF;
  IF p_to > p_config.fresh_from THEN
    PERFORM add_scores(
      p_config.account_id, p_config.id, 'prefix', greatest(p_from, p_config.fresh_from), p_to, p_metrics);
  END IF;
END $$;

-- The hash of an example in a history: equal contents have equal hashes, whatever dataset or version they are in.
CREATE OR REPLACE FUNCTION example_hash(p_example datasets_example) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN ('x' || left(md5(
  (p_example.input)::text || chr(31) || coalesce((p_example.expected)::text, '') || chr(31)
  || coalesce((p_example.contexts)::text, '')), 16))::bit(64)::bigint;

-- Which of these scores wait for their judge's endpoint: their positions, and the longest of the seconds with what the
-- endpoint has answered. They are marked by `waits`, the seconds.
CREATE OR REPLACE FUNCTION waiting_scores(
  p_scores jsonb, OUT positions int[], OUT seconds double precision, OUT message text
) LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT coalesce(array_agg(DISTINCT r.pos), '{}'), max(r.waits), (array_agg(r.error_message ORDER BY r.waits DESC))[1]
  FROM jsonb_to_recordset(p_scores) AS r(pos int, metric text, waits double precision, error_message text)
  WHERE r.waits IS NOT NULL AND r.metric IS NOT NULL;
$$;

-- The same of an output that its config's endpoint cannot give yet. It is marked among the scores, without a metric.
CREATE OR REPLACE FUNCTION waiting_output(p_scores jsonb, OUT seconds double precision, OUT message text)
LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT max(r.waits), (array_agg(r.error_message ORDER BY r.waits DESC))[1]
  FROM jsonb_to_recordset(p_scores) AS r(metric text, waits double precision, error_message text)
  WHERE r.waits IS NOT NULL AND r.metric IS NULL;
$$;

DROP FUNCTION IF EXISTS rest_unit(bigint, double precision, text);
-- Let a unit wait without a worker, for its scores or for outputs; the attempt does not count.
CREATE OR REPLACE FUNCTION rest_unit(
  p_unit bigint, p_seconds double precision, p_message text, p_for_outputs boolean DEFAULT false)
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  UPDATE experiments_workunit u SET state = CASE WHEN p_for_outputs THEN u.state ELSE 'scoring' END, token = NULL,
    -- What is missing of an open unit is asked: whoever takes it must look what is recorded of it.
    attempt = CASE WHEN p_for_outputs THEN u.attempt ELSE 0 END, lease_expires_at = w.until,
    waiting_since = coalesce(u.waiting_since, clock_timestamp()),
    waiting_message = CASE WHEN p_for_outputs
      THEN regexp_replace(waiting_message(w.until, p_message), '^Waiting for the judge endpoint', 'Waiting for the endpoint')
      ELSE waiting_message(w.until, p_message) END
  FROM (SELECT clock_timestamp() + p_seconds * interval '1 second' AS until) w WHERE u.id = p_unit;
$$;

-- Make a unit of its own of the first p_n positions of an open one, which are recorded and wait for scores: they come
-- whatever becomes of the others. The others keep the unit, with what its worker has stored for them.
CREATE OR REPLACE FUNCTION split_unit(p_unit experiments_workunit, p_n int, p_seconds double precision, p_message text)
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  first_id bigint;
BEGIN
  UPDATE experiments_workunit u SET from_pos = u.from_pos + p_n, state = 'open', token = NULL, lease_expires_at = NULL,
    attempt = greatest(u.attempt - 1, 0)
  WHERE u.id = p_unit.id;
  INSERT INTO experiments_workunit AS u (
    account_id, experiment_id, config_id, from_pos, to_pos, state, attempt, epoch, created_at)
  VALUES (p_unit.account_id, p_unit.experiment_id, p_unit.config_id, p_unit.from_pos, p_unit.from_pos + p_n, 'scoring',
    0, p_unit.epoch, clock_timestamp())
  RETURNING u.id INTO first_id;
  IF p_seconds IS NOT NULL THEN
    PERFORM rest_unit(first_id, p_seconds, p_message);
  END IF;
END $$;

-- Record what a worker has of its unit, in one transaction: outputs once per position, the scores of those positions
-- once, the sums and the history from those scores only, then the unit's state and the watermark. A worker whose lease
-- has passed to another changes nothing. p_close: 'keep' the lease, or 'release' it: what is missing is given back, and
-- the attempt does not count. An output that is sent as not scored holds the
-- watermark back, and its unit waits, complete, until a worker brings the scores. So does one with scores that wait for
-- their judge's endpoint; what an output has of other scores is recorded before. What its config's endpoint cannot answer
-- yet is given back, and not claimed before a pause is over.
CREATE OR REPLACE FUNCTION record_unit(
  p_account bigint, p_unit bigint, p_token uuid, p_outputs jsonb, p_scores jsonb, p_close text,
  p_lease_seconds double precision,
  OUT accepted int[], OUT config_epoch int, OUT config_state text, OUT config_watermark int, OUT is_held boolean
) LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  unit experiments_workunit;
  config experiments_config;
  n_all int;
  n_unscored int;
  recorded_end int;
  waits record;
  away record;
  reached int;
  order_end int;
  select_end int;
  is_scoring boolean;
  entries history_row[];
  has_additions boolean;
  scored_metrics text[];
  scored_values double precision[];
  scored_denominators double precision[];
  scored_errors text[];
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  SELECT c.* INTO config FROM experiments_config c
  WHERE c.id = (SELECT u.config_id FROM experiments_workunit u WHERE u.account_id = p_account AND u.id = p_unit)
  FOR NO KEY UPDATE;
  config_epoch := config.epoch; config_state := config.state; config_watermark := config.watermark;
  accepted := '{}';
  SELECT u.* INTO unit FROM experiments_workunit u
  WHERE u.account_id = p_account AND u.id = p_unit AND u.token = p_token AND u.state IN ('leased', 'scoring') FOR UPDATE;
  is_held := FOUND;
  IF NOT is_held THEN
    RETURN;
  END IF;
  IF unit.addition >= 1000 THEN
    SELECT r.accepted, r.config_epoch, r.config_state INTO accepted, config_epoch, config_state
    FROM record_retry(unit, config, p_outputs, p_scores, p_close, p_lease_seconds) r;
    RETURN;
  END IF;
  is_scoring := unit.state = 'scoring';
  waits := waiting_scores(p_scores);
  away := waiting_output(p_scores);
  has_additions := EXISTS (SELECT 1 FROM experiments_addition d WHERE d.experiment_id = unit.experiment_id);

  WITH added AS (
    INSERT INTO experiments_output AS o (
      account_id, experiment_id, config_id, pos, example_id, status, output, isolated, stages, samples, error_type, error_message,
      ending, latency_ms, input_tokens, output_tokens, cost, attempt, reused_from, scored, client_scores, trace_id, span_id,
      created_at)
    SELECT p_account, unit.experiment_id, unit.config_id, r.pos, i.example_id, r.status, r.output, r.isolated, r.stages,
      r.samples, r.error_type,
      r.error_message, r.ending, r.latency_ms, r.input_tokens, r.output_tokens, r.cost, coalesce(r.attempt, 1), r.reused_from,
      coalesce(r.scored, true), r.client_scores, r.trace_id, r.span_id, clock_timestamp()
    FROM jsonb_populate_recordset(NULL::experiments_output, p_outputs) r
    JOIN experiments_experimentitem i ON i.experiment_id = unit.experiment_id AND i.pos = r.pos
    WHERE r.pos >= unit.from_pos AND r.pos < unit.to_pos
    ON CONFLICT (config_id, pos) DO NOTHING
    RETURNING o.*
  ), counted AS (
    UPDATE experiments_config c SET
      n_ok = c.n_ok + t.n_ok, n_error = c.n_error + t.n_error, n_reused = c.n_reused + t.n_reused,
      n_asked = c.n_asked + t.n_asked, n_saved = c.n_saved + t.n_saved,
      n_input_tokens = c.n_input_tokens + t.tokens_in, n_output_tokens = c.n_output_tokens + t.tokens_out,
      cost = c.cost + t.cost
    FROM (SELECT count(*) FILTER (WHERE a.status = 'ok') AS n_ok, count(*) FILTER (WHERE a.status <> 'ok') AS n_error,
            count(a.reused_from) AS n_reused, coalesce(sum(p.n_asked), 0) AS n_asked, coalesce(sum(p.n_saved), 0) AS n_saved,
            coalesce(sum(p.input_tokens) FILTER (WHERE a.reused_from IS NULL), 0) AS tokens_in,
            coalesce(sum(p.output_tokens) FILTER (WHERE a.reused_from IS NULL), 0) AS tokens_out,
            coalesce(sum(p.cost) FILTER (WHERE a.reused_from IS NULL), 0) AS cost
          -- An output tells what it takes to make one; what this one has paid for, of a pipeline its stages tell.
          FROM added a CROSS JOIN LATERAL jsonb_to_record(coalesce(a.stages -> 'paid', jsonb_build_object(
            'input_tokens', a.input_tokens, 'output_tokens', a.output_tokens, 'cost', a.cost))) AS p(
            n_asked bigint, n_saved bigint, input_tokens bigint, output_tokens bigint, cost double precision)) t
    WHERE c.id = unit.config_id
  )
  SELECT coalesce(array_agg(a.pos ORDER BY a.pos), '{}') INTO accepted FROM added a;

  -- Scores of positions that were written now; for a unit that waited for its scores, of its positions.
  WITH sent AS (
    SELECT r.* FROM jsonb_to_recordset(p_scores) AS r(
      pos int, metric text, value double precision, denominator double precision, passed boolean, error_code text,
      error_message text, explanation text, spans jsonb, extra jsonb, judge_cost double precision, evaluator_id text,
      profile_name text, profile_revision int, ranking double precision, samples jsonb, n_scored smallint,
      within double precision, waits double precision)
    WHERE (r.pos = ANY (accepted) OR (is_scoring AND r.pos >= unit.from_pos AND r.pos < unit.to_pos))
      -- What was added together is written together.
      AND r.waits IS NULL AND NOT (unit.addition > 0 AND r.pos = ANY (waits.positions))
  ), added AS (
    INSERT INTO experiments_score AS s (
      account_id, experiment_id, config_id, pos, metric, value, denominator, passed, error_code, error_message,
      explanation, spans, extra, judge_cost, samples, n_scored, within, created_at)
    SELECT p_account, unit.experiment_id, unit.config_id, r.pos, r.metric, r.value, r.denominator, r.passed,
      r.error_code, r.error_message, r.explanation, r.spans, r.extra, r.judge_cost, r.samples, r.n_scored, r.within,
      clock_timestamp()
    FROM sent r ORDER BY r.pos
    ON CONFLICT (config_id, metric, pos) DO NOTHING
    RETURNING s.*
  )
  -- One row for each evaluator and profile, however many metrics read them: what it said, not what a metric made of it.
  SELECT array_agg(ROW(o.id, r.evaluator_id, r.profile_name, r.profile_revision, coalesce(r.ranking, a.value), a.passed,
    'experiment', o.id, true, NULL, (SELECT e.project_id FROM projects_experiment e WHERE e.id = unit.experiment_id),
    unit.experiment_id, unit.config_id, o.id, o.created_at,
    (SELECT example_hash(x) FROM datasets_example x WHERE x.id = o.example_id), NULL, NULL)::history_row),
    (SELECT array_agg(a.metric) FROM added a), (SELECT array_agg(a.value) FROM added a),
    (SELECT array_agg(a.denominator) FROM added a), (SELECT array_agg(a.error_code) FROM added a)
  INTO entries, scored_metrics, scored_values, scored_denominators, scored_errors
  FROM added a JOIN sent r ON r.pos = a.pos AND r.metric = a.metric
  JOIN experiments_output o ON o.config_id = unit.config_id AND o.pos = a.pos
  -- What is undecided has the evaluator's score, and no pass.
  WHERE (a.value IS NOT NULL OR a.error_code = 'undecided') AND r.evaluator_id IS NOT NULL;
  PERFORM add_sums(
    p_account, unit.config_id, 'all', scored_metrics, scored_values, scored_denominators, scored_errors);
  IF entries IS NOT NULL THEN
    PERFORM insert_scores(p_account, entries);
  END IF;

  IF unit.addition > 0 THEN
    PERFORM close_added_unit(unit, config);
    IF waits.seconds IS NOT NULL THEN
      PERFORM rest_unit(unit.id, waits.seconds, waits.message);
    END IF;
    RETURN;
  ELSIF has_additions AND cardinality(accepted) > 0 THEN
    PERFORM open_added_units(config, accepted, NULL);
  END IF;

  IF is_scoring THEN
    UPDATE experiments_output o SET scored = true, client_scores = NULL
    WHERE o.config_id = unit.config_id AND o.pos >= unit.from_pos AND o.pos < unit.to_pos AND NOT o.scored
      AND NOT o.pos = ANY (waits.positions);
  END IF;
  -- An answer ends an outage: what waits later has all its time.
  IF unit.waiting_since IS NOT NULL AND NOT is_scoring AND EXISTS (
    SELECT 1 FROM experiments_output o WHERE o.config_id = unit.config_id AND o.pos = ANY (accepted) AND o.status = 'ok')
  THEN
    UPDATE experiments_workunit u SET waiting_since = NULL, waiting_message = NULL WHERE u.id = unit.id;
  END IF;
  SELECT count(*), count(*) FILTER (WHERE NOT o.scored), max(o.pos) + 1 INTO n_all, n_unscored, recorded_end
  FROM experiments_output o WHERE o.config_id = unit.config_id AND o.pos >= unit.from_pos AND o.pos < unit.to_pos;
  IF n_all = unit.to_pos - unit.from_pos THEN
    UPDATE experiments_workunit u
    SET state = CASE WHEN n_unscored > 0 THEN 'scoring' ELSE 'done' END, token = NULL, lease_expires_at = NULL,
        attempt = CASE WHEN n_unscored > 0 THEN 0 ELSE u.attempt END,
        waiting_since = CASE WHEN n_unscored > 0 THEN u.waiting_since END, waiting_message = NULL
    WHERE u.id = unit.id;
    IF n_unscored > 0 AND waits.seconds IS NOT NULL THEN
      PERFORM rest_unit(unit.id, waits.seconds, waits.message);
    END IF;
  ELSIF p_close = 'keep' THEN
    UPDATE experiments_workunit u SET lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
    WHERE u.id = unit.id;
  ELSIF n_unscored > 0 AND config.kind <> 'push' AND recorded_end = unit.from_pos + n_all THEN
    PERFORM split_unit(unit, n_all, waits.seconds, waits.message);
  ELSE
    UPDATE experiments_workunit u SET state = 'open', token = NULL, lease_expires_at = NULL,
      -- Never as if it were new when a part of it is recorded: whoever takes it next must look what that is.
      attempt = CASE WHEN p_close = 'release' THEN greatest(u.attempt - 1, least(n_all, 1)) ELSE u.attempt END
    WHERE u.id = unit.id;
  END IF;
  IF away.seconds IS NOT NULL AND p_close = 'release' AND n_all < unit.to_pos - unit.from_pos THEN
    PERFORM rest_unit(unit.id, away.seconds, away.message, true);
  END IF;

  SELECT coalesce(max(t.pos) + 1, config.watermark) INTO reached FROM (
    SELECT o.pos, config.watermark + row_number() OVER (ORDER BY o.pos) - 1 AS place
    FROM experiments_output o WHERE o.config_id = unit.config_id AND o.pos >= config.watermark AND o.scored
  ) t WHERE t.pos = t.place;
  SELECT coalesce(p."limit", p.n_examples), coalesce(p."limit", p.n_examples) - coalesce(p.confirm, 0)
  INTO order_end, select_end FROM experiments_experimentplan p WHERE p.experiment_id = config.experiment_id;
  IF reached > config.watermark THEN
    -- What is confirmed decides nothing: the watermark ends before it, and so do all sums that are read by it.
    IF least(reached, select_end) > config.watermark THEN
      PERFORM add_between(config, config.watermark, least(reached, select_end),
        CASE WHEN has_additions THEN planned_metrics(config.experiment_id) END);
    END IF;
    UPDATE experiments_config c SET watermark = least(reached, select_end),
      -- At its end a config that never gave an answer has failed, however few examples there were.
      state = CASE WHEN c.state <> 'running' OR reached < order_end THEN c.state
        WHEN c.n_ok = 0 THEN 'failed' ELSE 'completed' END,
      stop_reason = CASE WHEN c.state = 'running' AND reached = order_end AND c.n_ok = 0
        THEN 'error' ELSE c.stop_reason END,
      epoch = c.epoch + CASE WHEN c.state = 'running' AND reached = order_end THEN 1 ELSE 0 END
    WHERE c.id = config.id
    RETURNING c.epoch, c.state, c.watermark INTO config_epoch, config_state, config_watermark;
  END IF;
END $$;

-- The same for units of any configs and accounts in one transaction; `p_units` is an array of objects with what
-- record_unit takes, and the config. The account is set for each, so that row-level security stands between two of them.
-- A config that somebody else has locked is not waited for: its units are left out, and to be recorded by themselves.
-- Units are locked in the order of their ids, as by whoever extends their leases. `place` counts from 0.
CREATE OR REPLACE FUNCTION record_units(p_units jsonb)
RETURNS TABLE (
  place int, accepted int[], config_epoch int, config_state text, config_watermark int, is_held boolean
) LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  item record;
BEGIN
  FOR item IN
    SELECT (e.ordinal - 1)::int AS place, r.* FROM jsonb_array_elements(p_units) WITH ORDINALITY e(fields, ordinal)
    CROSS JOIN LATERAL jsonb_to_record(e.fields) AS r(
      account bigint, config bigint, unit bigint, token uuid, outputs jsonb, scores jsonb, close text,
      lease_seconds double precision)
    ORDER BY r.unit, e.ordinal
  LOOP
    PERFORM set_config('app.account_id', item.account::text, true);
    PERFORM FROM experiments_config c
    WHERE c.account_id = item.account AND c.id = item.config FOR NO KEY UPDATE SKIP LOCKED;
    CONTINUE WHEN NOT FOUND;
    RETURN QUERY SELECT item.place, r.* FROM record_unit(
      item.account, item.unit, item.token, item.outputs, item.scores, item.close, item.lease_seconds) r;
  END LOOP;
END $$;
