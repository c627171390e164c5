-- A tag within one history, as a number: an index of these gives the newest scores that have a tag, in order, however few
-- of an account's evaluations with that tag are of this evaluator and profile.
CREATE OR REPLACE FUNCTION history_tag(p_digest bigint, p_evaluator text, p_profile text)
RETURNS bigint LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN (
  'x' || encode(substr(sha256(convert_to(p_digest::text || ':' || length(p_evaluator)::text || ':' || p_evaluator || p_profile, 'UTF8')), 1, 8), 'hex')
)::bit(64)::bigint;

-- The rows that say which tags an evaluation has. Whether it is in a history is not said: what is not there joins nothing.
CREATE OR REPLACE FUNCTION tags_of(p_evaluation evaluations_evaluation, p_tags jsonb)
RETURNS TABLE (account_id bigint, evaluation_id bigint, digest bigint, created_at timestamptz, history bigint, score_id bigint)
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT p_evaluation.account_id, p_evaluation.id, d.digest, p_evaluation.created_at,
    history_tag(d.digest, p_evaluation.evaluator_id, p_evaluation.profile_name),
    history_id(p_evaluation.evaluation_type = 'client_evaluation', p_evaluation.created_at, p_evaluation.id)
  FROM jsonb_each_text(nullif(p_tags, 'null'::jsonb)) tag,
    LATERAL (SELECT tag_digest(p_evaluation.account_id, tag.key, tag.value) AS digest) d
$$;
