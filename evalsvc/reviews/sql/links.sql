-- Who holds a link of a review. SECURITY DEFINER: before a link is known there is no account to scope by. It returns only
-- what the door needs, and nothing of an account that is off or marked as deleted, nor of a review that is closed.

CREATE OR REPLACE FUNCTION find_review_link(p_public text)
RETURNS TABLE (id uuid, account_id bigint, review_id uuid, name text, secret_hash bytea, expires_at timestamptz,
               revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.account_id, l.review_id, l.name::text, l.secret_hash, l.expires_at, l.revoked_at
  FROM reviews_reviewlink l
  JOIN reviews_review r ON r.id = l.review_id AND r.account_id = l.account_id
  JOIN accounts_account a ON a.id = l.account_id
  WHERE l.public = p_public AND r.closed_at IS NULL AND a.off_at IS NULL AND a.deleted_at IS NULL
$$;
