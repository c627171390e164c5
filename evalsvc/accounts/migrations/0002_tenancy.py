"""Row-level security of the accounts tables, and the two functions that may look across accounts."""

from django.db import migrations

from evalsvc.tenancy.rls import protect, revoke

# SECURITY DEFINER: before a key is known there is no account to scope by. They return only what authentication needs.
FUNCTIONS = """
CREATE FUNCTION find_api_key(p_public text)
RETURNS TABLE (id bigint, account_id bigint, account_name text, secret_hash bytea, scope text, expires_at timestamptz,
               revoked_at timestamptz, rpm_limit int, monthly_limit bigint)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT k.id, k.account_id, a.name::text, k.secret_hash, k.scope::text, k.expires_at, k.revoked_at, a.rpm_limit,
         a.monthly_limit
  FROM accounts_apikey k JOIN accounts_account a ON a.id = k.account_id WHERE k.public = p_public
$$;
CREATE FUNCTION memberships_of(p_user bigint)
RETURNS TABLE (account_id bigint, account_name text, role text)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
  SELECT m.account_id, a.name::text, m.role::text
  FROM accounts_member m JOIN accounts_account a ON a.id = m.account_id WHERE m.user_id = p_user ORDER BY m.account_id
$$;
"""


class Migration(migrations.Migration):
    """Protect the tables."""

    dependencies = [("accounts", "0001_initial")]
    operations = [
        protect("accounts_account", column="id"),
        protect("accounts_member"),
        protect("accounts_apikey"),
        protect("accounts_auditentry"),
        # The trail is append-only for everyone who can be tricked into writing it.
        revoke("accounts_auditentry", "UPDATE, DELETE"),
        migrations.RunSQL(FUNCTIONS, "DROP FUNCTION find_api_key(text); DROP FUNCTION memberships_of(bigint)"),
    ]
