-- Counts by day. Triggers of evaluations note each change in the transaction that makes it, as a row of its own: nobody
-- waits for a row that all who write today would share. `fold_rollups` adds the notes to the days. What is read is the sum
-- of both. Migrations make the triggers. See docs/adr/0085-counts-by-day.md.

-- Under which code a captured evaluation is counted: its error's, or that it is undecided, as a score made elsewhere says
-- itself. Of the service's own scores, histories take those without a verdict for that.
CREATE OR REPLACE FUNCTION rollup_code(
  p_type text, p_error_code text, p_in_history boolean, p_passed boolean, p_extra jsonb)
RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN p_in_history AND p_passed IS NULL AND p_type <> 'patronus_evaluation' AND p_extra ? 'undecided'
  THEN 'undecided' ELSE p_error_code END;

-- What a captured evaluation adds to which day. `arrived` is the month of its id, and so of its partition: what goes with
-- that is found without reading it. Sums are numerics, so that what is taken away later leaves exactly what was there.
CREATE OR REPLACE FUNCTION rollup_of(
  p_id bigint, p_created_at timestamptz, p_app text, p_profile text, p_error_code text, p_in_history boolean,
  p_score double precision, p_passed boolean)
RETURNS TABLE (
  day date, arrived date, app text, profile_name text, error_code text, n_scored int, n_pass int, n_fail int,
  total numeric, squares numeric)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (p_created_at AT TIME ZONE 'UTC')::date, month_of(p_id), coalesce(p_app, ''), coalesce(p_profile, ''),
    coalesce(p_error_code, ''), p_in_history::int, (p_in_history AND p_passed IS TRUE)::int,
    (p_in_history AND p_passed IS FALSE)::int, CASE WHEN p_in_history THEN p_score::numeric ELSE 0 END,
    CASE WHEN p_in_history THEN p_score::numeric * p_score::numeric ELSE 0 END
$$;

-- Note evaluations that came or went. The statement's rows are `changed`.
CREATE OR REPLACE FUNCTION note_rollups() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  sign int := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
BEGIN
  INSERT INTO evaluations_rollupdelta (
    account_id, day, arrived, app, evaluator_id, profile_name, error_code, n, n_scored, n_pass, n_fail, total, squares)
  SELECT c.account_id, r.day, r.arrived, r.app, c.evaluator_id, r.profile_name, r.error_code, sign * count(*),
    sign * sum(r.n_scored), sign * sum(r.n_pass), sign * sum(r.n_fail), sign * sum(r.total), sign * sum(r.squares)
  FROM changed c, LATERAL rollup_of(
    c.id, c.created_at, c.app, c.profile_name,
    rollup_code(c.evaluation_type, c.error_code, c.in_history, c.passed, c.extra),
    c.in_history, c.score, c.passed) r
  WHERE c.captured GROUP BY 1, 2, 3, 4, 5, 6, 7;
  RETURN NULL;
END $$;

-- Note an evaluation that is another one now: it has its verdict, or was corrected.
CREATE OR REPLACE FUNCTION note_changed_rollup() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  INSERT INTO evaluations_rollupdelta (
    account_id, day, arrived, app, evaluator_id, profile_name, error_code, n, n_scored, n_pass, n_fail, total, squares)
  SELECT OLD.account_id, r.day, r.arrived, r.app, OLD.evaluator_id, r.profile_name, r.error_code, -1, -r.n_scored, -r.n_pass,
    -r.n_fail, -r.total, -r.squares
  FROM rollup_of(
    OLD.id, OLD.created_at, OLD.app, OLD.profile_name,
    rollup_code(OLD.evaluation_type, OLD.error_code, OLD.in_history, OLD.passed, OLD.extra),
    OLD.in_history, OLD.score, OLD.passed) r
  WHERE OLD.captured
  UNION ALL
  SELECT NEW.account_id, r.day, r.arrived, r.app, NEW.evaluator_id, r.profile_name, r.error_code, 1, r.n_scored, r.n_pass,
    r.n_fail, r.total, r.squares
  FROM rollup_of(
    NEW.id, NEW.created_at, NEW.app, NEW.profile_name,
    rollup_code(NEW.evaluation_type, NEW.error_code, NEW.in_history, NEW.passed, NEW.extra),
    NEW.in_history, NEW.score, NEW.passed) r
  WHERE NEW.captured;
  RETURN NULL;
END $$;

-- Add the oldest notes to their days, at most so many, each once; return how many. One fold at a time.
CREATE OR REPLACE FUNCTION fold_rollups(p_most int) RETURNS int LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  n_folded int;
  emptied bigint[];
BEGIN
  PERFORM pg_advisory_xact_lock(6, hashint8(0));
  WITH taken AS (
    DELETE FROM evaluations_rollupdelta WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM evaluations_rollupdelta d LIMIT p_most))
    RETURNING *
  ), folded AS (
    INSERT INTO evaluations_dailyrollup AS r (
      account_id, day, evaluator_id, profile_name, app, error_code, arrived, n, n_scored, n_pass, n_fail, total, squares)
    SELECT t.account_id, t.day, t.evaluator_id, t.profile_name, t.app, t.error_code, t.arrived, sum(t.n), sum(t.n_scored),
      sum(t.n_pass), sum(t.n_fail), sum(t.total), sum(t.squares)
    FROM taken t GROUP BY 1, 2, 3, 4, 5, 6, 7
    ON CONFLICT (account_id, day, evaluator_id, profile_name, app, error_code, arrived) DO UPDATE SET
      n = r.n + excluded.n, n_scored = r.n_scored + excluded.n_scored, n_pass = r.n_pass + excluded.n_pass,
      n_fail = r.n_fail + excluded.n_fail, total = r.total + excluded.total, squares = r.squares + excluded.squares
    RETURNING r.id, (r.n, r.n_scored, r.n_pass, r.n_fail, r.total, r.squares) = (0, 0, 0, 0, 0, 0) AS is_empty
  )
  -- A portion may end between notes that belong together: then n is 0 for a while, and what else is counted is not.
  SELECT (SELECT count(*) FROM taken), array_agg(f.id) FILTER (WHERE f.is_empty) INTO n_folded, emptied FROM folded f;
  DELETE FROM evaluations_dailyrollup r WHERE r.id = ANY(emptied);
  RETURN n_folded;
