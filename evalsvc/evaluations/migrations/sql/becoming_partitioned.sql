-- Let a table that Django has made be the first partition of one of its name, which gets its columns, indexes and rights.
CREATE FUNCTION become_partitioned(p_parent text, p_key text, p_high bigint)
RETURNS void LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  name text := partition_name_of(p_parent, NULL, p_high);
  suffix text := substr(name, length(p_parent) + 1);
  one record;
BEGIN
  EXECUTE format('ALTER TABLE %I RENAME TO %I', p_parent, name);
  FOR one IN SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = name::regclass LOOP
    EXECUTE format('ALTER INDEX %I RENAME TO %I', one.relname, one.relname || suffix);
  END LOOP;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE) PARTITION BY RANGE (%I)',
    p_parent, name, p_key);
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT ck_before_partitions', p_parent);
  FOR one IN
    SELECT pg_get_indexdef(i.indexrelid) AS definition, pg_get_constraintdef(k.oid) AS key, k.contype,
      left(c.relname, -length(suffix)) AS name
    FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.conrelid = i.indrelid
    WHERE i.indrelid = name::regclass
  LOOP
    IF one.key IS NULL THEN
      EXECUTE regexp_replace(one.definition, 'INDEX \S+ ON \S+ USING', format('INDEX %I ON %I USING', one.name, p_parent));
    ELSIF one.contype = 'p' THEN
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', p_parent, one.name, one.key);
    END IF;
  END LOOP;
  FOR one IN
    SELECT a.privilege_type, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END AS grantee
    FROM pg_class c, aclexplode(c.relacl) a WHERE c.oid = name::regclass AND a.grantee <> c.relowner
  LOOP
    EXECUTE format('GRANT %s ON %I TO %s', one.privilege_type, p_parent, one.grantee);
  END LOOP;
  PERFORM copy_table(name, suffix, p_parent || '_default', '_default');
  EXECUTE format('ALTER TABLE %I DROP CONSTRAINT ck_before_partitions', p_parent || '_default');
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I DEFAULT', p_parent, p_parent || '_default');
  PERFORM seal_partition(name);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', p_parent, name, p_high);
END $$;
