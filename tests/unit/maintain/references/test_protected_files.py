"""Protected files: whether appended files may be the changes of a branch."""

import dataclasses

from paimon_core.maintain.references.protected_files import delta_may_be_changelog
from tests.support.fake_tables import fake_table


def test_appended_files_may_be_a_changelog_when_one_schema_has_no_changelog_producer():
    context = fake_table(**{"changelog-producer": "input"})
    assert not delta_may_be_changelog(context)
    options = {**context.schema.options, "changelog-producer": " None"}
    assert context.schemas.publish(dataclasses.replace(context.schema, id=1, options=options))
    assert delta_may_be_changelog(context)
