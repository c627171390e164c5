"""/v1/projects: list, make, read, delete; GET /v1/apps."""

from __future__ import annotations

import uuid
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.projects import services
from evalsvc.projects.models import MAX_NAME
from evalsvc.projects.selectors import get_project, list_apps, list_projects
from evalsvc.rest.answering.shapes import AnswerShape, AnswerWithWarnings, Moment, answers_with, build_shape
from evalsvc.rest.bodies.fields import StrictText

LARGEST = 2**31 - 1


class ProjectFacts(AnswerWithWarnings):
    """A project."""

    id: uuid.UUID
    name: str
    created_at: Moment
    created_by: str | None


class ProjectAnswer(AnswerShape):
    """One project."""

    project: ProjectFacts


class ProjectPage(AnswerWithWarnings):
    """A page of projects."""

    projects: list[ProjectFacts]


class AppOut(AnswerShape):
    """An application whose answers are evaluated."""

    name: str


class Apps(AnswerWithWarnings):
    """Apps by name."""

    apps: list[AppOut]


class ProjectIn(serializers.Serializer[Any]):
    """The name of a project; what else a client sends is ignored."""

    name = StrictText(max_length=MAX_NAME)


class PageQuery(serializers.Serializer[Any]):
    """A page of a list."""

    limit = serializers.IntegerField(min_value=0, max_value=1000, default=1000)
    offset = serializers.IntegerField(min_value=0, max_value=LARGEST, default=0)


def requested_page(view: AccountView, request: Request) -> slice:
    """Return the slice of rows that the query requests; unknown parameters are reported in `warnings`."""
    query = view.parse_query(request, PageQuery)
    start: int = query["offset"]
    return slice(start, start + query["limit"])


class AppsView(AccountView):
    """Apps."""

    @extend_schema(
        operation_id="list_apps",
        tags=["projects"],
        parameters=[PageQuery],
        responses=answers_with(Apps),
    )
    def get(self, request: Request) -> Response:
        """List apps by name. An app is made by the first evaluation that names it."""
        rows = list_apps(account=self.account)[requested_page(self, request)]
        return Response(Apps(apps=[build_shape(row, AppOut) for row in rows]))


class ProjectsView(AccountView):
    """Projects."""

    remembers_tries = ()

    @extend_schema(
        operation_id="list_projects",
        tags=["projects"],
        parameters=[PageQuery],
        responses=answers_with(ProjectPage),
    )
    def get(self, request: Request) -> Response:
        """List projects, newest first."""
        query = self.parse_query(request, PageQuery)
        projects = list_projects(account=self.account)
        rows = self.get_offset_list(request).take_page(projects, limit=query["limit"], offset=query["offset"])
        return Response(ProjectPage(projects=[build_shape(row, ProjectFacts) for row in rows]))

    @extend_schema(
        operation_id="create_project", tags=["projects"], request=ProjectIn, responses=answers_with(ProjectFacts)
    )
    def post(self, request: Request) -> Response:
        """Return the project of that name, making it if it is new. The answer is the bare project."""
        body = ProjectIn(data=request.data)
        self.validate_lenient(body)
        name = body.validated_data["name"]
        project = services.create_project(account=self.account, name=name, actor=self.caller.actor)
        return Response(build_shape(project, ProjectFacts))


class ProjectView(AccountView):
    """One project."""

    @extend_schema(
        operation_id="project",
        tags=["projects"],
        responses=answers_with(ProjectAnswer),
    )
    def get(self, request: Request, id: uuid.UUID) -> Response:
        """Return a project."""
        return Response(ProjectAnswer(project=build_shape(get_project(account=self.account, id=id), ProjectFacts)))

    @extend_schema(operation_id="delete_project", tags=["projects"], responses={204: None})
    def delete(self, request: Request, id: uuid.UUID) -> Response:
        """Delete an empty project; refused (`in_use`) while experiments, evaluations or anything else is in it."""
        services.delete_project(account=self.account, id=id, actor=self.caller.actor)
        return Response(status=204)
