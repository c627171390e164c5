-- The cpu lane, over all accounts. See docs/adr/0036-fair-shares-of-the-cpu-lane.md. What nobody has begun
-- (n_attempts = 0) is free; what was begun is held until its lease ends, and free again then: its process is gone.

-- Claim up to p_limit evaluations: the account with the fewest requests in flight first, within it the oldest request.
-- What a process was lost with is claimed alone: if it takes this one along too, it takes nothing else. One claim at a
-- time, so that two processes do not choose the same; what somebody has locked is passed over, and so is all that the
-- accounts p_without have: who left it to other processes afterwards would hold it from them meanwhile.
CREATE OR REPLACE FUNCTION claim_cpu_lane(p_limit int, p_lease_seconds double precision, p_without bigint[])
RETURNS TABLE (
  id bigint, account_id bigint, request_id bigint, "position" smallint, runs varchar, explain_strategy varchar,
  n_attempts smallint, n_sweeps smallint, connection text, turn bigint
) LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
  free_at timestamptz;
  part record;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('claim_computing', 0));
  free_at := clock_timestamp();
  FOR part IN SELECT * FROM claimed_ranges(free_at) LOOP
    RETURN QUERY
    WITH RECURSIVE accounts AS (
      -- Each step jumps to the next account in ix_evaluation_waiting: a thousand requests of one cost the others nothing.
      (SELECT e.account_id FROM evaluations_evaluation e
       WHERE e.status = 'pending' AND e.lane = 'cpu' AND e.n_attempts = 0
         AND e.id >= part.low AND e.id < part.high
       ORDER BY e.account_id LIMIT 1)
      UNION ALL
      SELECT (
        SELECT e.account_id FROM evaluations_evaluation e
        WHERE e.status = 'pending' AND e.lane = 'cpu' AND e.n_attempts = 0 AND e.account_id > a.account_id
          AND e.id >= part.low AND e.id < part.high
        ORDER BY e.account_id LIMIT 1)
      FROM accounts a WHERE a.account_id IS NOT NULL
    ), begun AS MATERIALIZED (
      SELECT e.id, e.account_id, e.request_id, e.n_attempts, e.lease_expires_at > free_at AS is_held FROM evaluations_evaluation e
      WHERE e.status = 'pending' AND e.lane = 'cpu' AND e.n_attempts > 0 AND e.id >= part.low AND e.id < part.high
    ), held AS (
      SELECT b.account_id, count(DISTINCT b.request_id) AS n FROM begun b WHERE b.is_held GROUP BY 1
    ), waiting AS (
      SELECT w.*, false AS was_lost FROM accounts a CROSS JOIN LATERAL (
        SELECT e.id, e.account_id, e.request_id, e.n_attempts FROM evaluations_evaluation e
        WHERE e.status = 'pending' AND e.lane = 'cpu' AND e.n_attempts = 0 AND e.account_id = a.account_id
          AND e.id >= part.low AND e.id < part.high
        ORDER BY e.id LIMIT p_limit) w
      WHERE a.account_id <> ALL(p_without) AND NOT account_rests(a.account_id)
      UNION ALL
      SELECT b.id, b.account_id, b.request_id, b.n_attempts, true FROM begun b
      WHERE NOT b.is_held AND b.account_id <> ALL(p_without) AND NOT account_rests(b.account_id)
    ), ranked AS (
      SELECT w.*, coalesce(h.n, 0) + dense_rank() OVER (PARTITION BY w.account_id ORDER BY w.request_id) AS place
      FROM waiting w LEFT JOIN held h ON h.account_id = w.account_id
    ), chosen AS MATERIALIZED (
      SELECT r.id, r.n_attempts, r.was_lost, row_number() OVER w AS turn, first_value(r.was_lost) OVER w AS is_for_lost
      FROM ranked r WINDOW w AS (ORDER BY r.place, r.request_id, r.id) ORDER BY r.place, r.request_id, r.id LIMIT p_limit
    ), free AS MATERIALIZED (
      SELECT e.id, e.n_attempts FROM evaluations_evaluation e
      WHERE e.id = ANY(ARRAY(SELECT c.id FROM chosen c WHERE c.turn = 1 OR NOT (c.was_lost OR c.is_for_lost)))
        AND e.status || '' = 'pending' AND e.id >= part.low AND e.id < part.high FOR UPDATE OF e SKIP LOCKED
    ), claimed AS (
      UPDATE evaluations_evaluation e
      SET n_attempts = e.n_attempts + 1, lease_expires_at = clock_timestamp() + p_lease_seconds * interval '1 second'
      -- Not what somebody has claimed or released since this began.
      WHERE e.id = ANY(ARRAY(SELECT f.id FROM free f JOIN chosen c ON c.id = f.id AND c.n_attempts = f.n_attempts))
        AND e.id >= part.low AND e.id < part.high
      RETURNING e.id, e.account_id, e.request_id, e.position, e.runs, e.explain_strategy, e.n_attempts, e.n_sweeps
    )
    SELECT k.*, '', c.turn FROM claimed k JOIN chosen c ON c.id = k.id;
    EXIT WHEN FOUND;
  END LOOP;
END $$;

-- What processes of 0.4 call.
CREATE OR REPLACE FUNCTION claim_computing(p_limit int, p_lease_seconds double precision)
RETURNS TABLE (
  id bigint, account_id bigint, request_id bigint, "position" smallint, runs varchar, explain_strategy varchar,
  n_attempts smallint, n_sweeps smallint, connection text, turn bigint
) LANGUAGE sql SECURITY INVOKER AS $$
  SELECT * FROM claim_cpu_lane(p_limit, p_lease_seconds, '{}')
$$;

-- Give up what was claimed: p_begun says whether it was an attempt. Others may claim it at once.
CREATE OR REPLACE FUNCTION release_computing(p_ids bigint[], p_attempts int[], p_begun boolean)
RETURNS bigint LANGUAGE sql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
  WITH released AS (
    UPDATE evaluations_evaluation e
    SET lease_expires_at = clock_timestamp(), n_attempts = e.n_attempts - CASE WHEN p_begun THEN 0 ELSE 1 END
    WHERE e.id = ANY(p_ids) AND e.n_attempts = p_attempts[array_position(p_ids, e.id)] AND e.status || '' = 'pending'
    RETURNING e.id)
  SELECT count(*) FROM released
$$;
