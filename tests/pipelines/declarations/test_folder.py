import shutil
from pathlib import Path

import pytest

from paimon_lake.declarations import SettingsError, environments, load_settings
from tests.support.project import CONFIGS, ROOT

ORDERS = """\
comment: orders of the shop
columns: {id: INT, text: STRING}
primary_key: [id]
retention: {keep_hours: 0}
"""


@pytest.fixture
def configs(tmp_path: Path) -> Path:
    """The settings of the project with a table of these tests."""
    folder = tmp_path / "configs"
    (folder / "tables").mkdir(parents=True)
    for path in CONFIGS.glob("*.yaml"):
        shutil.copy(path, folder)
    (folder / "tables" / "shop.orders.yaml").write_text(ORDERS)
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize("environment", environments())
def test_every_environment_loads(environment: str, configs: Path) -> None:
    settings = load_settings(environment, configs=configs)
    assert settings.environment == environment
    assert set(settings.tables) == {"shop.orders"}


def test_the_environment_is_laid_over_the_base(configs: Path) -> None:
    local, prod = load_settings("local", configs=configs), load_settings("prod", configs=configs)
    assert local.spark.conf["spark.sql.shuffle.partitions"] == "4"
    assert prod.spark.conf["spark.sql.shuffle.partitions"] == "32"
    assert prod.spark.conf["spark.sql.session.timeZone"] == "UTC"
    assert (local.dagster.automation_on, prod.dagster.automation_on) == (False, True)


def test_the_environment_comes_from_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAIMON_ENV", "standalone")
    monkeypatch.setenv("SPARK_MASTER", "spark://elsewhere:7077")
    assert load_settings().spark.master == "spark://elsewhere:7077"


def test_a_configured_warehouse_counts_from_the_declarations_and_a_given_one_from_here(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAIMON_LAKE", raising=False)
    assert load_settings("local", configs=CONFIGS).warehouse == str(ROOT / "lake")
    assert load_settings("local", warehouse="lake", configs=CONFIGS).warehouse == str(tmp_path / "lake")
    monkeypatch.setenv("PAIMON_LAKE", "/elsewhere")
    assert load_settings("local", configs=CONFIGS).warehouse == "/elsewhere"


def test_the_folder_is_configs_of_the_working_directory_or_this_directory_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, configs: Path
) -> None:
    monkeypatch.delenv("PAIMON_LAKE_CONFIGS", raising=False)
    monkeypatch.chdir(tmp_path)
    assert load_settings("local").folder == configs
    monkeypatch.chdir(configs)
    assert load_settings("local").folder == configs
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(empty)
    with pytest.raises(SettingsError, match="empty/configs is not a directory: name the folder of the lake with"):
        load_settings("local")
    with pytest.raises(SettingsError, match=r"a lake is a folder with base.yaml and tables/; did you mean configs\?"):
        load_settings("local", configs=tmp_path / "config")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (
            "base.yaml",
            "app_name:",
            "appname:",
            r"configs/base.yaml:10: unknown key spark.appname; did you mean app_name\?",
        ),
        ("local.yaml", "spark:", "spork:", r"configs/local.yaml:3: unknown key spork; did you mean spark\?"),
        ("base.yaml", "step_retries: 2", "step_retries: two", "dagster.step_retries must be a whole number, not 'two'"),
        ("base.yaml", "step_retries: 2", "step_retries: true", "dagster.step_retries must be a whole number, not true"),
        ("base.yaml", "  app_name: paimon-lake\n", "  app_name: 7\n", "spark.app_name must be a text, not 7"),
        ("base.yaml", "${PAIMON_LAKE:-../lake}", "${NO_SUCH_VARIABLE_HERE}", "NO_SUCH_VARIABLE_HERE, which is not set"),
        ("base.yaml", "spark:", "spark: [", r"base.yaml:\d+: the file is not valid YAML: while parsing a flow"),
        (
            "base.yaml",
            "spark:",
            "storage: {a: in/{date}.csv}\nspark:",
            r"did not find expected ',' or '}'; a text with {date} needs quotes here, as in \"data/{date}.csv\"$",
        ),
        (
            "tables/shop.orders.yaml",
            "keep_hours",
            "keep_ours",
            r"shop.orders.yaml:4: unknown key retention.keep_ours; did you mean keep_hours\? \(known",
        ),
        ("tables/shop.orders.yaml", "keep_hours: 0", "keep_quarantine_days: x", "keep_quarantine_days must be a whole"),
        ("tables/shop.orders.yaml", "comment:", "remark:", r"configs/tables/shop.orders.yaml:1: unknown key remark"),
        ("tables/shop.orders.yaml", "[id]", "[ids]", "primary_key: .ids. is not a column; did you mean id"),
        ("tables/shop.orders.yaml", "primary_key: [id]\n", "", "needs a primary_key or a natural_key"),
    ],
)
def test_a_mistake_names_file_and_key(configs: Path, file: str, old: str, new: str, message: str) -> None:
    change(configs / file, old, new)
    with pytest.raises(SettingsError, match=message):
        load_settings("local", configs=configs)


