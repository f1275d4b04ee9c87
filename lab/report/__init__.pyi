from ._facts import ReportLine as ReportLine
from ._lines import Report as Report
from ._lines import report as report
from ._lines import setting as setting
from ._lines import together as together
from ._write import FORMATS as FORMATS
from ._write import write as write
from .methods import compare as compare
