-- A tag as a number of the account's own, so that an index of tags holds keys and texts of any length. Of a digest that
-- nobody can turn round: what two tags share by chance is 64 bits, and whoever writes one tag cannot aim at another.
CREATE OR REPLACE FUNCTION tag_digest(p_account bigint, p_key text, p_value text)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  'x' || encode(substr(sha256(convert_to(p_account || ':' || length(p_key) || ':' || p_key || p_value, 'UTF8')), 1, 8), 'hex')
)::bit(64)::bigint;

-- Tags go with their evaluation, whoever deletes it, and stand at its time, whoever changes that.
CREATE OR REPLACE FUNCTION forget_tags() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  DELETE FROM evaluations_evaluationtag t USING gone
  WHERE t.account_id = gone.account_id AND t.evaluation_id = gone.id;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION move_tags() RETURNS trigger LANGUAGE plpgsql SECURITY INVOKER AS $$
BEGIN
  UPDATE evaluations_evaluationtag t SET created_at = NEW.created_at
  WHERE t.account_id = NEW.account_id AND t.evaluation_id = NEW.id;
  RETURN NULL;
END $$;

CREATE TRIGGER forget_tags AFTER DELETE ON evaluations_evaluation
  REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_tags();
CREATE TRIGGER move_tags AFTER UPDATE OF created_at ON evaluations_evaluation
  FOR EACH ROW WHEN (OLD.created_at <> NEW.created_at) EXECUTE FUNCTION move_tags();
