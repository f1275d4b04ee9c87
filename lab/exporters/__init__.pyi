# What `lab.exporters` holds. An exporter is one line here, and its module's name is its own:
# `lab list`, `create`, type checkers and editors read this file.
from ._base import Exporter as Exporter
from ._base import knob as knob
from ._catalog import add as add
from ._catalog import create as create
from ._catalog import get as get
from ._catalog import names as names
from ._curves import CurveExporter as CurveExporter
from ._curves import CurveLog as CurveLog
from ._curves import following as following
from ._program import EncoderExporter as EncoderExporter
from ._rows import ExportRows as ExportRows
from ._rows import RowsKnobs as RowsKnobs
from ._rows import rows_of as rows_of
from .csv import Csv as Csv
from .faiss import Faiss as Faiss
from .fiftyone import Fiftyone as Fiftyone
from .huggingface import Huggingface as Huggingface
from .mlflow import Mlflow as Mlflow
from .onnx import Onnx as Onnx
from .parquet import Parquet as Parquet
from .tensorboard import Tensorboard as Tensorboard
from .torch import Torch as Torch
