"""Lake maintenance: a job that does one round of maintenance of the whole lake within its budget."""

from collections.abc import Collection

import dagster as dg

from paimon_dagster.metadata import attempt, result_metadata, run_properties
from paimon_dagster.resources import lake_of, resource_keys, spark_of
from paimon_dagster.translator import PLAIN, PaimonTranslator
from paimon_lake.declarations import Settings
from paimon_lake.overview import nothing_declared
from paimon_lake.steps.upkeep.maintain import maintain

MAINTAIN = "maintain"


class MaintainConfig(dg.Config):
    """``dry_run``: only log the plan. The budget is declared as ``maintenance`` of the lake."""

    dry_run: bool = False


def maintain_op(settings: Settings, name: str, translator: PaimonTranslator, *, after: bool = False) -> dg.OpDefinition:
    """Return the step of one round. With ``after`` it has the input ``start``, for the steps before it.

    The step fails when a table cannot be examined, when work failed for another reason than a concurrent commit, or
    when the log could not be written. It is not retried: the next round does what is left, and rests after errors.
    """
    names = frozenset(settings.tables)

    @dg.op(
        name=translator.prefixed(name),
        ins={"start": dg.In(dg.Nothing)} if after else {},
        out=dg.Out(dg.Nothing),
        required_resource_keys=resource_keys(translator),
    )
    def maintain_lake(context: dg.OpExecutionContext, config: MaintainConfig) -> None:
        lake = only(lake_of(context, translator).settings, names)
        if not lake.tables:
            context.log.warning(f"{nothing_declared(lake)}, then reload the definitions")
            return
        spark, properties = spark_of(context, translator).session, run_properties(context)
        done = attempt(lambda: maintain(lake, spark=spark, dry_run=config.dry_run, properties=properties))
        context.log.info(done.text)
        for result in done.results:
            metadata = {"paimon/step": result.step, **result_metadata(result)}
            key = translator.asset_key(lake.table(result.table))
            context.log_event(dg.AssetObservation(key, metadata=metadata))
        if done.problems:
            texts = "; ".join(f"{table}: {why}" for table, why in done.problems.items())
            raise dg.Failure(f"maintenance was not complete: {texts}", allow_retries=False)

    return maintain_lake


def only(settings: Settings, names: Collection[str]) -> Settings:
    """Return the settings with only the tables ``names``, as far as they are still declared."""
    return settings.model_copy(update={"tables": {n: spec for n, spec in settings.tables.items() if n in names}})


def maintain_job(settings: Settings, translator: PaimonTranslator = PLAIN) -> dg.JobDefinition:
    """Return the job that does one round of maintenance of the whole lake."""
    step = maintain_op(settings, "maintain_lake", translator)

    @dg.job(
        name=translator.prefixed(MAINTAIN),
        description="Do the maintenance of all tables that is worth its cost, within the budget of the lake.",
        tags={"paimon/role": "maintain"},
        executor_def=dg.in_process_executor,
    )
    def job() -> None:
        step()

    return job
