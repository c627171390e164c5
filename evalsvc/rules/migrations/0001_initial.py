"""Rules, their backfills and spans, and their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
import evalsvc.tenancy.scope
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables."""

    initial = True

    dependencies = [
        ('accounts', '0001_squashed_0009_require_second_factor'),
        # The database makes ids by a function of theirs.
        ('evaluations', '0034_sample_hash'),
    ]

    operations = [
        migrations.CreateModel(
            name='Rule',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('active', 'Active'), ('paused', 'Paused')], default='active', max_length=10)),
                ('revision', models.PositiveIntegerField(default=1)),
                ('filter', models.JSONField(default=dict)),
                ('mapping', models.JSONField(default=dict)),
                ('evaluators', models.JSONField(default=list)),
                ('rate', models.FloatField(default=1.0, help_text='Share of the units that is scored.')),
                ('sample_by', models.CharField(choices=[('trace', 'All matching spans of a trace, or none'), ('session', 'All matching spans of a session, or none')], default='trace', max_length=10)),
                ('cap_per_hour', models.PositiveIntegerField(help_text='Spans scored in a clock hour at most.', null=True)),
                ('app', models.CharField(help_text='Of its scores; null: that of the span.', max_length=50, null=True)),
                ('tags', models.JSONField(default=dict)),
                ('watermark', models.BigIntegerField(default=0)),
                ('marks', models.JSONField(default=list)),
                ('lease_expires_at', models.DateTimeField(help_text='A worker is at it until then.', null=True)),
                ('token', models.UUIDField(null=True)),
                ('n_scored', models.BigIntegerField(default=0)),
                ('n_over_cap', models.BigIntegerField(default=0)),
                ('n_no_output', models.BigIntegerField(default=0)),
                ('n_unreadable', models.BigIntegerField(default=0)),
                ('n_invalid', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
        ),
        migrations.CreateModel(
            name='RuleBackfill',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('state', models.CharField(choices=[('running', 'Running'), ('finished', 'Finished')], default='running', max_length=10)),
                ('cursor_at', models.DateTimeField(help_text='Of the last span that was looked at.', null=True)),
                ('cursor_id', models.BigIntegerField(null=True)),
                ('n_scored', models.BigIntegerField(default=0)),
                ('n_dropped', models.BigIntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('rule', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='backfills', to='rules.rule')),
            ],
        ),
        migrations.CreateModel(
            name='RuleSpan',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('trace_id', models.CharField(max_length=32)),
                ('span_id', models.CharField(max_length=16)),
                ('revision', models.PositiveIntegerField()),
                ('probability', models.FloatField(help_text='With which the rule draws a span like this one.')),
                ('request_id', models.BigIntegerField(help_text='The evaluation; null where the span was dropped.', null=True)),
                ('reason', models.CharField(choices=[('over_cap', 'More than the cap of the hour'), ('no_output', 'Nothing that an evaluator could read'), ('unreadable', 'Messages that cannot be read'), ('invalid', 'Refused as an evaluation')], max_length=12, null=True)),
                ('detail', models.TextField(null=True)),
                ('ended_at', models.DateTimeField(help_text='Of the version that was read: a later one may replace it.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('rule', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='spans', to='rules.rule')),
            ],
        ),
        migrations.AddConstraint(
            model_name='rule',
            constraint=models.UniqueConstraint(fields=('account', 'name'), name='uq_rule_name'),
        ),
        migrations.AddConstraint(
            model_name='rule',
            constraint=models.CheckConstraint(condition=models.Q(('rate__gt', 0), ('rate__lte', 1)), name='ck_rule_rate'),
        ),
        migrations.AddIndex(
            model_name='rulebackfill',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['rule'], name='ix_rulebackfill_running'),
        ),
        migrations.AddIndex(
            model_name='rulespan',
            index=models.Index(fields=['rule', '-id'], name='ix_rulespan_newest'),
        ),
        migrations.AddIndex(
            model_name='rulespan',
            index=models.Index(condition=models.Q(('request_id__isnull', False)), fields=['rule', 'id'], name='ix_rulespan_scored'),
        ),
        migrations.AddIndex(
            model_name='rulespan',
            index=models.Index(condition=models.Q(('reason__in', ('no_output', 'unreadable'))), fields=['rule', 'id'], name='ix_rulespan_waiting'),
        ),
        migrations.AddConstraint(
            model_name='rulespan',
            constraint=models.UniqueConstraint(fields=('rule', 'trace_id', 'span_id'), name='uq_rulespan_once'),
        ),
        migrations.AddConstraint(
            model_name='rulespan',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reason', None), ('request_id__isnull', False)), models.Q(('reason__isnull', False), ('request_id', None)), _connector='OR'), name='ck_rulespan_scored_or_dropped'),
        ),
        protect("rules_rule"),
        protect("rules_rulebackfill"),
        protect("rules_rulespan"),
    ]
