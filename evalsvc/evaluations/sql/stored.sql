-- What was accepted and is asked for again, each in one message to the database.

-- A request with its evaluations in order, a row for each; nothing if there is none, or none of this account. Where its
-- caller was told to come back and every verdict is there, this is the delivery, which is remembered, once: before it is
-- read, as a verdict that came in between would be marked as delivered and not be.
CREATE OR REPLACE FUNCTION stored_evaluations(p_account bigint, p_request bigint)
RETURNS TABLE (request evaluations_evaluationrequest, evaluation evaluations_evaluation)
LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  UPDATE evaluations_evaluationrequest r SET delivered_at = now()
  WHERE r.account_id = p_account AND r.id = p_request AND r.completed_at IS NOT NULL AND r.pending_answered_at IS NOT NULL
    AND r.delivered_at IS NULL;
  RETURN QUERY
    SELECT r, e FROM evaluations_evaluationrequest r
    LEFT JOIN evaluations_evaluation e
      ON e.account_id = p_account AND e.request_id = p_request AND e.id >= ids_from(p_request) AND e.id < ids_until(p_request)
    WHERE r.account_id = p_account AND r.id = p_request
    ORDER BY e.position;
END $$;

-- The newest request since p_oldest that a call with this digest and so many results repeats, and whether what failed in
-- it is to be tried again. Without a sign only one counts whose caller was told to come back, and has not.
CREATE OR REPLACE FUNCTION find_repeated(p_account bigint, p_digest bigint, p_oldest bigint, p_n int, p_sign text)
RETURNS TABLE (request_id bigint, try_again boolean) LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  RETURN QUERY
    -- By itself, without the order and the limit: with them the newest requests of all are walked through until one fits.
    WITH same AS MATERIALIZED (
      SELECT q.id, q.pending_answered_at IS NOT NULL AND q.delivered_at IS NULL AS awaited
      FROM evaluations_evaluationrequest q
      WHERE q.account_id = p_account AND q.fingerprint = p_digest AND q.id >= p_oldest
    )
    SELECT r.id, p_sign IS NOT DISTINCT FROM 'name' AND NOT r.awaited AND e.failed FROM same r, LATERAL (
      SELECT count(*) AS n, bool_or(v.status = 'error') AS failed FROM evaluations_evaluation v
      WHERE v.account_id = p_account AND v.request_id = r.id AND v.id >= ids_from(r.id) AND v.id < ids_until(r.id)
    ) e
    WHERE e.n = p_n AND (p_sign IS NOT NULL OR r.awaited)
    ORDER BY r.id DESC LIMIT 1;
END $$;

-- Remember, once, that a request's caller was told to come back, or has come and got every verdict.
CREATE OR REPLACE FUNCTION stamp_request(p_account bigint, p_request bigint, p_is_delivered boolean)
RETURNS void LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  IF p_is_delivered THEN
    UPDATE evaluations_evaluationrequest SET delivered_at = now()
    WHERE account_id = p_account AND id = p_request AND delivered_at IS NULL;
  ELSE
    UPDATE evaluations_evaluationrequest SET pending_answered_at = now()
    WHERE account_id = p_account AND id = p_request AND pending_answered_at IS NULL;
  END IF;
END $$;
