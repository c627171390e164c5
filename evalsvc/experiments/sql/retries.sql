-- Retries: outputs that failed are asked for again, and scores that failed are worked out again. Rows are changed in their
-- place, never deleted: what lies below a watermark stays finished. Units of a retry have an addition from 1000 on, which
-- is 1000 and the number of the retry. Whoever calls these functions holds the config's row.

-- Let the failures of a config wait for a retry; return how many there are. Those that wait for an earlier one do not wait
-- twice. Outputs of a push config wait for its caller, all else for workers.
CREATE OR REPLACE FUNCTION open_retry_units(
  p_config experiments_config, p_number int, p_what text, p_errors text[], p_metrics text[], p_size int)
RETURNS int LANGUAGE sql SECURITY INVOKER AS $$
  WITH failed AS (
    SELECT o.pos FROM experiments_output o
    WHERE o.config_id = p_config.id AND o.scored AND CASE p_what
      WHEN 'outputs' THEN o.status <> 'ok' AND (p_errors IS NULL OR o.error_type = ANY (p_errors))
      ELSE o.status = 'ok' AND EXISTS (
        SELECT 1 FROM experiments_score s
        WHERE s.config_id = o.config_id AND s.pos = o.pos AND s.metric = ANY (p_metrics)
          AND s.error_code <> 'not_applicable'
          AND CASE WHEN p_errors IS NULL THEN s.error_code <> 'undecided' ELSE s.error_code = ANY (p_errors) END) END
      AND NOT EXISTS (
        SELECT 1 FROM experiments_workunit u WHERE u.config_id = o.config_id AND u.addition >= 1000
          AND u.state <> 'done' AND u.from_pos <= o.pos AND u.to_pos > o.pos)
  ), islands AS (
    SELECT f.pos, f.pos - row_number() OVER (ORDER BY f.pos) AS island FROM failed f
  ), opened AS (
    INSERT INTO experiments_workunit (
      account_id, experiment_id, config_id, addition, from_pos, to_pos, state, attempt, epoch, created_at)
    SELECT p_config.account_id, p_config.experiment_id, p_config.id, 1000 + p_number, min(i.pos), max(i.pos) + 1,
      CASE WHEN p_config.kind = 'push' AND p_what = 'outputs' THEN 'open' ELSE 'scoring' END, 0, p_config.epoch,
      clock_timestamp()
    FROM islands i WHERE p_config.state <> 'deleted' GROUP BY i.island, i.pos / p_size
    RETURNING to_pos - from_pos AS n
  )
  SELECT coalesce(sum(n), 0)::int FROM opened;
$$;

-- Lease a unit of a retry to the caller of a push config; a row of nulls when there is none.
CREATE OR REPLACE FUNCTION take_retry(p_account bigint, p_config bigint, p_lease_seconds double precision)
RETURNS experiments_workunit LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  config experiments_config;
  unit experiments_workunit;
BEGIN
  IF NOT EXISTS (
    SELECT 1 FROM experiments_workunit w WHERE w.config_id = p_config AND w.addition >= 1000
      AND w.state IN ('open', 'leased')) THEN
    RETURN NULL;
  END IF;
  SELECT c.* INTO config FROM experiments_config c
  WHERE c.account_id = p_account AND c.id = p_config AND c.kind = 'push' AND c.state <> 'deleted' FOR NO KEY UPDATE;
  UPDATE experiments_workunit u
  SET state = 'leased', token = gen_random_uuid(), attempt = least(u.attempt + 1, 32767), epoch = config.epoch,
    lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
  WHERE u.id = (
    SELECT w.id FROM experiments_workunit w
    WHERE w.config_id = config.id AND w.addition >= 1000
      AND (w.state = 'open' OR (w.state = 'leased' AND w.lease_expires_at < clock_timestamp()))
    ORDER BY w.addition, w.from_pos LIMIT 1)
  RETURNING u.* INTO unit;
  RETURN unit;
