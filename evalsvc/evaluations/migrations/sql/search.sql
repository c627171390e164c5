-- Only 0004_places asks for this; tags.sql is in its place since 0006_tags.
-- A tag as a number, so that an index of tags holds texts of any length, and leads with the account: one account's
-- lookup never walks another's rows. Two tags may share a number; whoever looks one up compares the tags as well.
CREATE OR REPLACE FUNCTION tag_digests(p_account bigint, p_tags jsonb)
RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog AS $$
  SELECT CASE WHEN jsonb_typeof(p_tags) = 'object' THEN (
    SELECT array_agg(hashtextextended(tag.value, hashtextextended(tag.key, p_account))) FROM jsonb_each_text(p_tags) tag
  ) END
$$;
