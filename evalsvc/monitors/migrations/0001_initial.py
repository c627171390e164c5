"""Monitors and alarms, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
import evalsvc.tenancy.fields
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
            name='Monitor',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('evaluator_id', models.CharField(max_length=100)),
                ('profile_name', models.CharField(max_length=120)),
                ('scope', models.JSONField(help_text='As it was sent: `account`, or an object with one of app, project, tags.')),
                ('window', models.JSONField(help_text='The scope as the database selects it (`scope_window`).')),
                ('cluster_by', models.CharField(help_text='The tag that names a session.', max_length=255, null=True)),
                ('estimand', models.CharField(choices=[('pass_rate', 'Pass rate'), ('mean_score', 'Mean score')], max_length=10)),
                ('direction', models.CharField(choices=[('drop', 'Drop'), ('rise', 'Rise')], max_length=4)),
                ('mean_run', models.PositiveIntegerField(help_text='Units between false alarms, on average at least.')),
                ('unit', models.CharField(choices=[('session', 'Scores with equal values of the tag `cluster_by`'), ('sample', 'Scores of equal input, gold answer and contexts'), ('score', 'Each score')], max_length=7)),
                ('baseline_scores', models.PositiveIntegerField(help_text='How many scores a baseline is of, at most.')),
                ('baseline', models.JSONField(help_text='Frozen: its numbers, those of its slices, and what the engine needs.')),
                ('state', models.CharField(choices=[('active', 'Reads new scores'), ('paused', 'Paused')], default='active', max_length=6)),
                ('progress', models.JSONField(help_text="The engine's state, and the units that are not complete yet.")),
                ('mark_xact', evalsvc.tenancy.fields.XactField(editable=False, null=True)),
                ('mark_id', models.BigIntegerField(editable=False)),
                ('run_xact', evalsvc.tenancy.fields.XactField(editable=False, null=True)),
                ('run_id', models.BigIntegerField(editable=False)),
                ('n_scores', models.PositiveBigIntegerField(default=0, help_text='Read since the baseline was frozen.')),
                ('n_units', models.PositiveBigIntegerField(default=0)),
                ('baseline_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), help_text='When the baseline was frozen.')),
                ('advanced_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
        ),
        migrations.CreateModel(
            name='Alarm',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('open', 'Open'), ('acknowledged', 'Acknowledged'), ('resolved', 'Resolved')], default='open', max_length=12)),
                ('score_id', models.BigIntegerField(help_text='Of the history: the score that completed the unit of the alarm.')),
                ('evidence', models.JSONField(help_text='Since when, from what to what, which slices, examples.')),
                ('opened_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('acknowledged_at', models.DateTimeField(null=True)),
                ('acknowledged_by', models.CharField(max_length=255, null=True)),
                ('resolved_at', models.DateTimeField(null=True)),
                ('resolved_by', models.CharField(max_length=255, null=True)),
                ('reason', models.CharField(choices=[('recovered', 'The scores are back at the baseline'), ('person', 'Resolved by a person'), ('rebaselined', 'The monitor has a new baseline')], help_text='Why it is resolved.', max_length=12, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('monitor', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='alarms', to='monitors.monitor')),
            ],
        ),
        migrations.AddIndex(
            model_name='monitor',
            index=models.Index(fields=['account', '-id'], name='ix_monitor_list'),
        ),
        migrations.AddIndex(
            model_name='monitor',
            index=models.Index(condition=models.Q(('state', 'active')), fields=['id'], name='ix_monitor_active'),
        ),
        migrations.AddIndex(
            model_name='alarm',
            index=models.Index(fields=['account', '-id'], name='ix_alarm_list'),
        ),
        migrations.AddIndex(
            model_name='alarm',
            index=models.Index(condition=models.Q(('state', 'resolved'), _negated=True), fields=['account', '-id'], name='ix_alarm_unresolved'),
        ),
        migrations.AddIndex(
            model_name='alarm',
            index=models.Index(fields=['monitor', '-id'], name='ix_alarm_monitor'),
        ),
        migrations.AddConstraint(
            model_name='alarm',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'resolved'), _negated=True), fields=('monitor',), name='uq_alarm_unresolved'),
        ),
        migrations.AddConstraint(
            model_name='alarm',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('reason__isnull', False), ('resolved_at__isnull', False), ('state', 'resolved')), models.Q(models.Q(('state', 'resolved'), _negated=True), ('reason', None), ('resolved_at', None)), _connector='OR'), name='ck_alarm_resolved'),
        ),
        protect("monitors_monitor"),
        protect("monitors_alarm"),
    ]
