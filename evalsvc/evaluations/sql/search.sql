-- A tag as a number, so that an index of tags holds texts of any length, and leads with the account: one account's
-- lookup never walks another's rows. Two tags may share a number; whoever looks one up compares the tags as well.
CREATE OR REPLACE FUNCTION tag_digests(p_account bigint, p_tags jsonb)
RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
  SELECT CASE WHEN jsonb_typeof(p_tags) = 'object' THEN (
    SELECT array_agg(hashtextextended(tag.value, hashtextextended(tag.key, p_account))) FROM jsonb_each_text(p_tags) tag
  ) END
$$;

-- The requests of the account in force that have all of some tags; any so many of them. SECURITY DEFINER: row-level
-- security would let an index on tags answer only after every row had been checked, that is, never.
CREATE OR REPLACE FUNCTION tagged_requests(p_tags jsonb, p_most int)
RETURNS SETOF bigint LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = public, pg_temp SET enable_seqscan = off AS $$
  SELECT q.id FROM evaluations_evaluationrequest q
  WHERE q.account_id = nullif(current_setting('app.account_id', true), '')::bigint AND q.tags IS NOT NULL
    AND tag_digests(q.account_id, q.tags)
      @> tag_digests(nullif(current_setting('app.account_id', true), '')::bigint, p_tags)
    AND q.tags @> p_tags
  LIMIT p_most
$$;
