-- One question to a node of a pipeline is asked once in an experiment, by whoever comes first.

-- Take the stage of a key for a unit: its answer, if there is one, else the lease of whoever asks. The caller has it when
-- the row names the caller's token. A lease holds as long as that of its unit: when a worker dies, the next one asks.
CREATE OR REPLACE FUNCTION take_stage(
  p_account bigint, p_experiment bigint, p_key text, p_config bigint, p_pos int, p_unit bigint, p_token uuid)
RETURNS SETOF experiments_stageoutput LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  stage experiments_stageoutput;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  SELECT s.* INTO stage FROM experiments_stageoutput s WHERE s.experiment_id = p_experiment AND s.key = p_key;
  IF stage.output IS NULL THEN
    INSERT INTO experiments_stageoutput AS s (account_id, experiment_id, key, config_id, pos, unit_id, token)
    VALUES (p_account, p_experiment, p_key, p_config, p_pos, p_unit, p_token)
    ON CONFLICT (experiment_id, key) DO UPDATE
      SET config_id = excluded.config_id, pos = excluded.pos, unit_id = excluded.unit_id, token = excluded.token
      WHERE s.output IS NULL AND NOT EXISTS (
        SELECT 1 FROM experiments_workunit u
        WHERE u.id = s.unit_id AND u.token = s.token AND u.state IN ('leased', 'scoring')
          AND u.lease_expires_at > clock_timestamp())
    RETURNING s.* INTO stage;
    IF NOT FOUND THEN
      SELECT s.* INTO stage FROM experiments_stageoutput s WHERE s.experiment_id = p_experiment AND s.key = p_key;
    END IF;
  END IF;
  IF stage.id IS NOT NULL THEN
    RETURN NEXT stage;
  END IF;
END $$;

-- Keep the answer of a stage that is held with this token; a lease that has passed to another writes nothing.
CREATE OR REPLACE FUNCTION answer_stage(
  p_account bigint, p_stage bigint, p_token uuid, p_output jsonb, p_latency_ms double precision, p_input_tokens int,
  p_output_tokens int, p_cost double precision)
RETURNS boolean LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  UPDATE experiments_stageoutput s SET output = p_output, latency_ms = p_latency_ms, input_tokens = p_input_tokens,
    output_tokens = p_output_tokens, cost = p_cost
  WHERE s.account_id = p_account AND s.id = p_stage AND s.token = p_token AND s.output IS NULL;
  RETURN FOUND;
END $$;

-- Give a stage back that has no answer: whoever waits for it asks.
CREATE OR REPLACE FUNCTION give_up_stage(p_account bigint, p_stage bigint, p_token uuid)
RETURNS boolean LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  DELETE FROM experiments_stageoutput s
  WHERE s.account_id = p_account AND s.id = p_stage AND s.token = p_token AND s.output IS NULL;
  RETURN FOUND;
END $$;