END $$;

-- The counts of an account's days, both ends included; of one evaluator and profile where one is named.
CREATE OR REPLACE FUNCTION days_of(p_account bigint, p_first date, p_last date, p_evaluator text, p_profile text)
RETURNS TABLE (
  app text, evaluator_id text, profile_name text, day date, error_code text, n bigint, n_scored bigint, n_pass bigint,
  n_fail bigint, total double precision, squares double precision)
LANGUAGE sql STABLE SECURITY INVOKER AS $$
  SELECT b.app, b.evaluator_id, b.profile_name, b.day, b.error_code, sum(b.n)::bigint, sum(b.n_scored)::bigint,
    sum(b.n_pass)::bigint, sum(b.n_fail)::bigint, sum(b.total)::double precision, sum(b.squares)::double precision
  FROM (
    SELECT r.app, r.evaluator_id, r.profile_name, r.day, r.error_code, r.n, r.n_scored, r.n_pass, r.n_fail, r.total, r.squares
    FROM evaluations_dailyrollup r WHERE r.account_id = p_account AND r.day BETWEEN p_first AND p_last
      AND (p_evaluator IS NULL OR r.evaluator_id = p_evaluator AND r.profile_name = p_profile)
    UNION ALL
    SELECT d.app, d.evaluator_id, d.profile_name, d.day, d.error_code, d.n, d.n_scored, d.n_pass, d.n_fail, d.total, d.squares
    FROM evaluations_rollupdelta d WHERE d.account_id = p_account AND d.day BETWEEN p_first AND p_last
      AND (p_evaluator IS NULL OR d.evaluator_id = p_evaluator AND d.profile_name = p_profile)
  ) b GROUP BY 1, 2, 3, 4, 5 HAVING sum(b.n) <> 0
$$;

-- What evaluations with these ids add to their days beyond what is counted, which should be nothing: null for all ids.
-- Ranges begin and end with months. Told within one snapshot, the difference is what was counted wrongly, whatever is
-- written meanwhile: that changes both sides alike.
CREATE OR REPLACE FUNCTION differing_rollups(p_low bigint, p_high bigint)
RETURNS TABLE (
  account_id bigint, day date, arrived date, app text, evaluator_id text, profile_name text, error_code text, n bigint,
  n_scored bigint, n_pass bigint, n_fail bigint, total numeric, squares numeric)
LANGUAGE sql STABLE SECURITY INVOKER AS $$
  SELECT b.account_id, b.day, b.arrived, b.app, b.evaluator_id, b.profile_name, b.error_code, sum(b.n)::bigint,
    sum(b.n_scored)::bigint, sum(b.n_pass)::bigint, sum(b.n_fail)::bigint, sum(b.total), sum(b.squares)
  FROM (
    SELECT e.account_id, r.day, r.arrived, r.app, e.evaluator_id, r.profile_name, r.error_code, 1 AS n, r.n_scored, r.n_pass,
      r.n_fail, r.total, r.squares
    FROM evaluations_evaluation e, LATERAL rollup_of(
      e.id, e.created_at, e.app, e.profile_name,
      rollup_code(e.evaluation_type, e.error_code, e.in_history, e.passed, e.extra),
      e.in_history, e.score, e.passed) r
    WHERE e.captured AND e.id >= coalesce(p_low, -9223372036854775808) AND e.id < coalesce(p_high, 9223372036854775807)
    UNION ALL
    SELECT k.account_id, k.day, k.arrived, k.app, k.evaluator_id, k.profile_name, k.error_code, -k.n, -k.n_scored, -k.n_pass,
      -k.n_fail, -k.total, -k.squares
    FROM (
      SELECT r.account_id, r.day, r.arrived, r.app, r.evaluator_id, r.profile_name, r.error_code, r.n, r.n_scored, r.n_pass,
        r.n_fail, r.total, r.squares FROM evaluations_dailyrollup r
      UNION ALL
      SELECT d.account_id, d.day, d.arrived, d.app, d.evaluator_id, d.profile_name, d.error_code, d.n, d.n_scored, d.n_pass,
        d.n_fail, d.total, d.squares FROM evaluations_rollupdelta d) k
    WHERE (p_low IS NULL OR k.arrived >= month_of(p_low)) AND (p_high IS NULL OR k.arrived < month_of(p_high))
  ) b GROUP BY b.account_id, b.day, b.arrived, b.app, b.evaluator_id, b.profile_name, b.error_code
  HAVING (sum(b.n), sum(b.n_scored), sum(b.n_pass), sum(b.n_fail), sum(b.total), sum(b.squares)) <> (0, 0, 0, 0, 0, 0)
$$;

-- Forget the counts of evaluations with ids of before a month's first, as they went without a trigger.
CREATE OR REPLACE FUNCTION forget_rollups(p_until bigint) RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  DELETE FROM evaluations_rollupdelta WHERE arrived < month_of(p_until);
  DELETE FROM evaluations_dailyrollup WHERE arrived < month_of(p_until);
$$;
