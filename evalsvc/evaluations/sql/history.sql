-- Histories: how a score enters one, and how they are read. See sql/functions.sql for how these are planned.

-- What becomes a row of a history, in the order of its columns. `history_entry` is what processes of the last release
-- write.
DO $$ BEGIN
  CREATE TYPE history_entry AS (
    id bigint, evaluator_id text, profile_name text, revision int, score double precision, passed boolean, source text,
    source_id bigint, trial boolean, app text, project_id uuid, experiment_id bigint, config_id bigint, output_id bigint,
    created_at timestamptz);
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
DO $$ BEGIN
  CREATE TYPE history_row AS (
    id bigint, evaluator_id text, profile_name text, revision int, score double precision, passed boolean, source text,
    source_id bigint, trial boolean, app text, project_id uuid, experiment_id bigint, config_id bigint, output_id bigint,
    created_at timestamptz, sample_hash bigint, batch_id bigint, probability double precision);
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
-- As it was made before scores had a probability, in no release.
DO $$ BEGIN
  ALTER TYPE history_row ADD ATTRIBUTE probability double precision;
EXCEPTION WHEN duplicate_column THEN NULL;
END $$;

-- The id of an evaluation's row in the history: its own, as both sort by time. What was scored elsewhere, and is kept
-- here later, has a number of the time that it is of: "newest first" is then true of it, however shuffled it comes in.
CREATE OR REPLACE FUNCTION history_id(p_made_elsewhere boolean, p_created_at timestamptz, p_id bigint)
RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN NOT p_made_elsewhere THEN p_id ELSE
    (least(floor(extract(epoch FROM p_created_at) * 1000)::bigint - 1767225600000, p_id >> 22) << 22) | (p_id & 4194303) END
$$;

-- Write scores to the history: the only way in, but for what a capture writes with its own statement. What a config
-- answered is one row for each evaluator and profile, however many metrics read it and whoever scores it again; whether
-- it was promoted meanwhile changes nothing. Returns how many are new.
CREATE OR REPLACE FUNCTION insert_scores(p_account bigint, p_scores history_row[])
RETURNS int LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  n int;
BEGIN
  INSERT INTO evaluations_historyscore (account_id, {{entry}}) SELECT p_account, {{s.entry}} FROM unnest(p_scores) s
  WHERE NOT s.trial OR NOT EXISTS (
    SELECT 1 FROM evaluations_historyscore h WHERE h.account_id = p_account AND h.evaluator_id = s.evaluator_id
      AND h.profile_name = s.profile_name AND NOT h.trial AND h.id = s.id)
  ON CONFLICT (account_id, evaluator_id, profile_name, trial, id) DO NOTHING;
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;

-- As processes of the last release call it.
CREATE OR REPLACE FUNCTION remember_scores(p_account bigint, p_scores history_entry[])
RETURNS int LANGUAGE sql SECURITY INVOKER AS $$
  SELECT insert_scores(p_account, array_agg(ROW(s.*, NULL, NULL, NULL)::history_row)) FROM unnest(p_scores) s
$$;

-- What an answer needs of a row beside its id and score, as one number: the revision, where the score comes from, and
-- the verdict. A score made elsewhere that is undecided, as its evaluation says, has 3 in place of that where it is read.
CREATE OR REPLACE FUNCTION history_facts(p_revision int, p_source text, p_passed boolean)
RETURNS int LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN coalesce(p_revision, 0) * 16 + CASE p_source WHEN 'evaluation' THEN 0 WHEN 'experiment' THEN 4 ELSE 8 END
  + CASE WHEN p_passed THEN 2 WHEN NOT p_passed THEN 1 ELSE 0 END;

