"""Connections and the secrets of webhooks, with their policies."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("judges", "0001_initial"),
        ("judges", "0001_squashed_0004_webhook_secret"),
        ("judges", "0002_tenancy"),
        ("judges", "0003_default_connection"),
        ("judges", "0004_webhook_secret"),
        ("judges", "0005_senses"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='Connection',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100, validators=[django.core.validators.RegexValidator('^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}\\Z', '1 to 100 letters, digits, spaces, dots, dashes or underscores.')])),
                ('base_url', models.CharField(help_text='As https://llm.example.com/v1; /chat/completions is added.', max_length=2048)),
                ('model', models.CharField(help_text='Asked when nothing names another.', max_length=200)),
                ('secret', models.BinaryField(null=True)),
                ('has_key', models.BooleanField(default=False, editable=False)),
                ('key_last4', models.CharField(blank=True, editable=False, max_length=4)),
                ('header_names', models.JSONField(default=list, editable=False)),
                ('price_input_per_million', models.DecimalField(blank=True, decimal_places=6, help_text='Money for a million tokens sent.', max_digits=12, null=True)),
                ('price_output_per_million', models.DecimalField(blank=True, decimal_places=6, help_text='Money for a million tokens written.', max_digits=12, null=True)),
                ('timeout_seconds', models.FloatField(default=60.0, help_text='For one whole call.')),
                ('rpm', models.PositiveIntegerField(blank=True, help_text='Calls a minute, for each model; empty: any.', null=True)),
                ('tpm', models.PositiveIntegerField(blank=True, help_text='Tokens a minute, for each model; empty: any.', null=True)),
                ('max_concurrency', models.PositiveIntegerField(blank=True, help_text='Calls at a time; empty: any.', null=True)),
                ('daily_budget', models.DecimalField(blank=True, decimal_places=6, help_text='Money a day (UTC); needs both prices.', max_digits=14, null=True)),
                ('is_enabled', models.BooleanField(default=True)),
                ('is_default', models.BooleanField(db_default=False, default=False, help_text='Asked by evaluators whose profile names no other.')),
                ('epoch', models.PositiveIntegerField(default=1, editable=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('revised_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('deleted_at', models.DateTimeField(editable=False, null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('sees_images', models.BooleanField(db_default=False, default=False, help_text='Its model reads attached images, as judge-image sends them.')),
                ('hears_audio', models.BooleanField(db_default=False, default=False, help_text='Its model reads attached recordings, as judge-audio sends them.')),
            ],
            options={
                'constraints': [models.UniqueConstraint(condition=models.Q(('deleted_at', None)), fields=('account', 'name'), name='uq_connection_name'), models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('account',), name='uq_connection_default'), models.CheckConstraint(condition=models.Q(('timeout_seconds__gt', 0), ('timeout_seconds__lte', 600)), name='ck_connection_timeout'), models.CheckConstraint(condition=models.Q(('deleted_at', None), ('secret', None), _connector='OR'), name='ck_deleted_connection_has_no_secret')],
            },
        ),
        migrations.CreateModel(
            name='WebhookSecret',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('secret', models.BinaryField()),
                ('last4', models.CharField(max_length=4)),
                ('previous', models.BinaryField(null=True)),
                ('previous_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('previous', None), ('previous_until', None)), models.Q(('previous__isnull', False), ('previous_until__isnull', False)), _connector='OR'), name='ck_webhook_secret_previous_ends')],
            },
        ),
        protect("judges_connection"),
        protect("judges_webhooksecret"),
    ]
