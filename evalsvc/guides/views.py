"""Pages of the guides. They are public and contain no account data."""

from __future__ import annotations

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from evalsvc.guides.library import find_guide, find_picture, iter_guide_groups
from evalsvc.guides.renderer import render_guide
from evalsvc.guides.search import LONGEST_QUERY, search_guides


@require_safe
def guides_page(request: HttpRequest) -> HttpResponse:
    """Show all guides by what they are for."""
    return render(request, "guides/index.html", {"groups": list(iter_guide_groups())})


@require_safe
def guide_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one guide; a path with a file extension redirects to the one that has none."""
    if slug.endswith(".md"):
        return redirect("guide", slug.removesuffix(".md"))
    guide = find_guide(slug)
    if guide is None:
        raise Http404
    context = {"guide": guide, "rendered": render_guide(guide.slug), "groups": list(iter_guide_groups())}
    return render(request, "guides/guide.html", context)


@require_safe
def guide_picture(request: HttpRequest, name: str) -> FileResponse:
    """Answer with a picture of a guide."""
    path = find_picture(name)
    if path is None:
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/png", headers={"Cache-Control": "public, max-age=3600"})


@require_safe
def guide_search_page(request: HttpRequest) -> HttpResponse:
    """Show the sections that match the words of `q`."""
    query = request.GET.get("q", "").strip()[:LONGEST_QUERY]
    context = {"query": query, "hits": search_guides(query), "groups": list(iter_guide_groups())}
    return render(request, "guides/search.html", context)