END $$;

-- Up to which position a metric of a config is counted: the watermark, or for one that was added its mark.
CREATE OR REPLACE FUNCTION counted_upto(p_config experiments_config, p_metric text) RETURNS int
LANGUAGE sql STABLE SECURITY INVOKER AS $$
  SELECT coalesce((
    SELECT coalesce(m.watermark, 0) FROM experiments_addition d
    LEFT JOIN experiments_additionmark m ON m.config_id = p_config.id AND m.number = d.number
    WHERE d.experiment_id = p_config.experiment_id AND p_metric = ANY (d.names)), p_config.watermark);
$$;

-- Whether a score of a config is in the sums of a scope.
CREATE OR REPLACE FUNCTION is_in_scope(p_config experiments_config, p_scope text, p_pos int, p_upto int) RETURNS boolean
LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT CASE p_scope WHEN 'all' THEN true WHEN 'seen' THEN p_pos < p_upto AND p_pos < p_config.fresh_from
    ELSE p_pos < p_upto AND p_pos >= p_config.fresh_from END;
$$;

-- Take the sums of scores out of one scope of a config's aggregates. Smallest and largest are left to `mend_extremes`.
CREATE OR REPLACE FUNCTION take_sums(
  p_config bigint, p_scope text, p_metrics text[], p_values double precision[], p_denominators double precision[],
  p_errors text[])
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  UPDATE experiments_aggregate a SET
    n = a.n - s.n, n_error = a.n_error - s.n_error, n_failed = a.n_failed - f.n_failed,
    n_undecided = a.n_undecided - u.n_undecided, n_na = a.n_na - s.n_na,
    -- Nothing is left of the sums of nothing, not even what rounding leaves.
    total = CASE WHEN a.n = s.n THEN 0 ELSE a.total - s.total END,
    squares = CASE WHEN a.n = s.n THEN 0 ELSE greatest(a.squares - s.squares, 0) END,
    den_total = CASE WHEN a.n = s.n THEN 0 ELSE a.den_total - s.den_total END,
    den_squares = CASE WHEN a.n = s.n THEN 0 ELSE greatest(a.den_squares - s.den_squares, 0) END,
    "cross" = CASE WHEN a.n = s.n THEN 0 ELSE a."cross" - s."cross" END
  FROM sums_of_scores(p_metrics, p_values, p_denominators, p_errors) s
  JOIN count_failures(p_metrics, p_errors) f ON f.metric = s.metric
  JOIN count_undecided(p_metrics, p_errors) u ON u.metric = s.metric
  WHERE a.config_id = p_config AND a.scope = p_scope AND a.metric = s.metric;
$$;

-- Find the smallest and largest score of some metrics anew, in each scope.
CREATE OR REPLACE FUNCTION mend_extremes(p_config experiments_config, p_metrics text[])
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  UPDATE experiments_aggregate a SET lowest = f.lowest, highest = f.highest
  FROM experiments_aggregate b CROSS JOIN LATERAL (
    SELECT min(s.value) AS lowest, max(s.value) AS highest FROM experiments_score s
    WHERE s.config_id = b.config_id AND s.metric = b.metric
      AND is_in_scope(p_config, b.scope, s.pos, counted_upto(p_config, b.metric))) f
  WHERE b.config_id = p_config.id AND b.metric = ANY (p_metrics) AND a.id = b.id;
$$;

