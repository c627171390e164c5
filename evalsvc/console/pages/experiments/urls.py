"""Addresses of experiments."""

from django.urls import path

from evalsvc.console.pages.experiments import acts, creation, lists, outputs, page

urlpatterns = [
    path("experiments/<id:id>/live", page.live, name="console_experiment_live"),
    path("experiments", lists.experiments, name="console_experiments"),
    path("experiments/new", creation.new_experiment, name="console_experiment_new"),
    path("experiments/<id:id>", page.experiment, name="console_experiment"),
    path("experiments/<id:id>/outputs", outputs.outputs, name="console_experiment_outputs"),
    path("experiments/<id:id>/act", acts.act, name="console_experiment_act"),
    path("experiments/<id:id>/delete", acts.delete_all, name="console_experiment_delete"),
    path("experiments/<id:id>/configs/<id:config_id>/clone", acts.clone_config, name="console_config_clone"),
    path("experiments/<id:id>/configs/<id:config_id>/delete", acts.delete_config, name="console_config_delete"),
]
