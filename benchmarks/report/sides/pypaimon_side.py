"""The operations of pypaimon."""

import pypaimon
from paimon_side import Paimon


class Side(Paimon):
    package = "pypaimon"

    def table(self, name, warehouse=None):
        return pypaimon.CatalogFactory.create({"warehouse": warehouse or self.folder}).get_table(f"db.{name}")

    def find(self, name, low, high):
        builder = self.table(name).new_read_builder()
        return self.read(builder.with_filter(builder.new_predicate_builder().between("id", low, high)))

    def delete(self, name, city):
        table = self.table(name)
        predicate = table.new_read_builder().new_predicate_builder().equal("city", city)
        builder = table.new_batch_write_builder()
        builder.new_commit().commit(builder.new_update().delete_by_predicate(predicate))
