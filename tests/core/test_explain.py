"""What goes wrong below everything else: sentences for the system's errors, paths of no account, arrays of any kind."""

import errno
import re

import numpy as np
import pytest
import torch

from lab.core.explain import explain
from lab.core.results import as_array


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(errno.EPERM, "Operation not permitted"), "Operation not permitted."),
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused"), "Connection refused."),
        (RuntimeError("Could not determine home directory."), "A path begins with ~"),
    ],
)
def test_an_error_without_a_file_is_a_sentence_without_numbers(error, words):
    assert explain(error).startswith(words) and not re.search("None|Errno", explain(error))


def test_any_kind_of_array_is_one_that_torch_takes():
    rows = np.arange(6.0).reshape(3, 2)
    given = (rows.tolist(), rows.astype(">f4"), rows.astype(np.longdouble), torch.tensor(rows).requires_grad_())
    for one in (*given, torch.tensor(rows).bfloat16()):
        array = as_array(one, "rows")
        np.testing.assert_array_equal(torch.from_numpy(array).numpy(), rows)
    with pytest.raises(ValueError, match="The rows are of several lengths"):
        as_array([[1.0], [1.0, 2.0]], "rows")
