-- Drop the partitions of a table in which all ids are of before `p_until`, and leave an empty one in their place, open to
-- the past as the first one was: what is imported with an old time has its partition. Returns the names of those dropped.
-- Whether all accounts' rules have passed is for the caller to know; that a day has passed is made sure of here. Waits three
-- seconds for a lock, and fails then, as `make_partitions`: to be called again.
CREATE OR REPLACE FUNCTION drop_partitions(p_parent text, p_until bigint)
RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
  top bigint;
  names text[];
  name text;
  is_empty boolean;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM partitioned_tables() t WHERE t.parent = p_parent) THEN
    RAISE EXCEPTION 'no partitioned table: %', p_parent;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('make_partitions', 0));
  SELECT max(p.high), array_agg(p.partition_name) INTO top, names FROM partitions_of(p_parent) p
  WHERE p.high <= least(p_until, id_at(clock_timestamp() - interval '1 day'));
  IF top IS NULL THEN
    RETURN '{}';
  END IF;
  IF cardinality(names) = 1 THEN
    EXECUTE format('SELECT NOT EXISTS (SELECT 1 FROM %I)', names[1]) INTO is_empty;
    IF is_empty THEN
      RETURN '{}';
    END IF;
  END IF;
  FOREACH name IN ARRAY names LOOP
    EXECUTE format('DROP TABLE %I', name);
  END LOOP;
  IF p_parent = 'evaluations_evaluation' THEN
    PERFORM forget_rollups(top);
  END IF;
  name := partition_name_of(p_parent, NULL, top);
  PERFORM copy_table(p_parent || '_default', '_default', name, substr(name, length(p_parent) + 1));
  PERFORM attach_partition(p_parent, name, NULL, top);
  RETURN names;
END $$;
