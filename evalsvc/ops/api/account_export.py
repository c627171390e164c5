"""GET /v1/account/export: download all data of an account."""

from __future__ import annotations

from django.http import StreamingHttpResponse
from django.utils.cache import patch_vary_headers
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from evalsvc.accounts.access.permissions import check_write_scope
from evalsvc.accounts.views import AccountView
from evalsvc.ops.moving.export import AccountExport, GzipExport, begin_export

NDJSON = "application/x-ndjson"


class AccountExportView(AccountView):
    """The calling account as a file."""

    scoped = False
    bare = ("GET",)

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Require a key with write scope: a read-only key must not export the complete account."""
        super().initial(request, *args, **kwargs)
        check_write_scope(self.caller)

    @extend_schema(operation_id="export_account", tags=["accounts"], responses={(200, NDJSON): OpenApiTypes.STR})
    def get(self, request: Request) -> StreamingHttpResponse:
        """Download all that the account holds, as of one moment, for `manage.py import_account` on another server.

        Lines of JSON: a manifest with the number of rows of each table, the rows, and an end with their digest. A file
        without its end was cut. Secrets are not in it. Asks for a key that may write.
        """
        begin_export(account=self.account, actor=self.caller.actor)
        lines = AccountExport(self.account)
        gzipped = "gzip" in request.headers.get("Accept-Encoding", "")
        response = StreamingHttpResponse(GzipExport(lines) if gzipped else lines, content_type=NDJSON)
        if gzipped:
            response["Content-Encoding"] = "gzip"
        patch_vary_headers(response, ["Accept-Encoding"])
        response["Content-Disposition"] = content_disposition_header(True, f"{self.account.name}.ndjson")
        return response
