"""Apache Kafka for tests: one process that is broker and controller (KRaft), with data in a temporary directory.

Maven downloads the jars that ``tests/kafka_broker/pom.xml`` names into its cache; the list of them is kept in
``PAIMON_KAFKA_CACHE`` (default: ``~/.cache/paimon-kafka``). ``KafkaUnavailable`` names in one sentence what is missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
)

from tests.support.one_at_a_time import one_at_a_time

POM = Path(__file__).resolve().parent.parent / "kafka_broker" / "pom.xml"
RESOLVE_SECONDS = 600
START_SECONDS = 90
_SETTINGS = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}{more}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}{more}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT
controller.listener.names=CONTROLLER
log.dirs={folder}/data
auto.create.topics.enable=true
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.backoff.ms=200
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=2000000
log.retention.check.interval.ms=1000
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  user_lake="{password}";
"""
PASSWORD = "canary-9d1c"


class KafkaUnavailable(Exception):
    """Java, Maven or the jars are missing; the message says which."""


class KafkaServer:
    """A running broker; ``kill`` and ``start`` are a crash and a recovery."""

    def __init__(self, cluster: str = "paimon-lake-test-clusterA") -> None:
        self._java, self._classpath = shutil.which("java"), _classpath()
        if self._java is None:
            raise KafkaUnavailable("no java: Kafka needs Java 17 or later")
        self.folder = Path(tempfile.mkdtemp(prefix="kafka-"))
        self.port, controller, self.secure_port = _free_ports(3)
        more = f",SASL_PLAINTEXT://127.0.0.1:{self.secure_port}"
        settings = self.folder / "server.properties"
        settings.write_text(
            _SETTINGS.format(port=self.port, controller=controller, folder=self.folder, more=more, password=PASSWORD)
        )
        self._process: subprocess.Popen[bytes] | None = None
        try:
            storage = ["kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(settings)]
            subprocess.run(self._command("-Xmx128m", *storage), check=True, capture_output=True, timeout=START_SECONDS)
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    def _command(self, *arguments: str) -> list[str]:
        quick = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
        return [str(self._java), *quick, arguments[0], "-cp", self._classpath, *arguments[1:]]

    def start(self) -> None:
        """Start the broker, and wait until it answers."""
        output = (self.folder / "log").open("ab")
        command = self._command(f"-Xmx{os.environ.get('KAFKA_HEAP', '512m')}", "kafka.Kafka")
        command.append(str(self.folder / "server.properties"))
        self._process = subprocess.Popen(command, stdout=output, stderr=output)
        output.close()
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                break
            assert self._process.poll() is None, (self.folder / "log").read_text()[-2000:]
            assert time.monotonic() < deadline, "the broker did not start"
            time.sleep(0.1)
        self.admin = AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
        self.admin.list_topics(timeout=START_SECONDS)

    def kill(self) -> None:
        """End the broker at once, as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """Stop the broker and remove its files."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def create(self, name: str, partitions: int = 1, **settings: Any) -> None:
        """Create a topic and wait until the broker serves it."""
        config = {key.replace("_", "."): str(value) for key, value in settings.items()}
        self.admin.create_topics([NewTopic(name, partitions, 1, config=config)])[name].result(30)
        self._wait(name, partitions)

    def grow(self, name: str, partitions: int) -> None:
        """Add partitions to a topic."""
        self.admin.create_partitions([NewPartitions(name, partitions)])[name].result(30)
        self._wait(name, partitions)

    def compact(self, name: str) -> None:
        """Make the broker compact a topic in small segments as soon as it can."""
        settings = {"cleanup.policy": "compact", "segment.bytes": "1048576", "min.cleanable.dirty.ratio": "0.01"}
        settings |= {"segment.ms": "500", "max.compaction.lag.ms": "500", "delete.retention.ms": "3600000"}
        changes = [
            ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()
        ]
        resource = ConfigResource(ConfigResource.Type.TOPIC, name, incremental_configs=changes)
        self.admin.incremental_alter_configs([resource])[resource].result(30)

    def wait_for_compaction(self, name: str, most: int) -> None:
        """Wait until a topic of one partition has fewer messages than ``most``."""
        deadline = time.monotonic() + 60
        while self._count(name) >= most:
            assert time.monotonic() < deadline, f"the topic {name} was not compacted"
            time.sleep(0.5)

    def _count(self, name: str) -> int:
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "count", "enable.partition.eof": True})
        consumer.assign([TopicPartition(name, 0, 0)])
        found: list[Any] = []
        while not found or found[-1].error() is None:
            found += consumer.consume(1, 10)
        consumer.close()
        return len(found) - 1

    def delete(self, name: str) -> None:
        """Delete a topic, and wait until it does not exist."""
        self.admin.delete_topics([name])[name].result(30)
        deadline = time.monotonic() + 30
        while name in self.admin.list_topics(timeout=30).topics:
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _wait(self, name: str, partitions: int) -> None:
        deadline = time.monotonic() + 30
        while True:
            with contextlib.suppress(Exception):
                found = self.admin.describe_topics(TopicCollection([name]))[name].result(30)
                if len(found.partitions) == partitions and all(one.leader is not None for one in found.partitions):
                    return
            assert time.monotonic() < deadline, f"the topic {name} is not there"
            time.sleep(0.05)


def _classpath() -> str:
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "paimon-kafka"
    cache = Path(os.environ.get("PAIMON_KAFKA_CACHE") or default)
    cache.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(cache / "lock"):
        kept = cache / f"classpath-{hashlib.sha256(POM.read_bytes()).hexdigest()[:12]}"
        if kept.exists() and all(Path(jar).exists() for jar in kept.read_text().split(os.pathsep)):
            return kept.read_text()
        maven = shutil.which("mvn")
        if maven is None:
            raise KafkaUnavailable("no mvn: the tests of Kafka need Maven to fetch its jars")
        with tempfile.TemporaryDirectory(dir=cache) as work:
            out = Path(work) / "classpath"
            goal = ["dependency:build-classpath", f"-Dmdep.outputFile={out}"]
            command = [maven, "-q", "-B", "-f", str(POM), *goal]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=RESOLVE_SECONDS, check=False)
            except subprocess.TimeoutExpired:
                raise KafkaUnavailable(f"Maven did not fetch Kafka's jars in {RESOLVE_SECONDS} s") from None
            if done.returncode:
                lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
                raise KafkaUnavailable(f"Maven could not fetch Kafka's jars: {' '.join(lines[:1])[:300]}")
            out.replace(kept)
        return kept.read_text()


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def running_kafka() -> Iterator[KafkaServer]:
    """A broker for the tests of one package, as a fixture; skips them where Kafka cannot be had."""
    try:
        started = KafkaServer()
    except KafkaUnavailable as reason:
        pytest.skip(str(reason))
    yield started
    started.close()
