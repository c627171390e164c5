"""Datasets with their versions and examples, with their policies; nothing updates what is frozen."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.datasets.fields
import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect, revoke


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("datasets", "0001_initial"),
        ("datasets", "0001_squashed_0003_passages"),
        ("datasets", "0002_tenancy"),
        ("datasets", "0003_passages"),
        ("datasets", "0004_content_again"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='Dataset',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('description', models.TextField(blank=True)),
                ('n_versions', models.PositiveIntegerField(default=0, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'name'), name='uq_dataset_name')],
            },
        ),
        migrations.CreateModel(
            name='DatasetVersion',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('n_examples', models.PositiveIntegerField()),
                ('content_hash', models.CharField(help_text='SHA-256 of the canonical rows, in order.', max_length=64)),
                ('input_schema', evalsvc.datasets.fields.JSONTextField(help_text='JSON Schema that every input satisfies.')),
                ('expected_schema', evalsvc.datasets.fields.JSONTextField(help_text='JSON Schema that every expected value satisfies.')),
                ('format', models.CharField(choices=[('jsonl', 'JSONL'), ('csv', 'CSV'), ('parquet', 'Parquet'), ('beir', 'BEIR'), ('squad', 'SQuAD'), ('gsm8k', 'GSM8K'), ('json', 'JSON body')], max_length=10)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('dataset', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='versions', to='datasets.dataset')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('dataset', 'number'), name='uq_dataset_version_number'), models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='ck_dataset_version_counts_from_one'), models.CheckConstraint(condition=models.Q(('n_examples__gte', 1)), name='ck_dataset_version_not_empty')],
            },
        ),
        migrations.CreateModel(
            name='Example',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(help_text='Place in the version, from 0.')),
                ('key', models.CharField(help_text="The caller's own id; else the row's number, from 1.", max_length=255)),
                ('input', evalsvc.datasets.fields.JSONTextField()),
                ('expected', evalsvc.datasets.fields.JSONTextField(null=True)),
                ('contexts', evalsvc.datasets.fields.JSONTextField(help_text='List of texts or passages, or null.', null=True)),
                ('metadata', evalsvc.datasets.fields.JSONTextField(default=dict)),
                ('digest', models.BinaryField(help_text='SHA-256 of the canonical row.', max_length=32)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('version', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='examples', to='datasets.datasetversion')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('version', 'position'), name='uq_example_position'), models.UniqueConstraint(fields=('version', 'key'), name='uq_example_key')],
            },
        ),
        protect("datasets_dataset"),
        protect("datasets_datasetversion"),
        protect("datasets_example"),
        revoke("datasets_datasetversion", "UPDATE"),
        revoke("datasets_example", "UPDATE"),
    ]
