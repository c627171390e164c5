-- A tag as a number of the account's own, so that an index of tags holds keys and texts of any length. Of a digest that
-- nobody can turn round: what two tags share by chance is 64 bits, and whoever writes one tag cannot aim at another.
-- Numbers are cast to text, as joining them to text is not immutable, and the function would be called, not inlined.
CREATE OR REPLACE FUNCTION tag_digest(p_account bigint, p_key text, p_value text)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  'x' || encode(substr(sha256(convert_to(p_account::text || ':' || length(p_key)::text || ':' || p_key || p_value, 'UTF8')), 1, 8), 'hex')
)::bit(64)::bigint;

-- The triggers that call these two belong to the table: migrations make them.
-- Of captured evaluations alone, so that a search by a tag need not look at them. Tags go with their evaluation, whoever
-- deletes it, and follow whoever changes its time or learns whether it is kept. The functions that write evaluations write
-- their tags themselves: a trigger on every insert would cost calls without tags.
CREATE OR REPLACE FUNCTION forget_tags() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  DELETE FROM evaluations_evaluationtag t USING gone
  WHERE t.account_id = gone.account_id AND t.evaluation_id = gone.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION keep_tags() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM evaluations_evaluationtag t WHERE t.account_id = OLD.account_id AND t.evaluation_id = OLD.id;
  IF NEW.captured THEN
    INSERT INTO evaluations_evaluationtag (account_id, evaluation_id, digest, created_at, history, score_id)
    SELECT t.* FROM evaluations_evaluationrequest q, tags_of(NEW, q.tags) t
    WHERE q.account_id = NEW.account_id AND q.id = NEW.request_id
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