-- The newest 1000 scores of each asked-for history, as PostgreSQL's binary arrays of ids, of scores, of facts, of the
-- samples' hashes, of batches and of the probabilities with which rules drew them; null where none is wanted. A row
-- without a hash or a batch has its id in place of it, and one that no rule drew the probability 1; `probabilities` is
-- null where a rule drew none of them. Without experiments. A caller that holds a history as of a snapshot gets only what that snapshot
-- could not see: rows are written by concurrent transactions and do not become visible in the order of their ids, but
-- a snapshot knows exactly which transactions it has seen, except for its own: a transaction that has written already hands no snapshot out, as
-- what it writes next would count as seen. `p_before` answers as of an earlier request instead: ids sort by time.
CREATE OR REPLACE FUNCTION newest_scores(
  p_account bigint, p_evaluators text[], p_profiles text[], p_snapshots text[], p_before bigint,
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT hashes bytea[], OUT batches bytea[],
  OUT probabilities bytea[], OUT snapshots text[], OUT are_new boolean[]
) LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
  some_ids bytea;
  some_scores bytea;
  some_facts bytea;
  some_hashes bytea;
  some_batches bytea;
  some_probabilities bytea;
  seen pg_snapshot;
  taken text;
  n bigint;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  FOR i IN 1 .. coalesce(array_length(p_evaluators, 1), 0) LOOP
    some_ids := NULL; some_scores := NULL; some_facts := NULL; some_hashes := NULL; some_batches := NULL;
    some_probabilities := NULL; taken := NULL; seen := p_snapshots[i]::pg_snapshot; n := 0;
    IF seen IS NOT NULL THEN
      SELECT count(*), array_send(array_agg(unseen.id)), array_send(array_agg(unseen.score)),
        array_send(array_agg(unseen.facts)), array_send(array_agg(unseen.hash)), array_send(array_agg(unseen.batch)),
        CASE WHEN count(unseen.probability) > 0 THEN array_send(array_agg(coalesce(unseen.probability, 1))) END,
        pg_current_snapshot()::text
      INTO n, some_ids, some_scores, some_facts, some_hashes, some_batches, some_probabilities, taken FROM (
        SELECT h.id, h.score, history_facts(h.revision, h.source, h.passed)
            + CASE WHEN h.source = 'import' AND h.passed IS NULL AND EXISTS (
              SELECT FROM evaluations_evaluation e
              WHERE e.account_id = p_account AND e.id = h.source_id AND e.extra ? 'undecided') THEN 3 ELSE 0 END AS facts,
          coalesce(h.sample_hash, h.id) AS hash, coalesce(h.batch_id, h.id) AS batch, h.probability
        FROM evaluations_historyscore h
        WHERE h.account_id = p_account AND h.evaluator_id = p_evaluators[i] AND h.profile_name = p_profiles[i]
          AND NOT h.trial AND h.source <> 'experiment' AND h.xact >= pg_snapshot_xmin(seen) AND NOT pg_visible_in_snapshot(h.xact, seen)
        LIMIT 1000
      ) unseen;
    END IF;
    -- So much is new, or nothing is known: read all of it.
    IF p_evaluators[i] IS NOT NULL AND (seen IS NULL OR n = 1000) THEN
      seen := NULL;
      SELECT array_send(array_agg(newest.id)), array_send(array_agg(newest.score)), array_send(array_agg(newest.facts)),
        array_send(array_agg(newest.hash)), array_send(array_agg(newest.batch)),
        CASE WHEN count(newest.probability) > 0 THEN array_send(array_agg(coalesce(newest.probability, 1))) END,
        pg_current_snapshot()::text
      INTO some_ids, some_scores, some_facts, some_hashes, some_batches, some_probabilities, taken FROM (
        SELECT h.id, h.score, history_facts(h.revision, h.source, h.passed)
            + CASE WHEN h.source = 'import' AND h.passed IS NULL AND EXISTS (
              SELECT FROM evaluations_evaluation e
              WHERE e.account_id = p_account AND e.id = h.source_id AND e.extra ? 'undecided') THEN 3 ELSE 0 END AS facts,
          coalesce(h.sample_hash, h.id) AS hash, coalesce(h.batch_id, h.id) AS batch, h.probability
        FROM evaluations_historyscore h
        WHERE h.account_id = p_account AND h.evaluator_id = p_evaluators[i] AND h.profile_name = p_profiles[i]
          AND NOT h.trial AND h.source <> 'experiment' AND h.id < coalesce(p_before, 9223372036854775807)
        ORDER BY h.id DESC LIMIT 1000
      ) newest;
    END IF;
    IF pg_current_xact_id_if_assigned() IS NOT NULL THEN
      taken := NULL;
    END IF;
    ids := ids || some_ids; scores := scores || some_scores; facts := facts || some_facts;
    hashes := hashes || some_hashes; batches := batches || some_batches;
    probabilities := probabilities || some_probabilities; snapshots := snapshots || taken;
    are_new := are_new || (seen IS NOT NULL);
  END LOOP;
