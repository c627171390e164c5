"""Criteria of annotations, with their policies."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("annotations", "0001_initial"),
        ("annotations", "0001_squashed_0002_tenancy"),
        ("annotations", "0002_tenancy"),
        ("annotations", "0003_resource_types"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
        ("projects", "0001_squashed_0004_imported"),
    ]
    operations = [
        migrations.CreateModel(
            name='AnnotationCriteria',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('description', models.TextField(blank=True, null=True)),
                ('annotation_type', models.CharField(choices=[('binary', 'Pass or fail'), ('continuous', 'A number'), ('discrete', 'One of some numbers'), ('categorical', 'One of some labels'), ('text_annotation', 'A text')], max_length=20)),
                ('categories', models.JSONField(blank=True, help_text='[{label, score}] of discrete and categorical ones.', null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('archived_at', models.DateTimeField(editable=False, help_text='Deleted: its labels stay, its name is free.', null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
                ('resource_types', models.JSONField(db_default=models.Value([], models.JSONField()), default=list, help_text='What it may be asked of; empty: of all.')),
            ],
            options={
                'verbose_name': 'annotation criteria',
                'verbose_name_plural': 'annotation criteria',
                'constraints': [models.UniqueConstraint(condition=models.Q(('archived_at', None)), fields=('account', 'project', 'name'), name='uq_annotation_criteria_name')],
            },
        ),
        protect("annotations_annotationcriteria"),
    ]
