"""Accounts, people, keys and the trail, with their policies; the source of ids."""

import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect, revoke

# Milliseconds since 2026-01-01 << 22 | sequence: unique up to four million ids a millisecond, and sorted by time.
NEXT_ID = """
CREATE SEQUENCE next_id_sequence AS bigint CYCLE MAXVALUE 4194303 MINVALUE 0 START 0 CACHE 32;
CREATE FUNCTION next_id() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT ((extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1767225600000) << 22 | nextval('next_id_sequence')
$$;
"""

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
    """Make the tables of a new database at once; an older one has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0002_tenancy"),
        ("accounts", "0003_retention"),
    ]
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [
        migrations.RunSQL(NEXT_ID, "DROP FUNCTION next_id(); DROP SEQUENCE next_id_sequence"),
        migrations.CreateModel(
            name='Account',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, unique=True)),
                ('rpm_limit', models.PositiveIntegerField(blank=True, help_text='Requests a minute; empty: the default.', null=True)),
                ('monthly_limit', models.PositiveBigIntegerField(blank=True, help_text='Requests a month; empty: the default.', null=True)),
                ('retention_days', models.PositiveIntegerField(blank=True, help_text='Days that texts and evaluations are kept; 0: for ever; empty: the default.', null=True)),
                ('retention_history_days', models.PositiveIntegerField(blank=True, help_text='Days that the scores of histories are kept; 0: for ever; empty: the default.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(max_length=254, unique=True)),
                ('name', models.CharField(blank=True, max_length=100)),
                ('is_active', models.BooleanField(default=True)),
                ('is_staff', models.BooleanField(default=False, help_text='May sign in to the admin pages.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='uq_user_email_lower')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('public', models.CharField(editable=False, max_length=24, unique=True)),
                ('secret_hash', models.BinaryField(max_length=32)),
                ('scope', models.CharField(choices=[('read', 'Read'), ('write', 'Read and write')], default='write', max_length=5)),
                ('expires_at', models.DateTimeField(blank=True, null=True)),
                ('revoked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_api_key_account')],
            },
        ),
        migrations.CreateModel(
            name='AuditEntry',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('actor', models.CharField(help_text='`key:<id>`, `user:<id>` or `system`.', max_length=120)),
                ('action', models.CharField(max_length=60)),
                ('target', models.CharField(max_length=200)),
                ('detail', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'verbose_name_plural': 'audit entries',
                'indexes': [models.Index(fields=['account', '-id'], name='ix_audit_account')],
                'constraints': [models.CheckConstraint(condition=models.Q(('action', ''), _negated=True), name='ck_audit_names_its_action')],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('admin', 'Admin: everything, keys and members included'), ('editor', 'Editor: evaluators and profiles'), ('reader', 'Reader: looks on')], default='reader', max_length=10)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'user'), name='uq_member_once_per_account')],
            },
        ),
        protect("accounts_account", column="id"),
        protect("accounts_member"),
        protect("accounts_apikey"),
        protect("accounts_auditentry"),
        # The trail is append-only for everyone who can be tricked into writing it.
        revoke("accounts_auditentry", "UPDATE, DELETE"),
        migrations.RunSQL(FUNCTIONS, "DROP FUNCTION find_api_key(text); DROP FUNCTION memberships_of(bigint)"),
    ]
