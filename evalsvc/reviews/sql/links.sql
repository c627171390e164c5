-- Who holds a link of a review. SECURITY DEFINER: before a link is known there is no account to scope by. It returns only
-- what the door needs, and nothing of an account that is off or marked as deleted, nor of a review that is closed.
-- Whoever has made a link knows it: it opens nothing once they could make none, nor once the key is revoked that made it.

CREATE OR REPLACE FUNCTION find_review_link(p_public text)
RETURNS TABLE (id uuid, account_id bigint, review_id uuid, name text, secret_hash bytea, expires_at timestamptz,
               revoked_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT l.id, l.account_id, l.review_id, l.name::text, l.secret_hash, l.expires_at, l.revoked_at
  FROM reviews_reviewlink l
  JOIN reviews_review r ON r.id = l.review_id AND r.account_id = l.account_id
  JOIN accounts_account a ON a.id = l.account_id
  WHERE l.public = p_public AND r.closed_at IS NULL AND a.off_at IS NULL AND a.deleted_at IS NULL
    AND CASE
      WHEN l.issued_by ~ '^user:[0-9]{1,19}$' THEN EXISTS (
        SELECT 1 FROM accounts_user u
        WHERE u.id = substr(l.issued_by, 6)::bigint AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
          SELECT 1 FROM accounts_member m
          WHERE m.account_id = l.account_id AND m.user_id = u.id AND m.role IN ('admin', 'editor'))))
      WHEN l.issued_by ~ '^key:[0-9]{1,19}$' THEN EXISTS (
        SELECT 1 FROM accounts_apikey k
        WHERE k.id = substr(l.issued_by, 5)::bigint AND k.account_id = l.account_id AND k.revoked_at IS NULL)
      ELSE true
    END
$$;
