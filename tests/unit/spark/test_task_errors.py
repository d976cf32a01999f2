"""Errors of Spark's tasks: lost rows of a shuffle that repeated tasks make differently."""

import pytest
from pyspark.errors import PySparkException

from paimon_core.errors import StorageError
from paimon_core.spark.task_errors import lost_tasks, repeated_when_unlike

UNLIKE = (
    "Job aborted due to stage failure: A shuffle map stage with indeterminate output was failed and retried. "
    "However, Spark cannot rollback the ResultStage 69 to re-process the input data, and has to fail this job."
)


class Job:
    """A job that raises the errors one after the other, and then returns its number of runs."""

    def __init__(self, *errors):
        self.errors, self.runs = list(errors), 0

    def __call__(self):
        self.runs += 1
        if self.errors:
            raise PySparkException(self.errors.pop(0))
        return self.runs


def test_lost_rows_that_repeated_tasks_make_differently_name_the_table():
    with pytest.raises(StorageError, match=r"table db\.t: rows between two stages"), lost_tasks("db.t"):
        Job(UNLIKE)()


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_job_starts_again_when_its_rows_were_lost(lost):
    assert repeated_when_unlike(Job(*[UNLIKE] * lost), 3) == lost + 1


@pytest.mark.parametrize(("errors", "runs"), [([UNLIKE] * 3, 3), (["Job aborted: ExecutorLostFailure"], 1)])
def test_other_errors_and_the_last_attempt_raise(errors, runs):
    job = Job(*errors)
    with pytest.raises(PySparkException):
        repeated_when_unlike(job, 3)
    assert job.runs == runs


@pytest.mark.parametrize("said", ["java.net.SocketException: Broken pipe", "java.io.EOFException", "Connection reset"])
def test_a_worker_that_ends_while_rows_are_sent_to_it_is_a_lost_task(said):
    error = f"Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, most recent failure: {said}"
    with pytest.raises(StorageError, match=r"table db\.t: .*lost in each of its attempts"), lost_tasks("db.t"):
        Job(error)()
