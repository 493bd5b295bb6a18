"""Experiments: many algorithms on many games, in parallel, with results on disk."""

from regretkit.workbench._comparison import ComparedRun as ComparedRun
from regretkit.workbench._comparison import Comparison as Comparison
from regretkit.workbench._executors import RayExecutor as RayExecutor
from regretkit.workbench._experiment import Experiment as Experiment
from regretkit.workbench._experiment import SuiteGame as SuiteGame
from regretkit.workbench._experiment import compare as compare
from regretkit.workbench._experiment import suite as suite
from regretkit.workbench._figures import gap_table as gap_table
from regretkit.workbench._ranking import Ranking as Ranking
from regretkit.workbench._ranking import ranking as ranking
from regretkit.workbench._report import html_report as html_report
from regretkit.workbench._results import read_results as read_results