END $$;

-- The newest scores of each asked-for history within a window: of an app, a project, an experiment or tags, from an id or
-- a revision on, with or without what experiments have tried. p_window: {include: none | promoted | all, most, app,
-- project, experiment, tags, from_id, revision, without: an experiment, cluster_by: the name of a tag}. `clusters` are the
-- values of that tag as numbers, or the id of a row without it. `chosen` is the largest number of configs among which
-- one with promoted scores in the window was chosen. Planned for the values at hand, as what fits
-- one window walks a million rows for another; in the order of an index, whatever the statistics say.
CREATE OR REPLACE FUNCTION scores_in_window(
  p_account bigint, p_evaluators text[], p_profiles text[], p_window jsonb, p_before bigint,
  OUT ids bytea[], OUT scores bytea[], OUT facts bytea[], OUT hashes bytea[], OUT batches bytea[],
  OUT probabilities bytea[], OUT clusters bytea[], OUT chosen int[]
) LANGUAGE plpgsql SECURITY INVOKER SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
  some_ids bytea;
  some_scores bytea;
  some_facts bytea;
  some_hashes bytea;
  some_batches bytea;
  some_probabilities bytea;
  some_clusters bytea;
  some_experiments bigint[];
  n_configs int;
  digests bigint[];
  key text := 'h.id';
  source text := 'evaluations_historyscore h';
  -- Not seen by the planner: of a history that began after the table was analyzed it would expect one row, and any index
  -- of the history would do.
  conditions text := 'h.account_id = (SELECT $1) AND h.evaluator_id = (SELECT $2) AND h.profile_name = (SELECT $3)';
  tagged text := 'NULL::bytea';
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
    -- Begin with the tag that the fewest evaluations have, as far as that can be told in a moment. Only the index that
    -- begins with the tag has the order, so that none is read whose rows are of the account's other tags as well.
    SELECT array_agg(d.digest ORDER BY d.n) INTO digests FROM (
      SELECT t.digest, (SELECT count(*) FROM (
        SELECT 1 FROM evaluations_evaluationtag e WHERE e.account_id = (SELECT p_account) AND e.digest = t.digest
        ORDER BY e.created_at DESC, e.evaluation_id DESC LIMIT 5000) met) AS n
      FROM (SELECT tag_digest(p_account, tag.key, tag.value) AS digest FROM jsonb_each_text(p_window->'tags') tag) t) d;
    -- In the order of the tag, each score by its key (OFFSET 0).
    source := 'evaluations_evaluationtag g, LATERAL (SELECT s.* FROM evaluations_historyscore s'
      ' WHERE s.account_id = $1 AND s.evaluator_id = $2 AND s.profile_name = $3 AND NOT s.trial AND s.id = g.score_id'
      ' OFFSET 0) h';
    conditions := conditions || format(
      ' AND g.account_id = (SELECT $1) AND g.history = history_tag(%L::bigint, $2, $3)', digests[1]);
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
  rows := 'SELECT ' || key || ' AS id, h.score, history_facts(h.revision, h.source, h.passed)'
    ' + CASE WHEN h.source = ''import'' AND h.passed IS NULL AND EXISTS (SELECT FROM evaluations_evaluation u'
    ' WHERE u.account_id = $1 AND u.id = h.source_id AND u.extra ? ''undecided'') THEN 3 ELSE 0 END AS facts,'
    ' coalesce(h.sample_hash, h.id) AS hash, coalesce(h.batch_id, h.id) AS batch, h.probability, h.source_id,'
    ' CASE WHEN h.source = ''experiment'' AND NOT h.trial THEN h.experiment_id END AS promoted FROM ' || source
    || ' WHERE ' || conditions || ' AND ';
  newest := ' ORDER BY id DESC LIMIT ' || least(1000, coalesce((p_window->>'most')::int, 1000));
  newest := CASE p_window->>'include' WHEN 'none' THEN rows || 'NOT h.trial AND h.source <> ''experiment''' || newest
    WHEN 'promoted' THEN rows || 'NOT h.trial' || newest
    ELSE '(' || rows || 'NOT h.trial' || newest || ') UNION ALL (' || rows || 'h.trial' || newest || ')' || newest END;
  IF p_window ? 'cluster_by' THEN
    tagged := format('array_send(array_agg(coalesce((SELECT tag_digest($1, %1$L, q.tags->>%1$L) FROM evaluations_evaluation e'
      ' JOIN evaluations_evaluationrequest q ON q.account_id = $1 AND q.id = e.request_id'
      ' WHERE e.account_id = $1 AND e.id = n.source_id), n.id)))', p_window->>'cluster_by');
  END IF;
  FOR i IN 1 .. coalesce(array_length(p_evaluators, 1), 0) LOOP
    some_ids := NULL; some_scores := NULL; some_facts := NULL; some_hashes := NULL; some_batches := NULL;
    some_probabilities := NULL; some_clusters := NULL; some_experiments := NULL; n_configs := NULL;
    IF p_evaluators[i] IS NOT NULL THEN
      EXECUTE 'SELECT array_send(array_agg(n.id)), array_send(array_agg(n.score)), array_send(array_agg(n.facts)),'
        ' array_send(array_agg(n.hash)), array_send(array_agg(n.batch)), CASE WHEN count(n.probability) > 0 THEN'
        ' array_send(array_agg(coalesce(n.probability, 1))) END, ' || tagged || ', array_agg(n.promoted)'
        ' FILTER (WHERE n.promoted IS NOT NULL) FROM (' || newest || ') n'
        INTO some_ids, some_scores, some_facts, some_hashes, some_batches, some_probabilities, some_clusters,
          some_experiments
        USING p_account, p_evaluators[i], p_profiles[i];
      IF some_experiments IS NOT NULL THEN
        -- What was confirmed on other examples was not selected by these.
        SELECT max(k.n) INTO n_configs FROM (SELECT count(*) AS n FROM experiments_config c
          JOIN experiments_experimentplan p ON p.experiment_id = c.experiment_id AND p.confirm IS NULL
          WHERE c.account_id = p_account AND c.experiment_id = ANY(some_experiments) GROUP BY c.experiment_id) k;
      END IF;
    END IF;
    ids := ids || some_ids; scores := scores || some_scores; facts := facts || some_facts;
    hashes := hashes || some_hashes; batches := batches || some_batches;
    probabilities := probabilities || some_probabilities; clusters := clusters || some_clusters; chosen := chosen || n_configs;
  END LOOP;
END $$;

-- What a config was worth belongs to production from now on: its trials, under these evaluators and profiles, become
-- rows of the histories. They carry this transaction, so that processes which remember a history see them as new.
-- p_outputs: null for all of the config, or the outputs that enter. Processes of 0.4 call the function of five parameters.
CREATE OR REPLACE FUNCTION promote_scores(
  p_account bigint, p_evaluators text[], p_profiles text[], p_experiment bigint, p_config bigint, p_outputs bigint[])
RETURNS int LANGUAGE plpgsql SECURITY INVOKER AS $$
DECLARE
  n int;
BEGIN
  PERFORM set_config('app.account_id', p_account::text, true);
  UPDATE evaluations_historyscore h SET trial = false, xact = pg_current_xact_id()
  FROM unnest(p_evaluators, p_profiles) AS asked(evaluator_id, profile_name)
  WHERE h.account_id = p_account AND h.evaluator_id = asked.evaluator_id AND h.profile_name = asked.profile_name
    AND h.experiment_id = p_experiment AND h.trial AND h.config_id = p_config
    AND (p_outputs IS NULL OR h.output_id = ANY (p_outputs));
  GET DIAGNOSTICS n = ROW_COUNT;
  RETURN n;
END $$;
