"""Prompts with their revisions and labels, and their policies; nothing updates what is frozen."""

import uuid

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect, revoke


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("prompts", "0001_initial"),
        ("prompts", "0002_label_evidence"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
        ("projects", "0001_squashed_0004_imported"),
    ]
    operations = [
        migrations.CreateModel(
            name='Prompt',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=255)),
                ('description', models.TextField(blank=True, null=True)),
                ('n_revisions', models.PositiveIntegerField(default=0, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('updated_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('project', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='projects.project')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'project', 'name'), name='uq_prompt_name')],
            },
        ),
        migrations.CreateModel(
            name='PromptRevision',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('number', models.PositiveIntegerField()),
                ('body', models.TextField()),
                ('body_sha256', models.CharField(help_text='Of the text without the blanks at its ends.', max_length=64)),
                ('metadata', models.JSONField(blank=True, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='prompts.prompt')),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'body_sha256'], name='ix_prompt_revision_hash')],
                'constraints': [models.UniqueConstraint(fields=('account', 'prompt', 'number'), name='uq_prompt_revision_number'), models.CheckConstraint(condition=models.Q(('number__gte', 1)), name='ck_prompt_revision_counts_from_one')],
            },
        ),
        migrations.CreateModel(
            name='PromptLabel',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=100)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('prompt', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='prompts.prompt')),
                ('revision', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='labels', to='prompts.promptrevision')),
                ('evidence', models.JSONField(help_text='The experiment that it rests on, as it stood; null where somebody just set it.', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account', 'prompt', 'name'), name='uq_prompt_label')],
            },
        ),
        protect("prompts_prompt"),
        protect("prompts_promptrevision"),
        protect("prompts_promptlabel"),
        revoke("prompts_promptrevision", "UPDATE"),
    ]
