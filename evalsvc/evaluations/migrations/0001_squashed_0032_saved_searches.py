"""Evaluations and histories as tables that are partitioned by id, counts by day and saved searches, with their policies."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import evalsvc.tenancy.fields
import evalsvc.tenancy.scope
from evalsvc.infra.functions import function_text
from evalsvc.tenancy.rls import Statements, only_for_system, protect, revoke

# What each is partitioned by.
GROWING = {
    "evaluations_historyscore": "id",
    "evaluations_evaluationrequest": "id",
    "evaluations_evaluation": "id",
    "evaluations_evaluationtag": "evaluation_id",
}
# What models do not say: of each partition, and copied from the first one.
KEYS = """
ALTER TABLE evaluations_evaluation ADD CONSTRAINT uq_evaluation_position UNIQUE (request_id, position);
ALTER TABLE evaluations_historyscore DROP CONSTRAINT evaluations_historyscore_pkey;
ALTER TABLE evaluations_historyscore ADD CONSTRAINT pk_history
  PRIMARY KEY (account_id, evaluator_id, profile_name, trial, id) INCLUDE (score, passed, revision, source);
"""
# Rows that vacuum has not seen cost a heap fetch each; by default an insert-only table waits far too long for it.
STORAGE = """
ALTER TABLE evaluations_historyscore SET (
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0);
ALTER TABLE evaluations_evaluationtag SET (
  autovacuum_vacuum_insert_threshold = 50000, autovacuum_vacuum_insert_scale_factor = 0);
