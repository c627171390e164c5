"""Records of idempotency, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; an older one has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("rest", "0001_initial"),
        ("rest", "0002_tenancy"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0003_retention"),
    ]
    operations = [
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.BinaryField(max_length=32)),
                ('claim', models.UUIDField(help_text="The attempt that may finish this record; a sleeper's claim no longer matches.")),
                ('lease_expires_at', models.DateTimeField()),
                ('resource_id', models.BigIntegerField(help_text='Accepted work whose answer is still being made.', null=True)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.BinaryField(null=True)),
                ('headers', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='ix_idempotency_created')],
                'constraints': [models.UniqueConstraint(fields=('account', 'key'), name='uq_idempotency_key')],
            },
        ),
        protect("rest_idempotencyrecord"),
    ]