-- Change the sums of all scopes from old scores to new ones of the same config.
CREATE OR REPLACE FUNCTION swap_sums(
  p_config experiments_config, p_old experiments_score[], p_new experiments_score[])
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  p_scope text;
BEGIN
  FOREACH p_scope IN ARRAY ARRAY['all', 'seen', 'prefix'] LOOP
    PERFORM take_sums(p_config.id, p_scope, array_agg(o.metric::text), array_agg(o.value), array_agg(o.denominator),
      array_agg(o.error_code::text))
    FROM unnest(p_old) o WHERE is_in_scope(p_config, p_scope, o.pos, counted_upto(p_config, o.metric)) HAVING count(*) > 0;
    PERFORM add_sums(p_config.account_id, p_config.id, p_scope, array_agg(n.metric::text), array_agg(n.value),
      array_agg(n.denominator), array_agg(n.error_code::text))
    FROM unnest(p_new) n WHERE is_in_scope(p_config, p_scope, n.pos, counted_upto(p_config, n.metric)) HAVING count(*) > 0;
  END LOOP;
  IF EXISTS (SELECT 1 FROM unnest(p_old) o WHERE o.value IS NOT NULL) THEN
    PERFORM mend_extremes(p_config, (SELECT array_agg(o.metric::text) FROM unnest(p_old) o WHERE o.value IS NOT NULL));
  END IF;
END $$;

