"""Experiments: plans, configs, units of work, outputs, scores and what is counted of them, with their policies."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect

# Counters and states of a few rows change all the time: room on their pages keeps their indexes out of it.
STORAGE = """
ALTER TABLE experiments_config SET (fillfactor = 50);
ALTER TABLE experiments_aggregate SET (fillfactor = 50);
ALTER TABLE experiments_comparison SET (fillfactor = 50);
ALTER TABLE experiments_evidence SET (fillfactor = 50);
ALTER TABLE experiments_workunit SET (fillfactor = 80);
"""
TABLES = ("experimentplan", "experimentitem", "config", "workunit", "output", "score", "aggregate", "look", "evidence")
TABLES += ("decision", "controlop", "comparison", "addition", "additionmark")


class Migration(migrations.Migration):
    """Make the tables of a new database at once; an older one has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("experiments", "0001_initial"),
        ("experiments", "0002_tenancy"),
        ("experiments", "0003_not_applicable"),
        ("experiments", "0004_history"),
        ("experiments", "0005_comparisons"),
        ("experiments", "0006_additions"),
        ("experiments", "0007_stopped_metrics"),
        ("experiments", "0008_racing"),
        ("experiments", "0009_promote"),
        ("experiments", "0010_output_traces"),
        ("experiments", "0011_record_units"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0003_retention"),
        ("datasets", "0001_squashed_0003_passages"),
        ("projects", "0001_squashed_0003_created_by"),
    ]
    operations = [
        migrations.CreateModel(
            name='Addition',
            fields=[
                ('pk', models.CompositePrimaryKey('experiment_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField(help_text='1 for the first; 0 are the metrics of the plan itself.')),
                ('names', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=100), size=None)),
                ('by_caller', models.BooleanField(help_text='The caller sends the numbers; workers note only what has no output.')),
                ('unit_size', models.PositiveSmallIntegerField(help_text='How many outputs a worker scores at once.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='additions', to='projects.experiment')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Config',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('kind', models.CharField(choices=[('chat', 'A prompt to a connection'), ('http', "The account's own application"), ('push', "The caller's own code")], max_length=10)),
                ('parameters', models.JSONField(default=dict)),
                ('parameters_hash', models.CharField(help_text='Of what makes the outputs: equal hash, equal stage.', max_length=64)),
                ('arrival', models.PositiveSmallIntegerField(help_text='1 for the first config of the experiment.')),
                ('state', models.CharField(choices=[('queued', 'Queued'), ('running', 'Running'), ('stopped', 'Stopped'), ('completed', 'Completed'), ('failed', 'Failed'), ('deleted', 'Deleted')], default='queued', max_length=10)),
                ('stop_reason', models.CharField(choices=[('user', 'A person stopped it'), ('policy', 'The policy stopped it'), ('budget', 'The budget is spent'), ('error', 'It kept failing'), ('decided', 'It is the last one in the race'), ('pause', 'It waits at the end of a shard')], max_length=10, null=True)),
                ('kept_by_user', models.BooleanField(default=False, help_text='A person resumed it after the policy had stopped it.')),
                ('epoch', models.PositiveIntegerField(default=1, help_text='Grows with every change of state; workers compare it.')),
                ('claim_pos', models.PositiveIntegerField(default=0, help_text='Positions before it have been given to workers.')),
                ('watermark', models.PositiveIntegerField(default=0, help_text='Every position before it is finished.')),
                ('pause_at', models.PositiveIntegerField(help_text='Nothing beyond it is given out before a resume.', null=True)),
                ('fresh_from', models.PositiveIntegerField(default=0, help_text='Its designer may have seen what lies before.')),
                ('n_ok', models.PositiveIntegerField(default=0)),
                ('n_error', models.PositiveIntegerField(default=0)),
                ('n_reused', models.PositiveIntegerField(default=0)),
                ('n_input_tokens', models.BigIntegerField(default=0)),
                ('n_output_tokens', models.BigIntegerField(default=0)),
                ('cost', models.FloatField(default=0.0)),
                ('stopped_metrics', models.JSONField(db_default={}, default=dict, help_text='Why, by metric: its mapping leads nowhere.')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='configs', to='projects.experiment')),
                ('parent', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='clones', to='experiments.config')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'running')), fields=['account', 'experiment'], name='ix_config_live')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'deleted'), _negated=True), fields=('experiment', 'name'), name='uq_config_name'), models.UniqueConstraint(fields=('experiment', 'arrival'), name='uq_config_arrival'), models.CheckConstraint(condition=models.Q(('watermark__lte', models.F('claim_pos'))), name='ck_config_watermark')],
            },
        ),
        migrations.CreateModel(
            name='Comparison',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('upto', models.PositiveIntegerField(help_text='Positions before it are counted.')),
                ('n', models.PositiveIntegerField(help_text='Examples that both have scored.')),
                ('total', models.FloatField()),
                ('squares', models.FloatField()),
                ('n_plus', models.PositiveIntegerField()),
                ('n_minus', models.PositiveIntegerField()),
                ('n_missing', models.PositiveIntegerField(help_text='Examples of which a score is missing.')),
                ('missing_low', models.FloatField(help_text='Least that the differences there can add up to.')),
                ('missing_high', models.FloatField()),
                ('log_better', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), help_text='Empty for a metric without a range.', size=None)),
                ('log_worse', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='comparisons', to='projects.experiment')),
                ('first', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.config')),
                ('second', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.config')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('experiment', 'first', 'second'), name='uq_comparison')],
            },
        ),
        migrations.CreateModel(
            name='Aggregate',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('metric', models.CharField(max_length=100)),
                ('scope', models.CharField(choices=[('prefix', 'Below the watermark: what inference reads'), ('seen', 'Below the watermark, and possibly seen by the designer'), ('all', 'Everything that is finished: provisional')], max_length=10)),
                ('n', models.PositiveIntegerField(default=0)),
                ('n_error', models.PositiveIntegerField(default=0)),
                ('n_na', models.PositiveIntegerField(db_default=0, default=0, help_text='To which the metric does not apply.')),
                ('total', models.FloatField(default=0.0)),
                ('squares', models.FloatField(default=0.0)),
                ('den_total', models.FloatField(default=0.0)),
                ('den_squares', models.FloatField(default=0.0)),
                ('cross', models.FloatField(default=0.0)),
                ('lowest', models.FloatField(null=True)),
                ('highest', models.FloatField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='aggregates', to='experiments.config')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('config', 'metric', 'scope'), name='uq_aggregate')],
            },
        ),
        migrations.CreateModel(
            name='AdditionMark',
            fields=[
                ('pk', models.CompositePrimaryKey('config_id', 'number', blank=True, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveSmallIntegerField()),
                ('watermark', models.PositiveIntegerField(default=0)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='addition_marks', to='experiments.config')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ControlOp',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('action', models.CharField(max_length=10)),
                ('actor', models.CharField(max_length=255)),
                ('idempotency_key', models.CharField(max_length=255, null=True)),
                ('config_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ('changed_ids', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='Of the targets, those that were not so already.', size=None)),
                ('n_in_flight', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='control_ops', to='projects.experiment')),
            ],
            options={
                'indexes': [models.Index(fields=['experiment', '-id'], name='ix_op_experiment')],
            },
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('policy', models.CharField(choices=[('manual', 'Nobody but people'), ('race_safe', 'Race, best config kept at the stated level'), ('race_default', 'Race, each pair at the stated error'), ('race_fast', 'Race, paired t tests as often as anybody looks'), ('halving', 'Successive halving at shard ends')], max_length=20)),
                ('reason', models.CharField(max_length=20)),
                ('watermark', models.PositiveIntegerField()),
                ('n_in_flight', models.PositiveIntegerField(default=0, help_text='Queries that were already on their way.')),
                ('evidence', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('against', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='experiments.config')),
                ('config', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='experiments.config')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='decisions', to='projects.experiment')),
            ],
            options={
                'indexes': [models.Index(fields=['experiment', '-id'], name='ix_decision_experiment')],
            },
        ),
        migrations.CreateModel(
            name='Evidence',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('start', models.PositiveIntegerField()),
                ('n', models.PositiveIntegerField(default=0)),
                ('total', models.FloatField(default=0.0)),
                ('squares', models.FloatField(default=0.0)),
                ('n_plus', models.PositiveIntegerField(default=0)),
                ('n_minus', models.PositiveIntegerField(default=0)),
                ('log_wealth', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), size=None)),
                ('log_not_worse', django.contrib.postgres.fields.ArrayField(base_field=models.FloatField(), null=True, size=None)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='projects.experiment')),
                ('loser', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.config')),
                ('winner', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='experiments.config')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('experiment', 'winner', 'loser'), name='uq_evidence_pair')],
            },
        ),
        migrations.CreateModel(
            name='ExperimentItem',
            fields=[
                ('pk', models.CompositePrimaryKey('experiment_id', 'pos', blank=True, editable=False, primary_key=True, serialize=False)),
                ('pos', models.IntegerField()),
                ('example_id', models.BigIntegerField()),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.experiment')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ExperimentPlan',
            fields=[
                ('experiment', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='plan', serialize=False, to='projects.experiment')),
                ('n_examples', models.PositiveIntegerField()),
                ('seed', models.BigIntegerField(default=0)),
                ('micro_batch', models.PositiveSmallIntegerField(default=10)),
                ('num_shards', models.PositiveSmallIntegerField(default=8)),
                ('metrics', models.JSONField(help_text='List of metrics, each resolved to an evaluator and a profile revision.')),
                ('primary_metric', models.CharField(max_length=100)),
                ('higher_is_better', models.BooleanField(default=True, help_text='Of the primary metric.')),
                ('sample', models.JSONField(default=dict, help_text='JSON pointers into the example: what the evaluators see.')),
                ('level', models.FloatField(default=0.95)),
                ('strategy', models.CharField(help_text='Null: the default of each metric.', max_length=30, null=True)),
                ('use_fpc', models.BooleanField(default=True)),
                ('policy', models.CharField(choices=[('manual', 'Nobody but people'), ('race_safe', 'Race, best config kept at the stated level'), ('race_default', 'Race, each pair at the stated error'), ('race_fast', 'Race, paired t tests as often as anybody looks'), ('halving', 'Successive halving at shard ends')], default='manual', max_length=20)),
                ('k_max', models.PositiveSmallIntegerField(null=True)),
                ('n_original', models.PositiveSmallIntegerField(default=0, help_text='Configs that were there at the start.')),
                ('epsilon', models.FloatField(null=True)),
                ('baseline', models.CharField(max_length=100, null=True)),
                ('limit', models.PositiveIntegerField(help_text='Only so many examples are asked, the first of the order.', null=True)),
                ('stop_when_decided', models.BooleanField(default=False, help_text='The last config in the race is not asked on.')),
                ('errors', models.CharField(choices=[('favour', 'It speaks for the config that would be stopped'), ('worst', 'If the config caused it, it is the worst score there is')], default='favour', max_length=10)),
                ('abort_on_error', models.CharField(choices=[('config', 'Its config'), ('run', 'Every config')], max_length=10, null=True)),
                ('pause_at_shards', django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(), help_text='Numbers of shards.', null=True, size=None)),
                ('promote', models.BooleanField(help_text='Its leader enters histories when it is done; null: as `promotion` decides.', null=True)),
                ('budget_queries', models.BigIntegerField(null=True)),
                ('budget_cost', models.FloatField(null=True)),
                ('budget_seconds', models.FloatField(null=True)),
                ('state', models.CharField(choices=[('draft', 'Draft'), ('running', 'Running'), ('idle', 'Idle: every config is stopped, any can be resumed'), ('done', 'Done'), ('failed', 'Failed: no config is left that works')], default='draft', max_length=10)),
                ('is_closed', models.BooleanField(db_default=False, default=False, help_text='It has ended, nothing is on its way, and all of it is counted.')),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('dataset_version', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='datasets.datasetversion')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'running')), fields=['account'], name='ix_plan_running'), models.Index(condition=models.Q(('is_closed', False), models.Q(('state', 'draft'), _negated=True)), fields=['account'], name='ix_plan_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(('n_examples__gt', 0)), name='ck_plan_has_examples'), models.CheckConstraint(condition=models.Q(('level__gt', 0), ('level__lt', 1)), name='ck_plan_level')],
            },
        ),
        migrations.CreateModel(
            name='Look',
            fields=[
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('metric', models.CharField(max_length=100)),
                ('shard', models.PositiveSmallIntegerField(help_text='1 for the first.')),
                ('n', models.PositiveIntegerField()),
                ('n_error', models.PositiveIntegerField()),
                ('n_na', models.PositiveIntegerField(db_default=0, default=0)),
                ('value', models.FloatField(null=True)),
                ('lower', models.FloatField(help_text='For new data.', null=True)),
                ('upper', models.FloatField(null=True)),
                ('set_lower', models.FloatField(help_text='For this set.', null=True)),
                ('set_upper', models.FloatField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='looks', to='experiments.config')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('config', 'metric', 'shard'), name='uq_look')],
            },
        ),
        migrations.CreateModel(
            name='Output',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('pos', models.PositiveIntegerField()),
                ('example_id', models.BigIntegerField()),
                ('status', models.CharField(choices=[('ok', 'OK'), ('error', 'Error'), ('timeout', 'Timeout')], max_length=10)),
                ('output', models.JSONField(help_text='By component; `output` is the answer itself.', null=True)),
                ('error_type', models.CharField(max_length=40, null=True)),
                ('error_message', models.TextField(null=True)),
                ('latency_ms', models.FloatField(null=True)),
                ('input_tokens', models.PositiveIntegerField(null=True)),
                ('output_tokens', models.PositiveIntegerField(null=True)),
                ('cost', models.FloatField(null=True)),
                ('attempt', models.PositiveSmallIntegerField(default=1)),
                ('scored', models.BooleanField(default=True, help_text='False while its scores are being worked out.')),
                ('client_scores', models.JSONField(help_text='Numbers that the caller sent, until they are scores.', null=True)),
                ('reused_from', models.BigIntegerField(help_text='The output of an identical stage that was taken over.', null=True)),
                ('trace_id', models.CharField(help_text='Of OpenTelemetry, as the caller has sent it.', max_length=32, null=True)),
                ('span_id', models.CharField(help_text='Of the span in which it was made.', max_length=16, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='outputs', to='experiments.config')),
                ('experiment', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, to='projects.experiment')),
            ],
            options={
                'indexes': [models.Index(fields=['experiment', 'id'], name='ix_output_experiment'), models.Index(condition=models.Q(('trace_id__isnull', False)), fields=['experiment', 'trace_id'], name='ix_output_trace')],
                'constraints': [models.UniqueConstraint(fields=('config', 'pos'), name='uq_output_once'), models.CheckConstraint(condition=models.Q(models.Q(('error_type', None), ('status', 'ok')), models.Q(models.Q(('status', 'ok'), _negated=True), ('error_type__isnull', False)), _connector='OR'), name='ck_output_or_error')],
            },
        ),
        migrations.CreateModel(
            name='Score',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('pos', models.PositiveIntegerField()),
                ('metric', models.CharField(max_length=100)),
                ('value', models.FloatField(help_text='The numerator of a ratio metric.', null=True)),
                ('denominator', models.FloatField(null=True)),
                ('passed', models.BooleanField(null=True)),
                ('error_code', models.CharField(max_length=40, null=True)),
                ('error_message', models.TextField(null=True)),
                ('explanation', models.TextField(null=True)),
                ('spans', models.JSONField(null=True)),
                ('extra', models.JSONField(null=True)),
                ('judge_cost', models.FloatField(help_text='Of the run that it comes from; once where metrics share one.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='scores', to='experiments.config')),
                ('experiment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='projects.experiment')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('config', 'metric', 'pos'), name='uq_score_once'), models.CheckConstraint(condition=models.Q(models.Q(('error_code', None), ('value__isnull', False)), models.Q(('error_code__isnull', False), ('value', None)), _connector='OR'), name='ck_score_or_error'), models.CheckConstraint(condition=models.Q(models.Q(('value', None), models.Q(('value__gt', float("-inf")), ('value__lt', float("inf"))), _connector='OR'), models.Q(('denominator', None), models.Q(('denominator__gt', float("-inf")), ('denominator__lt', float("inf"))), _connector='OR')), name='ck_score_is_finite'), models.CheckConstraint(condition=models.Q(('judge_cost', None), models.Q(('judge_cost__gt', float("-inf")), ('judge_cost__lt', float("inf"))), _connector='OR'), name='ck_score_cost_is_finite')],
            },
        ),
        migrations.CreateModel(
            name='WorkUnit',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('addition', models.PositiveSmallIntegerField(db_default=0, default=0, help_text="Which metrics: 0 are the plan's.")),
                ('from_pos', models.PositiveIntegerField()),
                ('to_pos', models.PositiveIntegerField(help_text='Exclusive.')),
                ('state', models.CharField(choices=[('open', 'Open: given back, to be taken again'), ('leased', 'Leased'), ('scoring', 'Outputs are there, scores are not'), ('done', 'Done')], max_length=10)),
                ('attempt', models.PositiveSmallIntegerField(default=1)),
                ('token', models.UUIDField(help_text='Of the present lease; a worker that lost it can write nothing.', null=True)),
                ('epoch', models.PositiveIntegerField(help_text="The config's, at the lease.")),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('config', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='units', to='experiments.config')),
                ('experiment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, to='projects.experiment')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('state', 'done'), _negated=True), fields=['config', 'addition', 'from_pos'], name='ix_unit_unfinished'), models.Index(condition=models.Q(('state', 'scoring')), fields=['addition', 'id'], name='ix_unit_scoring'), models.Index(condition=models.Q(('state', 'leased')), fields=['account', 'experiment'], name='ix_unit_leased')],
                'constraints': [models.UniqueConstraint(fields=('config', 'addition', 'from_pos'), name='uq_unit_once'), models.CheckConstraint(condition=models.Q(('from_pos__lt', models.F('to_pos'))), name='ck_unit_positions')],
            },
        ),
        *(protect(f"experiments_{table}") for table in TABLES),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
    ]
