-- The tables that grow are partitioned by id, a month to a partition: ids are milliseconds. Partitions follow each other
-- without a gap: the first one is open to the past, and what is later than the last one goes to the default partition,
-- from which none is missing as long as `make_partitions` is called now and then. The default partition is also the
-- pattern of all others: it has what a parent cannot have, storage options and keys without the id.
-- Nobody but the owner may touch a partition by its own name: policies are the parent's.

CREATE OR REPLACE FUNCTION partitioned_tables() RETURNS TABLE (parent text, key text) LANGUAGE sql IMMUTABLE AS $$
  VALUES ('evaluations_historyscore', 'id'), ('evaluations_evaluationrequest', 'id'), ('evaluations_evaluation', 'id'),
    ('evaluations_evaluationtag', 'evaluation_id')
$$;

-- The partitions of a table, without the default one: ids from `low` (null: the first one) to before `high`.
CREATE OR REPLACE FUNCTION partitions_of(p_parent text)
RETURNS TABLE (partition_name text, low bigint, high bigint) LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
  SELECT c.relname::text, (regexp_match(b.bounds, 'FROM \(''?(-?\d+)'))[1]::bigint,
    (regexp_match(b.bounds, 'TO \(''?(-?\d+)'))[1]::bigint
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid, LATERAL (SELECT pg_get_expr(c.relpartbound, c.oid) AS bounds) b
  WHERE i.inhparent = to_regclass(p_parent) AND b.bounds <> 'DEFAULT' ORDER BY 3
$$;

CREATE OR REPLACE FUNCTION start_of_month(p_id bigint, p_months int DEFAULT 0) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT id_at((date_trunc('month', to_timestamp(((p_id >> 22) + 1767225600000) / 1000.0) AT TIME ZONE 'UTC')
    + p_months * interval '1 month') AT TIME ZONE 'UTC')
$$;

CREATE OR REPLACE FUNCTION partition_name_of(p_parent text, p_low bigint, p_high bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT p_parent || CASE WHEN p_low IS NULL THEN '_until_' ELSE '_' END
    || to_char(to_timestamp((coalesce(p_low, p_high) >> 22) / 1000 + 1767225600) AT TIME ZONE 'UTC', 'YYYY_MM')
$$;

-- Take every right and every policy from a partition: row-level security without a policy shows nobody anything.
CREATE OR REPLACE FUNCTION seal_partition(p_name text) RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  one record;
BEGIN
  EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', p_name);
  FOR one IN SELECT polname FROM pg_policy WHERE polrelid = p_name::regclass LOOP
    EXECUTE format('DROP POLICY %I ON %I', one.polname, p_name);
  END LOOP;
  FOR one IN
    SELECT DISTINCT CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = p_name::regclass AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('REVOKE ALL ON %I FROM %s', p_name, one.grantee);
  END LOOP;
END $$;

-- The name of a partition's index: the index's own and the partition's suffix. PostgreSQL would cut off what is too long,
-- the suffix first, and two partitions would have one name.
CREATE OR REPLACE FUNCTION index_name_of(p_index text, p_suffix text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN octet_length(p_index || p_suffix) < 64 THEN p_index || p_suffix
    ELSE left(p_index, 54 - octet_length(p_suffix)) || '_' || left(md5(p_index), 8) || p_suffix END
$$;

-- Make an empty table like another one, with its indexes under names that end in its own suffix.
CREATE OR REPLACE FUNCTION copy_table(p_pattern text, p_old_suffix text, p_name text, p_new_suffix text)
RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  one record;
BEGIN
  EXECUTE format(
    'CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION) %s',
    p_name, p_pattern, (SELECT 'WITH (' || array_to_string(reloptions, ', ') || ')' FROM pg_class WHERE oid = p_pattern::regclass));
  FOR one IN
    SELECT pg_get_indexdef(i.indexrelid) AS definition, pg_get_constraintdef(k.oid) AS key,
      index_name_of(regexp_replace(c.relname, p_old_suffix || '$', ''), p_new_suffix) AS name
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
    WHERE i.indrelid = p_pattern::regclass
  LOOP
    IF one.key IS NULL THEN
      EXECUTE regexp_replace(one.definition, 'INDEX \S+ ON \S+ USING', format('INDEX %I ON %I USING', one.name, p_name));
    ELSE
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', p_name, one.name, one.key);
    END IF;
  END LOOP;
  PERFORM seal_partition(p_name);
END $$;

-- Let a table be the partition of these ids. An evaluation stands in the partition that its request stands in: so the
-- unique (request, position) of each partition is unique in all of them.
CREATE OR REPLACE FUNCTION attach_partition(p_parent text, p_name text, p_low bigint, p_high bigint)
RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  IF p_parent = 'evaluations_evaluation' THEN
    EXECUTE format('ALTER TABLE %I ADD CONSTRAINT ck_evaluation_with_request CHECK (%s request_id < %s)',
      p_name, coalesce('request_id >= ' || p_low || ' AND', ''), p_high);
  END IF;
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
    p_parent, p_name, coalesce(p_low::text, 'MINVALUE'), p_high);
END $$;

-- Rows came before their partition was made: let the default partition be theirs as it is, and begin an empty one. None is
-- rewritten. What is of a month that is not due yet, by a clock that ran ahead, stays in the default.
CREATE OR REPLACE FUNCTION settle_default(p_parent text, p_key text, p_low bigint, p_high bigint)
RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  old text := p_parent || '_default';
  name text := partition_name_of(p_parent, p_low, p_high);
  one record;
BEGIN
  EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', p_parent, old);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', old, name);
  FOR one IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = name::regclass LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', one.relname,
      index_name_of(regexp_replace(one.relname, '_default$', ''), substr(name, length(p_parent) + 1)));
  END LOOP;
  PERFORM copy_table(name, substr(name, length(p_parent) + 1), old, '_default');
  EXECUTE format('WITH ahead AS (DELETE FROM %I WHERE %I >= %s RETURNING *) INSERT INTO %I SELECT * FROM ahead',
    name, p_key, p_high, old);
  PERFORM attach_partition(p_parent, name, p_low, p_high);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', p_parent, old);
