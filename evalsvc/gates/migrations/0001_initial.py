"""Gates, and their policy."""

import django.db.models.deletion
import django.db.models.functions.datetime
import evalsvc.tenancy.scope
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the table."""

    initial = True

    dependencies = [
        ('accounts', '0006_deletions'),
        # The database makes ids by a function of theirs.
        ('evaluations', '0029_pending_answered'),
    ]

    operations = [
        migrations.CreateModel(
            name='Gate',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200, null=True)),
                ('outcome', models.CharField(choices=[('pass', 'Every rule is shown to hold'), ('fail', 'The opposite of some rule is shown'), ('undecided', 'These examples cannot tell')], max_length=10)),
                ('experiment_id', models.BigIntegerField(help_text='Of the candidate; null for a history.', null=True)),
                ('config_id', models.BigIntegerField(help_text='The candidate.', null=True)),
                ('baseline_experiment_id', models.BigIntegerField(null=True)),
                ('baseline_config_id', models.BigIntegerField(null=True)),
                ('evaluator_id', models.CharField(help_text='Of a history.', max_length=255, null=True)),
                ('benchmark', models.CharField(max_length=100, null=True)),
                ('attempt', models.PositiveIntegerField(help_text='Which candidate on the benchmark; 1 for the first.', null=True)),
                ('is_first', models.BooleanField(default=False, help_text='The first gate of its candidate on the benchmark.')),
                ('evidence', models.JSONField(help_text='All that the answer says, but for texts of outputs.')),
                ('actor', models.CharField(max_length=255)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_gate_newest'), models.Index(fields=['account', 'experiment_id', '-id'], name='ix_gate_experiment')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('is_first', True)), fields=('account', 'benchmark', 'attempt'), name='uq_gate_attempt')],
            },
        ),
        protect("gates_gate"),
    ]
