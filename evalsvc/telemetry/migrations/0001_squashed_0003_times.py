"""Logs and spans, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("telemetry", "0001_initial"),
        ("telemetry", "0002_tenancy"),
        ("telemetry", "0003_times"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='LogRecord',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('service_name', models.CharField(max_length=255, null=True)),
                ('project_name', models.CharField(max_length=255, null=True)),
                ('app', models.CharField(max_length=255, null=True)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('attributes', models.JSONField(default=dict)),
                ('resource', models.JSONField(default=dict)),
                ('scope_name', models.CharField(max_length=255, null=True)),
                ('scope_version', models.CharField(max_length=255, null=True)),
                ('scope_attributes', models.JSONField(default=dict)),
                ('n_bytes', models.IntegerField(help_text='Length of the row as JSON, by which answers are kept small.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('log_id', models.CharField(max_length=255, null=True)),
                ('digest', models.BinaryField(null=True)),
                ('trace_id', models.CharField(max_length=32, null=True)),
                ('span_id', models.CharField(max_length=16, null=True)),
                ('trace_flags', models.SmallIntegerField()),
                ('occurred_at', models.DateTimeField()),
                ('observed_at', models.DateTimeField(null=True)),
                ('severity_number', models.SmallIntegerField(null=True)),
                ('severity_text', models.CharField(max_length=255, null=True)),
                ('body', models.JSONField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_log_account'), models.Index(fields=['account', '-occurred_at', '-id'], name='ix_log_time'), models.Index(condition=models.Q(('trace_id__isnull', False)), fields=['account', 'trace_id'], name='ix_log_trace')],
                'constraints': [models.UniqueConstraint(fields=('account', 'log_id'), name='uq_log_id'), models.UniqueConstraint(fields=('account', 'digest'), name='uq_log_digest')],
            },
        ),
        migrations.CreateModel(
            name='Span',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('service_name', models.CharField(max_length=255, null=True)),
                ('project_name', models.CharField(max_length=255, null=True)),
                ('app', models.CharField(max_length=255, null=True)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('attributes', models.JSONField(default=dict)),
                ('resource', models.JSONField(default=dict)),
                ('scope_name', models.CharField(max_length=255, null=True)),
                ('scope_version', models.CharField(max_length=255, null=True)),
                ('scope_attributes', models.JSONField(default=dict)),
                ('n_bytes', models.IntegerField(help_text='Length of the row as JSON, by which answers are kept small.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('trace_id', models.CharField(max_length=32)),
                ('span_id', models.CharField(max_length=16)),
                ('parent_span_id', models.CharField(max_length=16, null=True)),
                ('trace_state', models.CharField(max_length=512, null=True)),
                ('name', models.CharField(max_length=255)),
                ('kind', models.SmallIntegerField()),
                ('started_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField()),
                ('duration_ns', models.BigIntegerField()),
                ('status_code', models.SmallIntegerField()),
                ('status_message', models.TextField(null=True)),
                ('events', models.JSONField(default=list)),
                ('links', models.JSONField(default=list)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_span_account'), models.Index(fields=['account', '-started_at', '-id'], name='ix_span_time')],
                'constraints': [models.UniqueConstraint(fields=('account', 'trace_id', 'span_id'), name='uq_span_ids')],
            },
        ),
        protect("telemetry_span"),
        protect("telemetry_logrecord"),
    ]
