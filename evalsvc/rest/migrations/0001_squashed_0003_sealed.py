"""Records of idempotency, with their policies."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

from evalsvc.tenancy.rls import protect


class Migration(migrations.Migration):
    """Make the tables of a new database at once; one of 0.4.0 has them by the migrations that this replaces."""

    initial = True
    replaces = [
        ("rest", "0001_initial"),
        ("rest", "0001_squashed_0002_tenancy"),
        ("rest", "0002_tenancy"),
        ("rest", "0003_sealed"),
    ]
    dependencies = [
        ("accounts", "0001_squashed_0009_require_second_factor"),
    ]
    operations = [
        migrations.CreateModel(
            name='IdempotencyRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(help_text="A digest of the caller's key.", max_length=255)),
                ('fingerprint', models.BinaryField(help_text='A digest of the request.', max_length=32)),
                ('claim', models.UUIDField(help_text="The attempt that may finish this record; a sleeper's claim no longer matches.")),
                ('lease_expires_at', models.DateTimeField()),
                ('resource_id', models.BigIntegerField(help_text='Accepted work, or what the answer shows.', null=True)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.BinaryField(help_text='Sealed under the request: see `kept`.', null=True)),
                ('headers', models.JSONField(default=dict)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('account', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, to='accounts.account')),
                ('cleared_at', models.DateTimeField(help_text='When the resource was deleted, and the answer with it.', null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['created_at'], name='ix_idempotency_created'), models.Index(condition=models.Q(('cleared_at', None), ('resource_id__isnull', False)), fields=['account', 'resource_id'], name='ix_idempotency_resource')],
                'constraints': [models.UniqueConstraint(fields=('account', 'key'), name='uq_idempotency_key')],
            },
        ),
        protect("rest_idempotencyrecord"),
    ]
