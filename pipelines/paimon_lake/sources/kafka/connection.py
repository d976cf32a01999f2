"""Connection: the servers and settings with which clients of Kafka are opened, and errors without secrets."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from paimon_core.storage.secret import Secret, scrubbed
from paimon_lake.declarations.sources.kafka import CLIENT_SECRETS
from paimon_lake.extras import missing_extra
from paimon_lake.protocol import PipelineError

WAIT_SECONDS = 30.0
"""How long a request to the cluster may take."""
_ADVICE = {
    "_ALL_BROKERS_DOWN": "check source.servers and security.protocol in source.client",
    "_TIMED_OUT": "check source.servers, security.protocol in source.client, and whether the brokers run",
    "_TRANSPORT": "check source.servers and security.protocol in source.client",
    "_AUTHENTICATION": "check the settings sasl.* in source.client",
    "_SSL": "check the settings ssl.* in source.client",
    "_INVALID_ARG": "correct source.client",
    "TOPIC_AUTHORIZATION_FAILED": "grant the user READ and DESCRIBE on the topic",
    "CLUSTER_AUTHORIZATION_FAILED": "grant the user DESCRIBE on the cluster",
    "GROUP_AUTHORIZATION_FAILED": "name a group that the user may read in source.client, as group.id",
}
"""Advice for errors of the client, by the name of the error."""


def kafka() -> ModuleType:
    """Return the module of the client; raises PipelineError, which names the extra, when it is not installed."""
    try:
        import confluent_kafka
        import confluent_kafka.admin
    except ModuleNotFoundError as error:
        raise PipelineError(missing_extra(error) or str(error)) from None
    return confluent_kafka


@dataclass(frozen=True)
class Connection:
    """How clients connect to a cluster; it can be sent to tasks, and its repr shows no values of settings."""

    servers: tuple[str, ...]
    settings: Mapping[str, Secret] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """The name of the cluster in messages: its servers."""
        return f"Kafka at {', '.join(self.servers)}"

    def _secrets(self) -> list[Secret]:
        return [value for name, value in self.settings.items() if name in CLIENT_SECRETS]

    def config(self, errors: list[str], **more: Any) -> dict[str, Any]:
        """Return the configuration of a client; texts of its errors are added to ``errors``."""
        return {
            **{name: value.reveal() for name, value in self.settings.items()},
            "bootstrap.servers": ",".join(self.servers),
            "error_cb": lambda error: errors.append(error.str()),
            "log_level": 0,  # error_cb receives the errors, so no log is needed on the standard error output
            **{name.replace("_", "."): value for name, value in more.items()},
        }

    def error(self, error: Any, seen: Sequence[str] = ()) -> PipelineError:
        """Return a KafkaError as one sentence, with the last error that the client has ``seen`` and an advice."""
        text = "; ".join(dict.fromkeys([*seen[-1:], error.str()]))
        advice = _ADVICE.get(error.name(), "")
        sentence = " ".join(scrubbed(text, self._secrets()).split())[:500]
        return PipelineError(f"{self.name}: {sentence}{f': {advice}' if advice else ''}")

    @contextlib.contextmanager
    def guarded(self, seen: Sequence[str] = ()) -> Iterator[None]:
        """Replace errors of the client by a PipelineError without secrets."""
        module = kafka()
        try:
            yield
            return
        except module.KafkaException as error:
            found = error.args[0]
        except (TypeError, ValueError) as error:
            text = scrubbed(str(error), self._secrets())
            found = module.KafkaError(module.KafkaError._INVALID_ARG, text)
        # Raised here, and not in the except block, so that the error of the client is not attached to the new error.
        raise self.error(found, seen)
