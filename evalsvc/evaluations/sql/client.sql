-- Keep scores that were made elsewhere, up to a thousand of them in one round trip, each once: a row is known by its
-- digest, so a batch that is sent again finds what it left. Answers with the evaluation of each row, by its position.
-- `p_rows`: [{position, fingerprint, since: the lowest request id that may be what it left, request: columns of the
-- request, evaluation: columns of the evaluation}].
CREATE OR REPLACE FUNCTION keep_client_evaluations(p_account bigint, p_rows jsonb)
RETURNS TABLE (row_position int, evaluation_id bigint) LANGUAGE plpgsql SECURITY INVOKER
SET enable_seqscan = off AS $$
DECLARE
  -- A request and its evaluation stand in one partition: their ids are of one millisecond.
  drawn bigint[] := next_ids(2 * jsonb_array_length(p_rows));
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  -- A batch that is sent again while the first one is still being written must see what that one writes.
  PERFORM pg_advisory_xact_lock(hashtextextended('keep_client_evaluations', p_account));
  RETURN QUERY
  WITH sent AS MATERIALIZED (
    SELECT (r.value->>'position')::int AS place, (r.value->>'fingerprint')::bigint AS fingerprint,
      coalesce((r.value->>'since')::bigint, 0) AS since,
      r.value->'request' AS request, r.value->'evaluation' AS evaluation
    FROM jsonb_array_elements(p_rows) r
  ), known AS MATERIALIZED (
    -- Row by row and in this order whatever the statistics say, as OFFSET 0 is planned by itself. Without the range of
    -- ids that goes with `request_id =` elsewhere: the index of ids may look as good, and is that of an hour's evaluations.
    SELECT s.place, min(e.id) AS id FROM sent s,
      LATERAL (
        SELECT q.id FROM evaluations_evaluationrequest q
        WHERE q.account_id = p_account AND q.fingerprint = s.fingerprint AND q.id >= s.since OFFSET 0) q,
      LATERAL (
        SELECT e.id FROM evaluations_evaluation e
        WHERE e.account_id = p_account AND e.request_id = q.id
          AND e.evaluation_type = 'client_evaluation' AND e.evaluator_id = s.evaluation->>'evaluator_id' OFFSET 0) e
    GROUP BY s.place
  ), fresh AS MATERIALIZED (
    SELECT s.*, drawn[2 * s.n - 1] AS request_id, drawn[2 * s.n] AS id, clock_timestamp() AS arrived_at
    FROM (
      SELECT sent.*, row_number() OVER (ORDER BY place) AS n FROM sent
      WHERE place NOT IN (SELECT known.place FROM known) ORDER BY place) s
  ), requests AS (
    INSERT INTO evaluations_evaluationrequest
    SELECT q.* FROM fresh f, LATERAL jsonb_populate_record(
      NULL::evaluations_evaluationrequest,
      jsonb_build_object('created_at', f.arrived_at) || f.request || jsonb_build_object(
        'id', f.request_id, 'account_id', p_account, 'fingerprint', f.fingerprint, 'capture', 'all',
        'strategy', 'none', 'purged', false, 'completed_at', f.arrived_at, 'log_id', NULL, 'trace_id', NULL)) q
  ), added AS (
    INSERT INTO evaluations_evaluation AS e (
      {{verdict}},
      id, account_id, request_id, position, evaluator_id, profile_name, explain_strategy, evaluation_type, details,
      captured, in_history, n_attempts, n_sweeps, created_at, completed_at, project_id, app, experiment_id, dataset_id,
      log_id, trace_id)
    SELECT {{r.verdict}},
      f.id, p_account, f.request_id, 0, r.evaluator_id, r.profile_name, 'always', 'client_evaluation', r.details,
      true, r.score IS NOT NULL, 0, 0, coalesce((f.request->>'created_at')::timestamptz, f.arrived_at), f.arrived_at,
      q.project_id, q.app, q.experiment_id, q.dataset_id, q.log_id, q.trace_id
    FROM fresh f, LATERAL jsonb_populate_record(
      NULL::evaluations_evaluation, '{"status": "success"}' || f.evaluation) r,
      LATERAL jsonb_populate_record(NULL::evaluations_evaluationrequest, f.request) q
    RETURNING e.*
  ), remembered AS MATERIALIZED (
    SELECT insert_scores(p_account, array_agg(ROW(
      history_id(true, a.created_at, a.id), a.evaluator_id, a.profile_name, NULL, a.score, a.passed, 'import', a.id,
      false, a.app, a.project_id, a.experiment_id, NULL, NULL, a.created_at,
      (f.request->>'sample_hash')::bigint,
      -- Scores with times of their own are in the order of these; those of one time are a batch.
      CASE WHEN f.request ? 'created_at' THEN id_at(a.created_at) ELSE drawn[1] END, NULL)::history_row)) AS done
    FROM added a JOIN fresh f ON f.id = a.id WHERE a.in_history
  ), tagged AS (
    INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
    SELECT t.* FROM fresh f JOIN added a ON a.id = f.id, LATERAL tags_of(a, f.request->'tags') t
    ON CONFLICT DO NOTHING
  )
  SELECT k.place, k.id FROM known k UNION ALL
  -- Asked for, as what is only selected would not run.
  SELECT f.place, f.id FROM fresh f WHERE (SELECT r.done >= 0 FROM remembered r);
END $$;
