"""The addresses of evaluations."""

from django.urls import path

from evalsvc.console.pages.evaluations import searches, views

urlpatterns = [
    path("evaluations", views.evaluations_page, name="console_evaluations"),
    path("evaluations/export.csv", views.export_page, name="console_evaluations_export"),
    path("evaluations/searches", searches.searches_page, name="console_searches"),
    path("evaluations/searches/<id:id>", searches.change_saved, name="console_search"),
    path("evaluations/searches/<id:id>/share", searches.share_saved, name="console_search_share"),
    path("evaluations/searches/<id:id>/unshare", searches.unshare_saved, name="console_search_unshare"),
    path("evaluations/searches/<id:id>/delete", searches.delete_saved, name="console_search_delete"),
    path("evaluations/<id:id>", views.evaluation_page, name="console_evaluation"),
    path("evaluations/<id:id>/label", views.label_evaluation, name="console_evaluation_label"),
    path("evaluations/<id:id>/question", views.ask_first_question, name="console_evaluation_question"),
    path("evaluations/<id:id>/example", views.keep_example, name="console_evaluation_example"),
]