ALTER TABLE evaluations_evaluation SET (fillfactor = 90);
"""
# The month that runs and the next one.
FIRST_END = """
SELECT (extract(epoch FROM date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months') * 1000
  - 1767225600000)::bigint << 22
"""
BECOMING = (Path(__file__).parent / "sql" / "becoming_partitioned.sql").read_text(encoding="utf-8")
TRIGGERS = (Path(__file__).parent / "sql" / "triggers.sql").read_text(encoding="utf-8")


def install(editor: BaseDatabaseSchemaEditor, *names: str) -> None:
    """Make functions that the rest of this needs, as they are today: none names a column that comes later."""
    for name in names:
        editor.execute(function_text("evaluations", name), params=None)


def make_tools(editor: BaseDatabaseSchemaEditor) -> None:
    """Make what makes partitions."""
    install(editor, "ids", "partitions")
    editor.execute(BECOMING, params=None)


def partition(editor: BaseDatabaseSchemaEditor) -> None:
    """Let each table that grows become the first partition of one of its name."""
    # Django makes indexes at the end of a migration, and partitions are to have those of the table.
    while editor.deferred_sql:
        editor.execute(editor.deferred_sql.pop(0), params=None)
    with editor.connection.cursor() as cursor:
        cursor.execute(FIRST_END)
        (end,) = cursor.fetchone()
        for table, key in GROWING.items():
            bound = f"{key} < {end}" + (f" AND request_id < {end}" if table == "evaluations_evaluation" else "")
            cursor.execute(f"ALTER TABLE {table} ADD CONSTRAINT ck_before_partitions CHECK ({bound})")
            cursor.execute("SELECT become_partitioned(%s, %s, %s)", [table, key, end])


def make_triggers(editor: BaseDatabaseSchemaEditor) -> None:
    """Make the triggers, with the functions that they call."""
    install(editor, "rollups", "tags")
    editor.execute(TRIGGERS, params=None)


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("evaluations", "0001_initial"),
        ("evaluations", "0001_squashed_0029_pending_answered"),
        ("evaluations", "0002_tenancy"),
        ("evaluations", "0003_client_evaluations"),
        ("evaluations", "0004_places"),
        ("evaluations", "0005_batches"),
        ("evaluations", "0006_tags"),
        ("evaluations", "0007_living_projects"),
        ("evaluations", "0008_history_places"),
        ("evaluations", "0009_fill_history"),
        ("evaluations", "0010_windows"),
        ("evaluations", "0011_tagged"),
        ("evaluations", "0012_fill_tagged"),
        ("evaluations", "0013_once_an_output"),
        ("evaluations", "0014_capture_batch"),
        ("evaluations", "0015_judging"),
        ("evaluations", "0016_computing"),
        ("evaluations", "0017_bounds"),
        ("evaluations", "0018_partitions"),
        ("evaluations", "0019_stored"),
        ("evaluations", "0020_pruned"),
        ("evaluations", "0021_retention"),
        ("evaluations", "0022_fewer_indexes"),
        ("evaluations", "0023_index_plans"),
        ("evaluations", "0024_captures_by_account"),
        ("evaluations", "0025_waiting"),
        ("evaluations", "0026_narrower_histories"),
        ("evaluations", "0027_pruned_is_the_systems"),
        ("evaluations", "0028_names_of_indexes"),
        ("evaluations", "0029_pending_answered"),
        ("evaluations", "0030_rollups"),
        ("evaluations", "0031_unscored"),
        ("evaluations", "0032_saved_searches"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
        ("catalog", "0001_squashed_0002_tenancy"),
        ("projects", "0001_squashed_0004_imported"),
    ]
    operations = [
        Statements(make_tools),
        migrations.CreateModel(
            name='Pruned',
            fields=[
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='accounts.account')),
                ('evaluations_until', models.BigIntegerField(help_text='Requests of before this id are gone, and their evaluations.', null=True)),
                ('scores_until', models.BigIntegerField(help_text='Scores of before this id may be gone.', null=True)),
            ],
            options={
                'verbose_name_plural': 'pruned',
            },
        ),
        migrations.CreateModel(
            name='EvaluationRequest',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('capture', models.CharField(choices=[('all', 'Everything'), ('fails-only', 'Fails only (not part of the history)'), ('none', 'Nothing (purged an hour after completion)')], max_length=10)),
                ('strategy', models.CharField(default='none', max_length=30)),
                ('fingerprint', models.BigIntegerField(help_text="Digest of account and body, by which a client's retry is known.")),
                ('project_id', models.UUIDField(null=True)),
                ('app', models.CharField(max_length=50, null=True)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('input', models.TextField(null=True)),
                ('output', models.TextField(null=True)),
                ('contexts', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None)),
                ('gold', models.TextField(null=True)),
                ('system_prompt', models.TextField(null=True)),
                ('extras', models.JSONField(help_text='What few requests have: echoed fields, inputs of retrieval.', null=True)),
                ('tags', models.JSONField(null=True)),
                ('dataset_id', models.CharField(max_length=255, null=True)),
                ('dataset_sample_id', models.CharField(max_length=255, null=True)),
                ('log_id', models.CharField(max_length=255, null=True)),
                ('trace_id', models.CharField(max_length=255, null=True)),
                ('span_id', models.CharField(max_length=255, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('completed_at', models.DateTimeField(null=True)),
                ('pending_answered_at', models.DateTimeField(help_text='When the caller was answered `pending`.', null=True)),
                ('delivered_at', models.DateTimeField(help_text='The caller came back and got every verdict.', null=True)),
                ('purged', models.BooleanField(db_default=False, default=False, help_text='What capture did not keep is deleted.')),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['fingerprint'], name='ix_request_fingerprint'), models.Index(condition=models.Q(('tags__isnull', False)), fields=['account', '-id'], name='ix_request_tagged'), models.Index(condition=models.Q(models.Q(('capture', 'all'), _negated=True), ('purged', False)), fields=['completed_at'], name='ix_request_to_purge')],
            },
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('position', models.PositiveSmallIntegerField()),
                ('evaluator_id', models.CharField(max_length=100)),
                ('runs', models.CharField(help_text='The managed evaluator that does the work.', max_length=100, null=True)),
                ('family', models.CharField(max_length=60, null=True)),
                ('profile_id', models.UUIDField(null=True)),
                ('profile_name', models.CharField(max_length=120, null=True)),
                ('profile_revision', models.PositiveIntegerField(null=True)),
                ('explain_strategy', models.CharField(default='always', max_length=10)),
                ('lane', models.CharField(max_length=10, null=True)),
                ('status', models.CharField(choices=[('pending', 'Pending'), ('success', 'Success'), ('error', 'Error (a retry may help)'), ('validation_error', 'Cannot run (a retry would not help)')], max_length=20)),
                ('error_code', models.CharField(max_length=40, null=True)),
                ('error_message', models.TextField(null=True)),
                ('score', models.FloatField(null=True)),
                ('passed', models.BooleanField(null=True)),
                ('text_output', models.TextField(null=True)),
                ('explanation', models.TextField(null=True)),
                ('spans', models.JSONField(null=True)),
                ('extra', models.JSONField(null=True)),
                ('duration_us', models.BigIntegerField(null=True)),
                ('captured', models.BooleanField(help_text='Kept for search and retention; null until it is known.', null=True)),
                ('in_history', models.BooleanField(default=False)),
                ('n_attempts', models.PositiveSmallIntegerField(default=0)),
                ('n_sweeps', models.PositiveSmallIntegerField(default=0)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('evaluation_type', models.CharField(choices=[('patronus_evaluation', 'Made here'), ('client_evaluation', "Made by the account's own code"), ('annotation', 'Made by a person')], db_default='patronus_evaluation', default='patronus_evaluation', max_length=20)),
                ('details', models.JSONField(help_text='What only scores made elsewhere have.', null=True)),
                ('favorite', models.BooleanField(db_default=False, default=False)),
                ('feedback', models.CharField(choices=[('positive', 'Right'), ('negative', 'Wrong')], max_length=10, null=True)),
                ('project_id', models.UUIDField(null=True)),
                ('app', models.CharField(max_length=50, null=True)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('dataset_id', models.CharField(max_length=255, null=True)),
                ('log_id', models.CharField(max_length=255, null=True)),
                ('trace_id', models.CharField(max_length=255, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('completed_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('request', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='evaluations', to='evaluations.evaluationrequest')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['lease_expires_at'], name='ix_evaluation_pending'), models.Index(condition=models.Q(('lane', 'judge'), ('status', 'pending')), fields=['account', 'profile_id', 'lease_expires_at'], name='ix_evaluation_judging'), models.Index(condition=models.Q(('lane', 'cpu'), ('n_attempts', 0), ('status', 'pending')), fields=['account', 'id'], name='ix_evaluation_waiting'), models.Index(condition=models.Q(('lane', 'cpu'), ('n_attempts__gt', 0), ('status', 'pending')), fields=['account', 'lease_expires_at'], name='ix_evaluation_begun'), models.Index(condition=models.Q(('captured', True)), fields=['account', '-created_at', '-id'], name='ix_evaluation_account'), models.Index(condition=models.Q(('captured', True)), fields=['account', 'evaluator_id', '-created_at', '-id'], include=('passed',), name='ix_evaluation_evaluator_id'), models.Index(condition=models.Q(('captured', True)), fields=['account', 'profile_name', '-created_at', '-id'], include=('passed',), name='ix_evaluation_profile_name'), models.Index(condition=models.Q(('captured', True), ('project_id__isnull', False)), fields=['account', 'project_id', '-created_at', '-id'], include=('passed',), name='ix_evaluation_project_id'), models.Index(condition=models.Q(('captured', True), ('app__isnull', False)), fields=['account', 'app', '-created_at', '-id'], include=('passed',), name='ix_evaluation_app'), models.Index(condition=models.Q(('captured', True), ('experiment_id__isnull', False)), fields=['account', 'experiment_id', '-created_at', '-id'], include=('passed',), name='ix_evaluation_experiment_id'), models.Index(condition=models.Q(('captured', True), ('dataset_id__isnull', False)), fields=['account', 'dataset_id', '-created_at', '-id'], include=('passed',), name='ix_evaluation_dataset_id'), models.Index(condition=models.Q(('captured', True), ('log_id__isnull', False)), fields=['account', 'log_id'], name='ix_evaluation_log_id'), models.Index(condition=models.Q(('captured', True), ('trace_id__isnull', False)), fields=['account', 'trace_id'], name='ix_evaluation_trace_id'), models.Index(condition=models.Q(('captured', True), ('feedback__isnull', False)), fields=['account', 'feedback', '-created_at', '-id'], name='ix_evaluation_feedback'), models.Index(condition=models.Q(('captured', True), ('passed', False)), fields=['account', '-created_at', '-id'], name='ix_evaluation_failed'), models.Index(condition=models.Q(('captured', True), models.Q(('evaluation_type', 'patronus_evaluation'), _negated=True)), fields=['account', 'evaluation_type', '-created_at', '-id'], name='ix_evaluation_type'), models.Index(condition=models.Q(('captured', True), ('favorite', True)), fields=['account', '-created_at', '-id'], name='ix_evaluation_favorite'), models.Index(condition=models.Q(('captured', True), models.Q(('status', 'error'), ('status', 'validation_error'), _connector='OR')), fields=['account', '-created_at', '-id'], name='ix_evaluation_unscored')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('error_code', None), ('passed__isnull', False), ('score__isnull', False), ('status', 'success')), models.Q(('error_code', None), ('status', 'success'), models.Q(('evaluation_type', 'patronus_evaluation'), _negated=True)), models.Q(models.Q(('status', 'success'), _negated=True), ('in_history', False), ('passed', None), ('score', None)), _connector='OR'), name='ck_evaluation_score_or_error'), models.CheckConstraint(condition=models.Q(('score', None), models.Q(('score__gt', float("-inf")), ('score__lt', float("inf"))), _connector='OR'), name='ck_evaluation_score_finite')],
            },
        ),
        migrations.CreateModel(
            name='EvaluationTag',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'evaluation_id', 'digest', blank=True, editable=False, primary_key=True, serialize=False)),
                ('digest', models.BigIntegerField(help_text='tag_digest(account, key, value)')),
                ('created_at', models.DateTimeField(help_text="The evaluation's.")),
                ('history', models.BigIntegerField(help_text='history_tag(digest, evaluator_id, profile_name)', null=True)),
                ('score_id', models.BigIntegerField(help_text="The evaluation's id in its history.", null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('evaluation', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='evaluations.evaluation')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'digest', '-created_at', '-evaluation'], name='ix_evaluationtag_newest'), models.Index(fields=['account', 'history', 'score_id'], name='ix_evaluationtag_history')],
            },
        ),
        migrations.CreateModel(
            name='HistoryScore',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'evaluator_id', 'profile_name', 'trial', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId())),
                ('evaluator_id', models.CharField(max_length=100)),
                ('profile_name', models.CharField(max_length=120)),
                ('revision', models.IntegerField(help_text='Of the profile: by which threshold `passed` was judged.', null=True)),
                ('score', models.FloatField()),
                ('passed', models.BooleanField(null=True)),
                ('source', models.CharField(choices=[('evaluation', 'Evaluation'), ('experiment', 'Experiment'), ('import', 'Import')], max_length=10)),
                ('source_id', models.BigIntegerField(help_text='The evaluation or the output.')),
                ('trial', models.BooleanField(db_default=False, default=False, help_text="Of an experiment's config that has not been promoted.")),
                ('app', models.CharField(max_length=50, null=True)),
                ('project_id', models.UUIDField(null=True)),
                ('experiment_id', models.BigIntegerField(null=True)),
                ('config_id', models.BigIntegerField(null=True)),
                ('output_id', models.BigIntegerField(null=True)),
                ('xact', evalsvc.tenancy.fields.XactField(db_default=evalsvc.tenancy.fields.CurrentXact(), editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('trial', False)), fields=['account', 'evaluator_id', 'profile_name', 'xact'], name='ix_history_xact'), models.Index(condition=models.Q(('app__isnull', False)), fields=['account', 'evaluator_id', 'profile_name', 'app', 'id'], name='ix_history_app'), models.Index(condition=models.Q(('project_id__isnull', False)), fields=['account', 'evaluator_id', 'profile_name', 'project_id', 'trial', 'id'], name='ix_history_project'), models.Index(condition=models.Q(('experiment_id__isnull', False)), fields=['account', 'evaluator_id', 'profile_name', 'experiment_id', 'trial', 'id'], name='ix_history_experiment')],
                'constraints': [models.CheckConstraint(condition=models.Q(('score__gt', float("-inf")), ('score__lt', float("inf"))), name='ck_history_score_finite')],
            },
        ),
        migrations.CreateModel(
            name='DailyRollup',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('day', models.DateField(help_text="Of the evaluations' time, by UTC.")),
                ('arrived', models.DateField(help_text='First day of the month of their ids, and so of their partition.')),
                ('app', models.CharField(max_length=50)),
                ('evaluator_id', models.CharField(max_length=100)),
                ('profile_name', models.CharField(max_length=120)),
                ('error_code', models.CharField(max_length=40)),
                ('n', models.BigIntegerField()),
                ('n_scored', models.BigIntegerField(help_text='Of them those in the history. Only of these are the counts and sums.')),
                ('n_pass', models.BigIntegerField()),
                ('n_fail', models.BigIntegerField()),
                ('total', evalsvc.tenancy.fields.ExactField(help_text='Sum of the scores.')),
                ('squares', evalsvc.tenancy.fields.ExactField(help_text='Sum of their squares.')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'day', 'evaluator_id', 'profile_name', 'app', 'error_code', 'arrived'), name='uq_dailyrollup')],
            },
        ),
        migrations.CreateModel(
            name='RollupDelta',
            fields=[
                ('pk', models.CompositePrimaryKey('account_id', 'id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId())),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('day', models.DateField(help_text="Of the evaluations' time, by UTC.")),
                ('arrived', models.DateField(help_text='First day of the month of their ids, and so of their partition.')),
                ('app', models.CharField(max_length=50)),
                ('evaluator_id', models.CharField(max_length=100)),
                ('profile_name', models.CharField(max_length=120)),
                ('error_code', models.CharField(max_length=40)),
                ('n', models.BigIntegerField()),
                ('n_scored', models.BigIntegerField(help_text='Of them those in the history. Only of these are the counts and sums.')),
                ('n_pass', models.BigIntegerField()),
                ('n_fail', models.BigIntegerField()),
                ('total', evalsvc.tenancy.fields.ExactField(help_text='Sum of the scores.')),
                ('squares', evalsvc.tenancy.fields.ExactField(help_text='Sum of their squares.')),
            ],
        ),
        migrations.CreateModel(
            name='SavedSearch',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('query', models.JSONField(help_text='Filters by their short names, as they were written: a relative time stays so.')),
                ('created_by', models.CharField(max_length=120)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('owner', models.ForeignKey(help_text="Whose it is, and with whom it goes; null: the account's.", null=True, on_delete=django.db.models.deletion.CASCADE, to='accounts.member')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'owner', 'name'), name='uq_savedsearch_own'), models.UniqueConstraint(condition=models.Q(('owner__isnull', True)), fields=('account', 'name'), name='uq_savedsearch_shared')],
            },
        ),
        migrations.RunSQL(KEYS, migrations.RunSQL.noop),
        migrations.RunSQL(STORAGE, migrations.RunSQL.noop),
        Statements(partition),
        migrations.RunSQL("DROP FUNCTION become_partitioned", migrations.RunSQL.noop),
        *(protect(table) for table in GROWING),
        *(protect(f"evaluations_{table}") for table in ("pruned", "dailyrollup", "rollupdelta", "savedsearch")),
        Statements(make_triggers),
        only_for_system("make_partitions(int)"),
        only_for_system("rows_without_partition(int)"),
        migrations.RunSQL("SELECT make_partitions()", migrations.RunSQL.noop),
        # `verify` takes what it says for no loss.
        revoke("evaluations_pruned", "INSERT, UPDATE, DELETE"),
    ]
