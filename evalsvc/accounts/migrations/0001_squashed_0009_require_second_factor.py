"""Accounts, people, keys, invitations and the trail, with their policies; the source of ids."""

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


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("accounts", "0001_initial"),
        ("accounts", "0001_squashed_0003_retention"),
        ("accounts", "0002_tenancy"),
        ("accounts", "0003_retention"),
        ("accounts", "0004_off_and_deleted"),
        ("accounts", "0005_refuse_unrunnable"),
        ("accounts", "0006_deletions"),
        ("accounts", "0007_use_of_keys"),
        ("accounts", "0008_invitations"),
        ("accounts", "0009_require_second_factor"),
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
                ('off_at', models.DateTimeField(blank=True, editable=False, help_text='Since when nobody may use it.', null=True)),
                ('deleted_at', models.DateTimeField(blank=True, editable=False, help_text='Since when its rows are going.', null=True)),
                ('refuse_unrunnable', models.BooleanField(db_default=False, default=False, help_text='Answer 422 where an evaluator cannot run, rather than a result that is null.')),
                ('require_second_factor', models.BooleanField(db_default=False, default=False, help_text="Show the account's pages to members who have a second factor.")),
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
                ('used_at', models.DateTimeField(blank=True, editable=False, help_text='Last, to within 15 minutes.', null=True)),
                ('issued_by', models.CharField(blank=True, db_default='', default='', editable=False, max_length=120)),
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
        migrations.CreateModel(
            name='AccountDeletion',
            fields=[
                ('id', models.BigIntegerField(help_text='Of the account that was.', primary_key=True, serialize=False)),
                ('ordered_by', models.CharField(help_text="`operator`, or `admin`: one of the account's own.", max_length=10)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('scrubbed_at', models.DateTimeField(help_text='Since when no file of the servers holds what it had.', null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('email', models.EmailField(max_length=254)),
                ('role', models.CharField(choices=[('admin', 'Admin: everything, keys and members included'), ('editor', 'Editor: evaluators and profiles'), ('reader', 'Reader: looks on')], max_length=10)),
                ('public', models.CharField(editable=False, max_length=24, unique=True)),
                ('secret_hash', models.BinaryField(max_length=32)),
                ('invited_by', models.CharField(max_length=120)),
                ('expires_at', models.DateTimeField()),
                ('accepted_at', models.DateTimeField(null=True)),
                ('withdrawn_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_invitation_account')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('accepted_at', None), ('withdrawn_at', None)), fields=('account', 'email'), name='uq_invitation_open_once')],
            },
        ),
        protect("accounts_account", column="id"),
        protect("accounts_member"),
        protect("accounts_apikey"),
        protect("accounts_auditentry"),
        # The trail is append-only for everyone who can be tricked into writing it.
        revoke("accounts_auditentry", "UPDATE, DELETE"),
        revoke("accounts_accountdeletion", "ALL"),
        protect("accounts_invitation"),
    ]
