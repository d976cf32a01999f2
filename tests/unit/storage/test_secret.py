import json
import pickle

import pytest

from paimon_core.storage.secret import Secret, scrubbed


def test_a_secret_is_not_shown():
    secret = Secret("hush")
    assert [repr(secret), str(secret), f"{secret:>9}", f"{secret!r}", repr([secret])] == [
        *["***"] * 4,
        "[***]",
    ]
    assert secret.reveal() == "hush"
    assert not hasattr(secret, "__dict__")
    with pytest.raises(TypeError):
        json.dumps({"key": secret})


def test_equal_texts_are_equal_secrets():
    assert Secret("a") == Secret("a") != Secret("b")
    assert pickle.loads(pickle.dumps(Secret("a"))) == Secret("a")  # noqa: S301
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2


def test_scrubbing():
    text = "GET https://host/k?X-Amz-Signature=abc123&X-Amz-Date=1 by AKIA failed"
    assert scrubbed(text, [Secret("AKIA"), Secret("")]) == "GET https://host/k?*** by *** failed"
