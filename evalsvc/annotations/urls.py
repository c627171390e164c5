"""The addresses of annotations."""

from django.urls import path

from evalsvc.annotations.api.annotations import AllAnnotationCriteriaView, AnnotateView, AnnotationCriteriaView
from evalsvc.annotations.api.labels import AnnotationCriteriaSearchView, AnnotationSearchView, AnnotationsView

urlpatterns = [
    path("v1/annotate", AnnotateView.as_view()),
    path("v1/annotation-criteria", AllAnnotationCriteriaView.as_view()),
    path("v1/annotations", AnnotationsView.as_view()),
    path("v1/annotations/search", AnnotationSearchView.as_view()),
    path("v1/annotation-criteria/search", AnnotationCriteriaSearchView.as_view()),
    path("v1/annotation-criteria/<uuid:id>", AnnotationCriteriaView.as_view()),
]