-- What the stages of an output tell after a retry: those of the new answer, and queries of both.
CREATE OR REPLACE FUNCTION added_stages(p_former jsonb, p_new jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE SECURITY INVOKER AS $$
  SELECT CASE WHEN p_former -> 'paid' IS NULL THEN p_new ELSE coalesce(p_new, '{}') || jsonb_build_object('paid',
    coalesce(p_new -> 'paid', '{}') || jsonb_build_object(
      'n_asked', coalesce((p_former #>> '{paid,n_asked}')::bigint, 0) + coalesce((p_new #>> '{paid,n_asked}')::bigint, 0),
      'n_saved', coalesce((p_former #>> '{paid,n_saved}')::bigint, 0) + coalesce((p_new #>> '{paid,n_saved}')::bigint, 0))) END;
$$;

-- Put new answers in the place of outputs that failed, each once; return the positions. An answer that is sent as not scored
-- keeps the errors of the former one until its scores come.
CREATE OR REPLACE FUNCTION replace_outputs(p_unit experiments_workunit, p_config experiments_config, p_outputs jsonb)
RETURNS int[] LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  number int := p_unit.addition - 1000;
  accepted int[];
BEGIN
  WITH due AS (
    SELECT o.pos, o.error_type, o.reused_from, o.stages FROM experiments_output o
    WHERE o.config_id = p_config.id AND o.pos >= p_unit.from_pos AND o.pos < p_unit.to_pos AND o.status <> 'ok'
      AND coalesce(o.retry, 0) < number
    FOR UPDATE
  ), replaced AS (
    UPDATE experiments_output o SET
      status = r.status, output = r.output, isolated = r.isolated, stages = added_stages(o.stages, r.stages),
      samples = r.samples, error_type = r.error_type,
      error_message = r.error_message, ending = r.ending, latency_ms = r.latency_ms, input_tokens = r.input_tokens,
      output_tokens = r.output_tokens, cost = r.cost, attempt = coalesce(r.attempt, 1), reused_from = r.reused_from,
      scored = coalesce(r.scored, true), client_scores = r.client_scores, trace_id = r.trace_id, span_id = r.span_id,
      created_at = clock_timestamp(), retry = number, first_error = coalesce(o.first_error, d.error_type)
    FROM jsonb_populate_recordset(NULL::experiments_output, p_outputs) r JOIN due d ON d.pos = r.pos
    WHERE o.config_id = p_config.id AND o.pos = r.pos
    RETURNING o.*, d.reused_from AS former, d.stages AS former_stages
  ), counted AS (
    -- What the failed query has cost stays spent.
    UPDATE experiments_config c SET
      n_ok = c.n_ok + t.n_ok, n_error = c.n_error - t.n_ok, n_reused = c.n_reused + t.n_reused,
      n_retried = c.n_retried + t.n, n_asked = c.n_asked + t.n_asked, n_saved = c.n_saved + t.n_saved,
      n_input_tokens = c.n_input_tokens + t.tokens_in,
      n_output_tokens = c.n_output_tokens + t.tokens_out, cost = c.cost + t.cost
    FROM (SELECT count(*) AS n, count(*) FILTER (WHERE a.status = 'ok') AS n_ok,
            count(a.reused_from) - count(a.former) AS n_reused, 
            coalesce(sum(p.n_asked - coalesce((a.former_stages #>> '{paid,n_asked}')::bigint, 0)), 0) AS n_asked,
            coalesce(sum(p.n_saved - coalesce((a.former_stages #>> '{paid,n_saved}')::bigint, 0)), 0) AS n_saved, coalesce(sum(p.input_tokens), 0) AS tokens_in,
            coalesce(sum(p.output_tokens), 0) AS tokens_out, coalesce(sum(p.cost), 0) AS cost
          -- As in `record_unit`: of a pipeline its stages tell what has been paid for.
          FROM replaced a CROSS JOIN LATERAL jsonb_to_record(coalesce(a.stages -> 'paid', jsonb_build_object(
            'input_tokens', a.input_tokens, 'output_tokens', a.output_tokens, 'cost', a.cost))) AS p(
            n_asked bigint, n_saved bigint, input_tokens bigint, output_tokens bigint, cost double precision)) t
    WHERE c.id = p_config.id
  )
  SELECT coalesce(array_agg(a.pos ORDER BY a.pos), '{}') INTO accepted FROM replaced a;
  RETURN accepted;
END $$;

-- Put new scores in the place of those that are there, and of those that are missing; with them the sums and the history.
-- What stood there first is kept beside them: evidence of races, looks and watched intervals are of first answers.
CREATE OR REPLACE FUNCTION replace_scores(p_config experiments_config, p_positions int[], p_scores jsonb)
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  former experiments_score[];
  present experiments_score[];
  entries history_row[];
BEGIN
  SELECT array_agg(s) INTO former FROM experiments_score s
  JOIN jsonb_to_recordset(p_scores) AS r(pos int, metric text) ON r.pos = s.pos AND r.metric = s.metric
  WHERE s.config_id = p_config.id AND s.pos = ANY (p_positions);
  WITH sent AS (
    SELECT r.* FROM jsonb_populate_recordset(NULL::experiments_score, p_scores) r WHERE r.pos = ANY (p_positions)
  ), changed AS (
    UPDATE experiments_score s SET
      first = coalesce(s.first, jsonb_build_object('value', s.value, 'denominator', s.denominator, 'error_code', s.error_code)),
      value = r.value, denominator = r.denominator, passed = r.passed, error_code = r.error_code,
      error_message = r.error_message, explanation = r.explanation, spans = r.spans, extra = r.extra,
      samples = r.samples, n_scored = r.n_scored, within = r.within,
      judge_cost = CASE WHEN s.judge_cost IS NULL THEN r.judge_cost ELSE s.judge_cost + coalesce(r.judge_cost, 0) END,
      created_at = clock_timestamp()
    FROM sent r WHERE s.config_id = p_config.id AND s.pos = r.pos AND s.metric = r.metric
    RETURNING s.pos, s.metric
  )
  INSERT INTO experiments_score (
    account_id, experiment_id, config_id, pos, metric, value, denominator, passed, error_code, error_message,
    explanation, spans, extra, judge_cost, samples, n_scored, within, created_at)
  SELECT p_config.account_id, p_config.experiment_id, p_config.id, r.pos, r.metric, r.value, r.denominator, r.passed,
    r.error_code, r.error_message, r.explanation, r.spans, r.extra, r.judge_cost, r.samples, r.n_scored, r.within,
    clock_timestamp()
  FROM sent r WHERE NOT EXISTS (SELECT 1 FROM changed c WHERE c.pos = r.pos AND c.metric = r.metric);
  SELECT array_agg(s) INTO present FROM experiments_score s
  JOIN jsonb_to_recordset(p_scores) AS r(pos int, metric text) ON r.pos = s.pos AND r.metric = s.metric
  WHERE s.config_id = p_config.id AND s.pos = ANY (p_positions);
  PERFORM swap_sums(p_config, former, present);
  SELECT array_agg(ROW(o.id, r.evaluator_id, r.profile_name, r.profile_revision, coalesce(r.ranking, s.value), s.passed,
    'experiment', o.id, true, NULL, (SELECT e.project_id FROM projects_experiment e WHERE e.id = p_config.experiment_id),
    p_config.experiment_id, p_config.id, o.id, o.created_at,
    (SELECT example_hash(x) FROM datasets_example x WHERE x.id = o.example_id), NULL, NULL)::history_row)
  INTO entries FROM unnest(present) s
  JOIN jsonb_to_recordset(p_scores) AS r(
    pos int, metric text, evaluator_id text, profile_name text, profile_revision int, ranking double precision)
    ON r.pos = s.pos AND r.metric = s.metric
  JOIN experiments_output o ON o.config_id = p_config.id AND o.pos = s.pos
  -- What is undecided has the evaluator's score, and no pass.
  WHERE (s.value IS NOT NULL OR s.error_code = 'undecided') AND r.evaluator_id IS NOT NULL;
  IF entries IS NOT NULL THEN
    PERFORM insert_scores(p_config.account_id, entries);
  END IF;
  PERFORM advance_addition(p_config, d.number) FROM experiments_addition d
  WHERE d.experiment_id = p_config.experiment_id AND NOT d.by_caller;
END $$;

-- Let the caller's numbers for added metrics come for outputs that have one now: the note that there was none is taken
-- back, and what follows it in the order is counted again up to the first that is missing.
CREATE OR REPLACE FUNCTION reopen_for_caller(p_config experiments_config, p_positions int[])
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  addition experiments_addition;
  taken experiments_score[];
BEGIN
  FOR addition IN
    SELECT d.* FROM experiments_addition d WHERE d.experiment_id = p_config.experiment_id AND d.by_caller
  LOOP
    WITH gone AS (
      DELETE FROM experiments_score s USING experiments_output o
      WHERE s.config_id = p_config.id AND s.pos = ANY (p_positions) AND s.metric = ANY (addition.names)
        AND s.value IS NULL AND o.config_id = s.config_id AND o.pos = s.pos AND o.status = 'ok'
      RETURNING s.*
    ) SELECT array_agg(g::experiments_score) INTO taken FROM gone g;
    CONTINUE WHEN taken IS NULL;
    PERFORM take_sums(p_config.id, 'all', array_agg(t.metric::text), array_agg(t.value), array_agg(t.denominator),
      array_agg(t.error_code::text)) FROM unnest(taken) t;
    DELETE FROM experiments_aggregate a
    WHERE a.config_id = p_config.id AND a.metric = ANY (addition.names) AND a.scope <> 'all';
    DELETE FROM experiments_additionmark m WHERE m.config_id = p_config.id AND m.number = addition.number;
    PERFORM advance_addition(p_config, addition.number);
  END LOOP;
END $$;

-- Record what a worker, or the caller, has of a unit of a retry: `record_unit` does so for all other units.
CREATE OR REPLACE FUNCTION record_retry(
  p_unit experiments_workunit, p_config experiments_config, p_outputs jsonb, p_scores jsonb, p_close text,
  p_lease_seconds double precision,
  OUT accepted int[], OUT config_epoch int, OUT config_state text
) LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  retry experiments_retry;
  waits record;
  away record;
  due int[];
  n_left int;
  n_unscored int;
BEGIN
  waits := waiting_scores(p_scores);
  away := waiting_output(p_scores);
  SELECT t.* INTO retry FROM experiments_retry t
  WHERE t.experiment_id = p_unit.experiment_id AND t.number = p_unit.addition - 1000;
  IF retry.what = 'outputs' THEN
    accepted := replace_outputs(p_unit, p_config, p_outputs);
    -- Those that have just been answered and scored, and those that have waited for their scores.
    SELECT array_agg(o.pos) INTO due FROM experiments_output o
    WHERE o.config_id = p_config.id AND o.pos >= p_unit.from_pos AND o.pos < p_unit.to_pos AND o.retry = retry.number
      AND CASE WHEN o.pos = ANY (accepted) THEN o.scored ELSE NOT o.scored END
      AND NOT o.pos = ANY (waits.positions)
      AND o.pos IN (SELECT r.pos FROM jsonb_to_recordset(p_scores) AS r(pos int));
  ELSE
    SELECT array_agg(o.pos), array_agg(o.pos ORDER BY o.pos) INTO due, accepted FROM experiments_output o
    WHERE o.config_id = p_config.id AND o.pos >= p_unit.from_pos AND o.pos < p_unit.to_pos
      AND coalesce(o.retry, 0) < retry.number AND NOT o.pos = ANY (waits.positions)
      AND o.pos IN (SELECT r.pos FROM jsonb_to_recordset(p_scores) AS r(pos int));
  END IF;
  IF due IS NOT NULL THEN
    PERFORM replace_scores(p_config, due, p_scores);
    UPDATE experiments_output o SET scored = true, client_scores = NULL, retry = retry.number
    WHERE o.config_id = p_config.id AND o.pos = ANY (due);
    UPDATE experiments_config c SET n_retried = c.n_retried + cardinality(due) WHERE c.id = p_config.id;
  END IF;
  IF retry.what = 'outputs' THEN
    PERFORM reopen_for_caller(p_config, accepted);
  END IF;
  accepted := coalesce(accepted, '{}');

  SELECT count(*) FILTER (WHERE coalesce(o.retry, 0) < retry.number), count(*) FILTER (WHERE NOT o.scored)
  INTO n_left, n_unscored FROM experiments_output o
  WHERE o.config_id = p_config.id AND o.pos >= p_unit.from_pos AND o.pos < p_unit.to_pos;
  IF n_left = 0 THEN
    UPDATE experiments_workunit u SET state = CASE WHEN n_unscored > 0 THEN 'scoring' ELSE 'done' END, token = NULL,
      lease_expires_at = NULL, attempt = CASE WHEN n_unscored > 0 THEN 0 ELSE u.attempt END
    WHERE u.id = p_unit.id;
  ELSIF p_close = 'keep' THEN
    UPDATE experiments_workunit u SET lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
    WHERE u.id = p_unit.id;
  ELSE
    UPDATE experiments_workunit u SET state = CASE p_unit.state WHEN 'leased' THEN 'open' ELSE 'scoring' END, token = NULL,
      lease_expires_at = NULL, attempt = CASE WHEN p_close = 'release' THEN greatest(u.attempt - 1, 0) ELSE u.attempt END
    WHERE u.id = p_unit.id;
  END IF;
  IF waits.seconds IS NOT NULL AND p_close = 'release' AND (n_left = 0 OR p_unit.state = 'scoring') THEN
    PERFORM rest_unit(p_unit.id, waits.seconds, waits.message);
  ELSIF away.seconds IS NOT NULL AND p_close = 'release' AND n_left > 0 THEN
    PERFORM rest_unit(p_unit.id, away.seconds, away.message, true);
  END IF;
  -- One that had failed for want of any answer has completed where nobody races; a race goes by first answers.
  UPDATE experiments_config c SET state = 'completed', stop_reason = NULL, epoch = c.epoch + 1
  FROM experiments_experimentplan p
  WHERE c.id = p_config.id AND p.experiment_id = c.experiment_id AND p.policy = 'manual' AND c.state = 'failed'
    AND c.n_ok > 0 AND c.watermark = coalesce(p."limit", p.n_examples) - coalesce(p.confirm, 0);
  SELECT c.epoch, c.state INTO config_epoch, config_state FROM experiments_config c WHERE c.id = p_config.id;
END $$;
