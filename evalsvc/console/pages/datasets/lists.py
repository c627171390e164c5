"""The list of datasets."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from evalsvc.console.access import PageRequest, console_page
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.calls import ApiCall
from evalsvc.console.parts.moments import time_tag
from evalsvc.console.parts.tables import Column, PageTable, TableRow, paginate
from evalsvc.datasets.selectors import list_datasets, newest_versions
from evalsvc.reports.page.elements import element, join_parts

ON_A_PAGE = 50
COLUMNS = (
    Column("Dataset"),
    Column("Newest version", kind="figure"),
    Column("Examples", kind="figure"),
    Column("Came as"),
    Column("Changed"),
)


@console_page()
def datasets(request: PageRequest) -> HttpResponse:
    """List the account's datasets, newest first, each with its newest version."""
    account = request.visitor.account
    page_rows, links = paginate(request, list_datasets(account=account), ON_A_PAGE)
    newest = newest_versions(account=account, datasets=page_rows)
    rows = []
    for dataset in page_rows:
        version = newest[dataset.pk]
        about = element("span", dataset.description, class_="facts") if dataset.description else None
        name = join_parts([element("bdi", dataset.name), about])
        cells = (
            name,
            f"{version.number}",
            f"{version.n_examples}",
            version.get_format_display(),
            time_tag(version.created_at, request.visitor.now),
        )
        rows.append(TableRow(cells, href=page_address("console_dataset", dataset.pk)))
    context = {
        "table": PageTable("Datasets", COLUMNS, rows, is_walked=True),
        **links,
        "call": ApiCall("GET", "/v1/datasets", {"limit": ON_A_PAGE}),
    }
    return render(request, "console/datasets/list.html", context)
