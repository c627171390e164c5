-- Who may speak for an account. SECURITY DEFINER: before a key is known there is no account to scope by. They return only
-- what authentication needs, and nothing of an account that is marked as deleted.

-- For processes of versions that know no account that is off.
CREATE OR REPLACE FUNCTION find_api_key(p_public text)
RETURNS TABLE (id bigint, account_id bigint, account_name text, secret_hash bytea, scope text, expires_at timestamptz,
               revoked_at timestamptz, rpm_limit int, monthly_limit bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT k.id, k.account_id, a.name::text, k.secret_hash, k.scope::text, k.expires_at, k.revoked_at, a.rpm_limit,
         a.monthly_limit
  FROM accounts_apikey k JOIN accounts_account a ON a.id = k.account_id
  WHERE k.public = p_public AND a.off_at IS NULL AND a.deleted_at IS NULL
$$;

CREATE OR REPLACE FUNCTION find_api_key_and_state(p_public text)
RETURNS TABLE (id bigint, account_id bigint, account_name text, secret_hash bytea, scope text, expires_at timestamptz,
               revoked_at timestamptz, rpm_limit int, monthly_limit bigint, off_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT k.id, k.account_id, a.name::text, k.secret_hash, k.scope::text, k.expires_at, k.revoked_at, a.rpm_limit,
         a.monthly_limit, a.off_at
  FROM accounts_apikey k JOIN accounts_account a ON a.id = k.account_id
  WHERE k.public = p_public AND a.deleted_at IS NULL
$$;

-- When a key was used last. Whoever has just been let in by it has no scope yet. To the minute, so that many processes that
-- say so at once write once.
CREATE OR REPLACE FUNCTION note_key_use(p_key bigint) RETURNS void
LANGUAGE sql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  UPDATE accounts_apikey SET used_at = date_trunc('minute', now())
  WHERE id = p_key AND (used_at IS NULL OR used_at < date_trunc('minute', now()))
$$;

-- For processes of versions that know no rule of a second factor.
CREATE OR REPLACE FUNCTION memberships_of(p_user bigint)
RETURNS TABLE (account_id bigint, account_name text, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT m.account_id, a.name::text, m.role::text
  FROM accounts_member m JOIN accounts_account a ON a.id = m.account_id
  WHERE m.user_id = p_user AND a.off_at IS NULL AND a.deleted_at IS NULL ORDER BY m.account_id
$$;

CREATE OR REPLACE FUNCTION memberships_and_factor_of(p_user bigint)
RETURNS TABLE (account_id bigint, account_name text, role text, requires_factor boolean, has_factor boolean)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT m.account_id, a.name::text, m.role::text, a.require_second_factor,
         EXISTS (SELECT 1 FROM mfa_authenticator f WHERE f.user_id = p_user AND f.type = 'totp')
  FROM accounts_member m JOIN accounts_account a ON a.id = m.account_id
  WHERE m.user_id = p_user AND a.off_at IS NULL AND a.deleted_at IS NULL ORDER BY m.account_id
$$;

-- Whether a member of the current account has a second factor here, and whether they come by single sign-on: accounts see
-- this and nothing else of how their people sign in.
CREATE OR REPLACE FUNCTION member_has_factor(p_user bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT EXISTS (
    SELECT 1 FROM accounts_member m JOIN mfa_authenticator f ON f.user_id = m.user_id AND f.type = 'totp'
    WHERE m.user_id = p_user AND m.account_id = nullif(current_setting('app.account_id', true), '')::bigint)
$$;

CREATE OR REPLACE FUNCTION member_has_provider(p_user bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT EXISTS (
    SELECT 1 FROM accounts_member m JOIN socialaccount_socialaccount s ON s.user_id = m.user_id
    WHERE m.user_id = p_user AND m.account_id = nullif(current_setting('app.account_id', true), '')::bigint)
$$;

-- Whether workers leave an account's work alone. As the system role, which sees all accounts; an account sees itself.
CREATE OR REPLACE FUNCTION account_rests(p_account bigint) RETURNS boolean
LANGUAGE sql STABLE SECURITY INVOKER AS $$
  SELECT EXISTS (
    SELECT 1 FROM accounts_account a WHERE a.id = p_account AND (a.off_at IS NOT NULL OR a.deleted_at IS NOT NULL))
$$;

-- What an invitation opens, before whoever holds it is anybody; nothing once it was accepted or withdrawn, nor of an account
-- that is off or marked as deleted. Whoever has made one knows its link: it opens nothing once they could make none.
CREATE OR REPLACE FUNCTION find_invitation(p_public text)
RETURNS TABLE (id bigint, account_id bigint, account_name text, email text, role text, secret_hash bytea,
               expires_at timestamptz)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT i.id, i.account_id, a.name::text, i.email::text, i.role::text, i.secret_hash, i.expires_at
  FROM accounts_invitation i JOIN accounts_account a ON a.id = i.account_id
  WHERE i.public = p_public AND i.accepted_at IS NULL AND i.withdrawn_at IS NULL AND a.off_at IS NULL AND a.deleted_at IS NULL
    AND (i.invited_by !~ '^user:[0-9]{1,18}$' OR EXISTS (
      SELECT 1 FROM accounts_user u
      WHERE u.id = substr(i.invited_by, 6)::bigint AND u.is_active AND u.is_staff AND (u.is_superuser OR EXISTS (
        SELECT 1 FROM accounts_member m WHERE m.account_id = i.account_id AND m.user_id = u.id AND m.role = 'admin'))))
$$;