END $$;

-- Make the partitions of this month and of the months after it; return the names of those that are new. Waits three
-- seconds for a lock, and fails then: everybody else would wait behind it. To be called again, and from anywhere.
CREATE OR REPLACE FUNCTION make_partitions(p_months int DEFAULT 3)
RETURNS text[] LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '3s' AS $$
DECLARE
  one record;
  top bigint;
  next bigint;
  newest bigint;
  ends bigint := start_of_month(id_at(clock_timestamp()), p_months + 1);
  made text[] := '{}';
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('make_partitions', 0));
  FOR one IN SELECT * FROM partitioned_tables() LOOP
    LOOP
      SELECT max(p.high) INTO top FROM partitions_of(one.parent) p;
      EXIT WHEN top >= ends;
      EXECUTE format('SELECT max(%1$I) FROM %2$I WHERE %1$I >= %3$s AND %1$I < %4$s', one.key, one.parent || '_default', top, ends)
        INTO newest;
      next := start_of_month(coalesce(newest, top), 1);
      made := made || partition_name_of(one.parent, top, next);
      IF newest IS NULL THEN
        PERFORM copy_table(one.parent || '_default', '_default', made[cardinality(made)],
          substr(made[cardinality(made)], length(one.parent) + 1));
        PERFORM attach_partition(one.parent, made[cardinality(made)], top, next);
      ELSE
        PERFORM settle_default(one.parent, one.key, top, next);
      END IF;
    END LOOP;
  END LOOP;
  RETURN made;
END $$;

-- The rows that stand in default partitions, which should be none: (table, id, account), at most so many of each table.
CREATE OR REPLACE FUNCTION rows_without_partition(p_most int DEFAULT 1000)
RETURNS TABLE (parent text, id bigint, account_id bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
  one record;
BEGIN
  FOR one IN SELECT * FROM partitioned_tables() LOOP
    RETURN QUERY EXECUTE format('SELECT %L::text, %I, account_id FROM %I LIMIT %s', one.parent, one.key, one.parent || '_default', p_most);
  END LOOP;
END $$;
