"""What goes wrong below everything else: sentences for the system's errors, paths of no account, arrays of any kind."""

import errno
import re

import pytest

from lab.core.explain import explain


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