def test_the_mistakes_of_all_tables_are_named_each_in_a_line(configs: Path) -> None:
    (configs / "tables" / "shop.days.yaml").write_text("columns: {id: INT}\nprimary_kye: [id]\n")
    (configs / "tables" / "shop.nights.yaml").write_text("columns: {id: NUMBER}\nprimary_key: [id]\n")
    with pytest.raises(SettingsError) as told:
        load_settings("local", configs=configs)
    assert [line.partition(".yaml:")[0].rpartition("/")[2] for line in str(told.value).splitlines()] == [
        "shop.days",
        "shop.nights",
    ]


def test_an_unknown_environment_names_those_that_exist() -> None:
    with pytest.raises(SettingsError, match=r"no environment 'moon': .*configs/ has local, prod, s3, standalone"):
        load_settings("moon")


def test_an_empty_folder_says_how_to_begin(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"/ has none; `paimon-lake new <folder>` writes the folder of a new"):
        load_settings("local", configs=tmp_path)


def test_an_undeclared_table_names_those_that_are(configs: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"no table 'shop.order' is declared .*\(shop.orders\); did you mean shop.ord"
    ):
        load_settings("local", configs=configs).table("shop.order")


def test_a_folder_without_tables_is_a_lake(configs: Path) -> None:
    shutil.rmtree(configs / "tables")
    assert load_settings("local", configs=configs).tables == {}


def test_a_store_takes_its_options_from_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PAIMON_S3_REGION", raising=False)
    monkeypatch.setenv("PAIMON_S3_ACCESS_KEY", "someone")
    monkeypatch.setenv("PAIMON_S3_SECRET_KEY", "not to be seen")
    settings = load_settings("s3")
    assert dict(settings.storage) == {"s3.access-key": "someone", "s3.secret-key": "not to be seen"}
    assert "not to be seen" not in repr(settings)
    assert (settings.is_remote, settings.landing) == (True, Path("/tmp/paimon-landing"))
    assert load_settings("local").is_remote is False


@pytest.mark.parametrize(
    "value", ["hidden-text", "${PAIMON_S3_SECRET_KEY:-hidden-text}", "x${PAIMON_S3_SECRET_KEY}", "4711"]
)
def test_a_secret_in_a_file_is_refused_and_not_repeated(configs: Path, value: str) -> None:
    change(configs / "s3.yaml", "${PAIMON_S3_SECRET_KEY:-}", value)
    with pytest.raises(SettingsError, match=r"configs/s3.yaml:9: storage.s3.secret-key is a secret") as raised:
        load_settings("s3", configs=configs)
    assert value not in str(raised.value).replace("${NAME:-}", "")


@pytest.mark.parametrize(("written", "expected"), [("landed", "configs/landed"), ("../landed", "landed")])
def test_a_landing_directory_is_relative_to_the_declarations(
    configs: Path, written: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not to the working directory, which differs between the processes of a run."""
    with (configs / "base.yaml").open("a") as file:
        file.write(f"\nlanding_directory: {written}\n")
    monkeypatch.chdir("/")
    assert load_settings("local", configs=configs).landing == (configs.parent / expected).resolve()


def test_a_remote_warehouse_needs_a_place_to_land() -> None:
    settings = load_settings("local", warehouse="s3://lake/w")
    with pytest.raises(
        SettingsError, match="the warehouse s3://lake/w is not a local directory: set landing_directory"
    ):
        _ = settings.landing


@pytest.mark.parametrize("when", ["inputs", "files"])
def test_the_key_on_is_a_text_and_not_true(configs: Path, when: str) -> None:
    """YAML 1.1 reads the word on as true."""
    source = {
        "files": "{type: files, path: 'in/*.csv'}",
        "inputs": "{type: sql, inputs: [shop.orders], query: SELECT 1 AS id}",
    }[when]
    path = configs / "tables" / "shop.more.yaml"
    path.write_text(f"columns: {{id: INT}}\nprimary_key: id\nsource: {source}\nschedule: {{on: {when}}}\n")
    schedule = load_settings("local", configs=configs).table("shop.more").schedule
    assert schedule is not None
    assert schedule.on == when
