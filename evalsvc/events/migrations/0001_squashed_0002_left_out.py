"""Endpoints, the outbox and its deliveries, and their policies."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

import evalsvc.events.models
import evalsvc.tenancy.scope
from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("events", "0001_initial"),
        ("events", "0002_left_out"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
        ("evaluations", "0001_squashed_0032_saved_searches"),
    ]
    operations = [
        migrations.CreateModel(
            name='OutboxEvent',
            fields=[
                ('id', models.CharField(default=evalsvc.events.models.new_event_id, editable=False, max_length=40, primary_key=True, serialize=False)),
                ('type', models.CharField(max_length=40)),
                ('payload', models.JSONField(help_text='Ids and numbers; never a text of a sample, never a key.')),
                ('dedupe', models.CharField(help_text='Of one type, an account has each only once.', max_length=80, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('spread_at', models.DateTimeField(help_text='When its deliveries were made.', null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('spread_at', None)), fields=['created_at'], name='ix_event_to_spread'), models.Index(fields=['created_at'], name='ix_event_age')],
                'constraints': [models.UniqueConstraint(fields=('account', 'type', 'dedupe'), name='uq_event_once')],
            },
        ),
        migrations.CreateModel(
            name='EventEndpoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('url', models.CharField(max_length=2048)),
                ('event_types', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(choices=[('evaluation.failed', 'A captured verdict fails its profile'), ('experiment.finished', 'An experiment is done, or has failed'), ('decision.made', 'A config of an experiment was stopped or brought back'), ('budget.near_end', 'A connection has spent most of its daily budget'), ('connection.failing', 'A connection is left alone, as its calls fail')], max_length=40), size=None)),
                ('rules', models.JSONField(default=dict, help_text='Of evaluation.failed: evaluators, profiles, project_ids, max_score.')),
                ('per_hour', models.PositiveIntegerField(default=100, help_text='Deliveries begun in any hour; more are left out.')),
                ('is_enabled', models.BooleanField(default=True)),
                ('secret', models.BinaryField()),
                ('last4', models.CharField(editable=False, max_length=4)),
                ('previous', models.BinaryField(null=True)),
                ('previous_until', models.DateTimeField(editable=False, null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('revised_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), editable=False)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('previous', None), ('previous_until', None)), models.Q(('previous__isnull', False), ('previous_until__isnull', False)), _connector='OR'), name='ck_event_endpoint_previous_ends')],
            },
        ),
        migrations.CreateModel(
            name='EventDelivery',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('status', models.CharField(choices=[('pending', 'On its way'), ('delivered', 'Delivered'), ('failed', 'Failed'), ('limited', 'Left out by the rate limit')], default='pending', max_length=10)),
                ('n_attempts', models.PositiveIntegerField(default=0)),
                ('first_at', models.DateTimeField(help_text='Tried for a day from here; a replay begins anew.')),
                ('next_at', models.DateTimeField()),
                ('lease_until', models.DateTimeField(null=True)),
                ('last_status', models.PositiveSmallIntegerField(help_text='HTTP status of the last answer.', null=True)),
                ('last_error', models.CharField(max_length=200, null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='events.outboxevent')),
                ('endpoint', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='events.eventendpoint')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('status', 'pending')), fields=['next_at'], name='ix_event_delivery_due'), models.Index(fields=['account', '-id'], name='ix_event_delivery_list'), models.Index(condition=models.Q(('status', 'limited'), _negated=True), fields=['endpoint', '-created_at'], name='ix_event_delivery_begun'), models.Index(condition=models.Q(('status', 'limited')), fields=['endpoint', '-created_at'], name='ix_event_delivery_left_out')],
                'constraints': [models.UniqueConstraint(fields=('event', 'endpoint'), name='uq_event_delivery')],
            },
        ),
        protect("events_eventendpoint"),
        protect("events_outboxevent"),
        protect("events_eventdelivery"),
    ]
