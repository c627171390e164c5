"""Numbers in, numbers out: the intervals of the service.

Imports numpy; scipy and arch are loaded by the strategies that need them.
"""

from evalsvc.stats.basics.results import Advice, HistoryInterval
from evalsvc.stats.formulas.intervals import clopper_pearson, hoeffding, wilson
from evalsvc.stats.histories.percentile import history_interval
from evalsvc.stats.strategies.answers import interval_for
from evalsvc.stats.strategies.of_histories import StrategyNotApplicable
from evalsvc.stats.strategies.registry import HISTORY_STRATEGIES

__all__ = [
    "HISTORY_STRATEGIES",
    "Advice",
    "HistoryInterval",
    "StrategyNotApplicable",
    "clopper_pearson",
    "history_interval",
    "hoeffding",
    "interval_for",
    "wilson",
]
