"""Comparisons, and their judgements."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
import evalsvc.tenancy.scope
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables."""

    initial = True

    dependencies = [
        ('accounts', '0006_deletions'),
        ('projects', '0004_imported'),
        # The database makes ids by a function of theirs.
        ('evaluations', '0029_pending_answered'),
    ]

    operations = [
        migrations.CreateModel(
            name='OutputComparison',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('state', models.CharField(choices=[('running', 'Running'), ('finished', 'Finished'), ('stopped', 'Stopped by a person')], default='running', max_length=10)),
                ('reason', models.CharField(choices=[('all', 'Everything is judged'), ('budget', 'The budget is used up'), ('first', 'It is settled which config is first'), ('half_width', 'Differences are known closely enough')], help_text='Why it finished.', max_length=10, null=True)),
                ('configs', django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), help_text='In their order; a baseline comes first.', size=None)),
                ('judge', models.JSONField(help_text='Resolved: what is run, with which settings.')),
                ('judge_digest', models.CharField(help_text='Equal digest, equal judge.', max_length=64)),
                ('design', models.CharField(choices=[('all', 'Every pair'), ('baseline', 'Each config against one'), ('active', 'The pairs that may still decide who is first')], max_length=10)),
                ('budget', models.PositiveIntegerField(help_text='Judgements at most.', null=True)),
                ('half_width', models.FloatField(help_text='Of differences of strengths, where `active` may stop.', null=True)),
                ('level', models.FloatField(default=0.95)),
                ('seed', models.BigIntegerField(default=0)),
                ('n_rounds', models.PositiveSmallIntegerField(default=0)),
                ('ranking', models.JSONField(help_text='Of all judgements, once it has ended.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('experiment', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='output_comparisons', to='projects.experiment')),
                ('previous', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='comparisons.outputcomparison')),
            ],
        ),
        migrations.CreateModel(
            name='Judgement',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('pos', models.PositiveIntegerField()),
                ('example_id', models.BigIntegerField()),
                ('first_id', models.BigIntegerField(help_text="Of a config; the one that comes first in the comparison's list.")),
                ('second_id', models.BigIntegerField()),
                ('first_output_id', models.BigIntegerField()),
                ('second_output_id', models.BigIntegerField()),
                ('first_hash', models.CharField(max_length=64)),
                ('second_hash', models.CharField(max_length=64)),
                ('state', models.CharField(choices=[('open', 'Open'), ('done', 'Done')], default='open', max_length=10)),
                ('winner', models.CharField(choices=[('first', 'First'), ('tie', 'Neither'), ('second', 'Second')], max_length=10, null=True)),
                ('is_flipped', models.BooleanField(help_text='The two orders disagree; null where none was asked.', null=True)),
                ('is_for_first_shown', models.BooleanField(help_text='Of a flip: whichever was shown first won.', null=True)),
                ('error_code', models.CharField(max_length=40, null=True)),
                ('error_message', models.TextField(null=True)),
                ('explanation', models.TextField(null=True)),
                ('orders', models.JSONField(help_text='What was said in each order.', null=True)),
                ('cost', models.FloatField(null=True)),
                ('reused_from', models.BigIntegerField(help_text='The judgement that was taken over.', null=True)),
                ('token', models.UUIDField(null=True)),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('attempts', models.PositiveSmallIntegerField(db_default=0, default=0)),
                ('judged_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('comparison', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='judgements', to='comparisons.outputcomparison')),
            ],
        ),
        migrations.AddIndex(
            model_name='outputcomparison',
            index=models.Index(fields=['account', '-id'], name='ix_outputcomparison_list'),
        ),
        migrations.AddIndex(
            model_name='outputcomparison',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['account'], name='ix_outputcomparison_running'),
        ),
        migrations.AddConstraint(
            model_name='outputcomparison',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('finished_at', None), ('state', 'running')), models.Q(models.Q(('state', 'running'), _negated=True), ('finished_at__isnull', False)), _connector='OR'), name='ck_comparison_ended'),
        ),
        migrations.AddIndex(
            model_name='judgement',
            index=models.Index(fields=['comparison', 'id'], name='ix_judgement_page'),
        ),
        migrations.AddIndex(
            model_name='judgement',
            index=models.Index(condition=models.Q(('state', 'open')), fields=['comparison', 'id'], name='ix_judgement_open'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.UniqueConstraint(fields=('comparison', 'first_id', 'second_id', 'pos'), name='uq_judgement_once'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.CheckConstraint(condition=models.Q(('first_id', models.F('second_id')), _negated=True), name='ck_judgement_of_two'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('error_code', None), ('state', 'open'), ('winner', None)), models.Q(('error_code', None), ('state', 'done'), ('winner__isnull', False)), models.Q(('error_code__isnull', False), ('state', 'done'), ('winner', None)), _connector='OR'), name='ck_judgement_or_error'),
        ),
        migrations.AddConstraint(
            model_name='judgement',
            constraint=models.CheckConstraint(condition=models.Q(('cost', None), models.Q(('cost__gt', float("-inf")), ('cost__lt', float("inf"))), _connector='OR'), name='ck_judgement_cost_is_finite'),
        ),
        protect('comparisons_outputcomparison'),
        protect('comparisons_judgement'),
    ]
