"""Reviews with their items, answers and links, and their policies."""

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
        ("reviews", "0001_initial"),
        ("reviews", "0002_link_issuers"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='Review',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=200)),
                ('instructions', models.TextField(null=True)),
                ('kind', models.CharField(choices=[('output', 'Outputs of an experiment'), ('pair', 'Outputs of two configs, side by side'), ('evaluation', 'Evaluations'), ('span', 'Spans of traces')], max_length=10)),
                ('criteria', models.JSONField(default=list, help_text='What is asked, as the criteria stood; none for pairs.')),
                ('source', models.JSONField(help_text='Where the items come from, as the caller has said it.')),
                ('sample', models.JSONField(help_text='How items were drawn: method, seed, frame, and what the draw rests on.')),
                ('n_answers', models.PositiveSmallIntegerField(help_text='How many people answer each item.')),
                ('seed', models.BigIntegerField(help_text='Of the order and of the sides.')),
                ('show_scores', models.BooleanField(default=False)),
                ('show_answers', models.BooleanField(default=False)),
                ('show_expected', models.BooleanField(default=True)),
                ('n_items', models.PositiveIntegerField(default=0)),
                ('created_by', models.CharField(max_length=120)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('closed_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['account', '-created_at', 'id'], name='ix_review_account')],
                'constraints': [models.CheckConstraint(condition=models.Q(('n_answers__gte', 1)), name='ck_review_asks_somebody'), models.CheckConstraint(condition=models.Q(('kind', 'output'), ('kind', 'pair'), ('kind', 'evaluation'), ('kind', 'span'), _connector='OR'), name='ck_review_kind')],
            },
        ),
        migrations.CreateModel(
            name='ReviewItem',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('position', models.PositiveIntegerField(help_text='In the order in which they are given out, from 0.')),
                ('subject_id', models.BigIntegerField(help_text='Of the output, evaluation or span; of the first output of a pair.')),
                ('other_id', models.BigIntegerField(default=0, help_text='Of the second output of a pair.')),
                ('config_id', models.BigIntegerField(null=True)),
                ('other_config_id', models.BigIntegerField(null=True)),
                ('example_pos', models.PositiveIntegerField(help_text="The example's place in the experiment.", null=True)),
                ('is_swapped', models.BooleanField(default=False, help_text='The second output of a pair is shown first.')),
                ('probability', models.FloatField(help_text='With which it was drawn.')),
                ('n_answered', models.PositiveSmallIntegerField(default=0)),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('review', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='items', to='reviews.review')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('review', 'position'), name='uq_review_item_position'), models.UniqueConstraint(fields=('review', 'subject_id', 'other_id'), name='uq_review_item_once'), models.CheckConstraint(condition=models.Q(('probability__gt', 0.0), ('probability__lte', 1.0)), name='ck_review_item_probability')],
            },
        ),
        migrations.CreateModel(
            name='ReviewAnswer',
            fields=[
                ('id', models.BigIntegerField(db_default=evalsvc.tenancy.scope.NextId(), primary_key=True, serialize=False)),
                ('slot', models.PositiveSmallIntegerField(help_text='Which answer of its item; null: passed over.', null=True)),
                ('reviewer', models.CharField(max_length=200)),
                ('token', models.UUIDField(help_text='Of the present lease; who has lost it can answer nothing.')),
                ('lease_expires_at', models.DateTimeField(null=True)),
                ('answered_at', models.DateTimeField(null=True)),
                ('said', models.JSONField(help_text='By criteria; of a pair `choice`, as its sides were shown.', null=True)),
                ('outcome', models.CharField(choices=[('first', 'First'), ('second', 'Second'), ('tie', 'Tie')], help_text='In the order of configs.', max_length=6, null=True)),
                ('explanation', models.TextField(null=True)),
                ('earlier', models.JSONField(default=list, help_text='What was said before and taken back, the oldest first.')),
                ('account', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('review', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='reviews.review')),
                ('item', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='answers', to='reviews.reviewitem')),
            ],
            options={
                'indexes': [models.Index(fields=['review', 'reviewer', '-answered_at'], name='ix_review_answer_reviewer')],
                'constraints': [models.UniqueConstraint(fields=('item', 'slot'), name='uq_review_answer_slot'), models.UniqueConstraint(fields=('item', 'reviewer'), name='uq_review_answer_once'), models.CheckConstraint(condition=models.Q(('said__isnull', True), models.Q(('answered_at__isnull', False), ('said__isnull', False), ('slot__isnull', False)), _connector='OR'), name='ck_review_answer_has_its_place')],
            },
        ),
        migrations.CreateModel(
            name='ReviewLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('public', models.CharField(editable=False, max_length=24, unique=True)),
                ('secret_hash', models.BinaryField(max_length=32)),
                ('expires_at', models.DateTimeField()),
                ('revoked_at', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('review', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='links', to='reviews.review')),
                ('issued_by', models.CharField(editable=False, max_length=120, null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['account', 'review', '-created_at'], name='ix_review_link')],
            },
        ),
        protect("reviews_review"),
        protect("reviews_reviewitem"),
        protect("reviews_reviewanswer"),
        protect("reviews_reviewlink"),
    ]
