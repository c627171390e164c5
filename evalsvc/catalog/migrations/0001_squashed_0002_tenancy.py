"""Evaluators and profiles: managed rows have no account, are read by all and written by the owner."""

import uuid

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("catalog", "0001_initial"),
        ("catalog", "0002_tenancy"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='Profile',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('family', models.CharField(max_length=60)),
                ('name', models.CharField(max_length=120)),
                ('n_revisions', models.PositiveIntegerField(default=0, editable=False)),
                ('archived_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='uq_profile_name', nulls_distinct=False)],
            },
        ),
        migrations.CreateModel(
            name='ProfileRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('settings', models.JSONField(default=dict)),
                ('description', models.TextField(blank=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('profile', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='catalog.profile')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('profile', 'number'), name='uq_revision_number'), models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='ck_revision_counts_from_one')],
            },
        ),
        migrations.CreateModel(
            name='Evaluator',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('evaluator_id', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9][A-Za-z0-9 ._/-]{0,99}\\Z', '1 to 100 letters, digits, spaces, dots, dashes, underscores or slashes; no colon.')])),
                ('base', models.CharField(help_text='The managed evaluator that does the work; its own id for those.', max_length=100)),
                ('family', models.CharField(max_length=60)),
                ('name', models.CharField(max_length=100)),
                ('description', models.TextField(blank=True)),
                ('aliases', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), blank=True, default=list, size=None)),
                ('default_profile', models.CharField(blank=True, max_length=120, null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('deprecated', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'evaluator_id'), name='uq_evaluator_id', nulls_distinct=False)],
            },
        ),
        protect("catalog_evaluator", shared_when_null=True),
        protect("catalog_profile", shared_when_null=True),
        protect("catalog_profilerevision", shared_when_null=True),
    ]
