-- Metrics that were added after the plan was made: which outputs wait for them, and how far they have come. They are
-- written by `record_unit`, as every score is. Whoever calls these functions holds the config's row.

-- The names of the metrics that a plan began with.
CREATE OR REPLACE FUNCTION planned_metrics(p_experiment bigint) RETURNS text[] LANGUAGE sql STABLE SECURITY INVOKER AS $$
  SELECT array_agg(m.row ->> 'name') FROM experiments_experimentplan p
  CROSS JOIN LATERAL jsonb_array_elements(p.metrics) AS m(row)
  WHERE p.experiment_id = p_experiment AND coalesce((m.row ->> 'addition')::int, 0) = 0;
$$;

-- Let outputs wait for added metrics: those at these positions (null: all that the config has), for one addition or for
-- all. Numbers that the caller sends need no worker; that an output has failed is noted without the caller.
CREATE OR REPLACE FUNCTION open_added_units(p_config experiments_config, p_positions int[], p_number int)
RETURNS void LANGUAGE sql SECURITY INVOKER AS $$
  INSERT INTO experiments_workunit (
    account_id, experiment_id, config_id, addition, from_pos, to_pos, state, attempt, epoch, created_at)
  SELECT p_config.account_id, p_config.experiment_id, p_config.id, w.number, min(w.pos), max(w.pos) + 1, 'scoring', 0,
    p_config.epoch, clock_timestamp()
  FROM (
    SELECT d.number, d.unit_size, o.pos, o.pos - row_number() OVER (PARTITION BY d.number ORDER BY o.pos) AS island
    FROM experiments_addition d JOIN experiments_output o ON o.config_id = p_config.id
    WHERE d.experiment_id = p_config.experiment_id AND (p_number IS NULL OR d.number = p_number)
      AND (p_positions IS NULL OR o.pos = ANY (p_positions)) AND (NOT d.by_caller OR o.status <> 'ok')
  ) w
  WHERE p_config.state <> 'deleted'
  GROUP BY w.number, w.island, w.pos / w.unit_size;
$$;

-- Move the mark of added metrics over all positions that are scored without a gap, and add them to what inference reads.
CREATE OR REPLACE FUNCTION advance_addition(p_config experiments_config, p_number int)
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  added text[];
  known int;
  reached int;
BEGIN
  SELECT d.names INTO added FROM experiments_addition d
  WHERE d.experiment_id = p_config.experiment_id AND d.number = p_number;
  SELECT m.watermark INTO known FROM experiments_additionmark m WHERE m.config_id = p_config.id AND m.number = p_number;
  known := coalesce(known, 0);
  -- What was added together is written together, so one of the names stands for all.
  SELECT max(t.pos) + 1 INTO reached FROM (
    SELECT s.pos, known + row_number() OVER (ORDER BY s.pos) - 1 AS place
    FROM experiments_score s WHERE s.config_id = p_config.id AND s.metric = added[1] AND s.pos >= known
  ) t WHERE t.pos = t.place;
  IF reached > known THEN
    PERFORM add_between(p_config, known, reached, added);
    INSERT INTO experiments_additionmark AS m (account_id, config_id, number, watermark)
    VALUES (p_config.account_id, p_config.id, p_number, reached)
    ON CONFLICT (config_id, number) DO UPDATE SET watermark = excluded.watermark;
  END IF;
END $$;

-- End the lease of a unit whose scores of added metrics have been written, or give it back if some are missing.
CREATE OR REPLACE FUNCTION close_added_unit(p_unit experiments_workunit, p_config experiments_config)
RETURNS void LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  n_scored int;
BEGIN
  SELECT count(*) INTO n_scored FROM experiments_addition d
  JOIN experiments_score s ON s.config_id = p_unit.config_id AND s.metric = d.names[1]
    AND s.pos >= p_unit.from_pos AND s.pos < p_unit.to_pos
  WHERE d.experiment_id = p_unit.experiment_id AND d.number = p_unit.addition;
  UPDATE experiments_workunit u
  SET state = CASE WHEN n_scored = u.to_pos - u.from_pos THEN 'done' ELSE 'scoring' END, token = NULL,
    lease_expires_at = NULL
  WHERE u.id = p_unit.id;
  PERFORM advance_addition(p_config, p_unit.addition);
END $$;

-- Write numbers that the caller worked out for outputs that are there: once each, and none for an output that failed.
CREATE OR REPLACE FUNCTION record_added_scores(p_account bigint, p_config bigint, p_number int, p_scores jsonb)
RETURNS int[] LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  config experiments_config;
  added text[];
  accepted int[];
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  SELECT c.* INTO config FROM experiments_config c
  WHERE c.account_id = p_account AND c.id = p_config AND c.state <> 'deleted' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    RETURN '{}';
  END IF;
  SELECT d.names INTO added FROM experiments_addition d
  WHERE d.experiment_id = config.experiment_id AND d.number = p_number AND d.by_caller;
  WITH written AS (
    INSERT INTO experiments_score AS s (
      account_id, experiment_id, config_id, pos, metric, value, denominator, error_code, error_message, created_at)
    SELECT p_account, config.experiment_id, config.id, r.pos, r.metric, r.value, r.denominator, r.error_code,
      r.error_message, clock_timestamp()
    FROM jsonb_populate_recordset(NULL::experiments_score, p_scores) r
    JOIN experiments_output o ON o.config_id = config.id AND o.pos = r.pos AND o.status = 'ok'
    WHERE r.metric = ANY (added) ORDER BY r.pos
    ON CONFLICT (config_id, metric, pos) DO NOTHING
    RETURNING s.pos
  )
  SELECT array_agg(w.pos ORDER BY w.pos) INTO accepted FROM written w;
  IF accepted IS NULL THEN
    RETURN '{}';
  END IF;
  PERFORM add_scores(p_account, config.id, 'all', min(t.pos), max(t.pos) + 1, added)
  FROM (SELECT a.pos, a.pos - row_number() OVER (ORDER BY a.pos) AS island FROM unnest(accepted) AS a(pos)) t
  GROUP BY t.island;
  PERFORM advance_addition(config, p_number);
  RETURN accepted;
END $$;
