-- The first day of the month of an id, by UTC.
CREATE OR REPLACE FUNCTION month_of(p_id bigint) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN date_trunc('month', timestamp '2026-01-01' + (p_id >> 22) * interval '1 millisecond')::date;

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
    c.id, c.created_at, c.app, c.profile_name, c.error_code, c.in_history, c.score, c.passed) r
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
    OLD.id, OLD.created_at, OLD.app, OLD.profile_name, OLD.error_code, OLD.in_history, OLD.score, OLD.passed) r
  WHERE OLD.captured
  UNION ALL
  SELECT NEW.account_id, r.day, r.arrived, r.app, NEW.evaluator_id, r.profile_name, r.error_code, 1, r.n_scored, r.n_pass,
    r.n_fail, r.total, r.squares
  FROM rollup_of(
    NEW.id, NEW.created_at, NEW.app, NEW.profile_name, NEW.error_code, NEW.in_history, NEW.score, NEW.passed) r
  WHERE NEW.captured;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER note_rollups_in AFTER INSERT ON evaluations_evaluation
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollups();
CREATE OR REPLACE TRIGGER note_rollups_out AFTER DELETE ON evaluations_evaluation
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION note_rollups();
-- Leases change none of these columns.
CREATE OR REPLACE TRIGGER note_rollups_change
  AFTER UPDATE OF captured, in_history, score, passed, error_code, created_at, app, evaluator_id, profile_name
  ON evaluations_evaluation FOR EACH ROW
  -- One by one: two rows compared are written otherwise after a restore, and a backup compares what is written.
  WHEN ((OLD.captured OR NEW.captured) AND (
    OLD.captured IS DISTINCT FROM NEW.captured OR OLD.in_history IS DISTINCT FROM NEW.in_history
    OR OLD.score IS DISTINCT FROM NEW.score OR OLD.passed IS DISTINCT FROM NEW.passed
    OR OLD.error_code IS DISTINCT FROM NEW.error_code OR OLD.created_at IS DISTINCT FROM NEW.created_at
    OR OLD.app IS DISTINCT FROM NEW.app OR OLD.evaluator_id IS DISTINCT FROM NEW.evaluator_id
    OR OLD.profile_name IS DISTINCT FROM NEW.profile_name))
  EXECUTE FUNCTION note_changed_rollup();
