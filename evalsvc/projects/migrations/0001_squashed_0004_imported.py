"""Projects, their experiments and apps, with their policies."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("projects", "0001_initial"),
        ("projects", "0001_squashed_0003_created_by"),
        ("projects", "0002_tenancy"),
        ("projects", "0003_created_by"),
        ("projects", "0004_imported"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='Project',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=50)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_by', models.CharField(help_text='`key:<id>`; null where an evaluation or experiment brought the name.', max_length=120, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='uq_project_name')],
            },
        ),
        migrations.CreateModel(
            name='Experiment',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('tags', models.JSONField(default=dict)),
                ('metadata', models.JSONField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.RESTRICT, to='projects.project')),
                ('imported_at', models.DateTimeField(help_text='It came in as a bundle: what it held then does not go on.', null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-id'], name='ix_experiment_account')],
            },
        ),
        migrations.CreateModel(
            name='App',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=50)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='uq_app_name')],
            },
        ),
        protect("projects_project"),
        protect("projects_app"),
        protect("projects_experiment"),
    ]
