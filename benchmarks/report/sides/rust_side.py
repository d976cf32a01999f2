"""The operations of pypaimon-rust; conditions, deletes and compactions are its SQL."""

import pyarrow as pa
from paimon_side import Paimon
from pypaimon_rust.datafusion import PaimonCatalog, SQLContext


class Side(Paimon):
    package = "pypaimon-rust"

    def table(self, name, warehouse=None):
        return PaimonCatalog({"warehouse": warehouse or self.folder}).get_table(f"db.{name}")

    def sql(self, text):
        context = SQLContext()
        context.register_catalog("paimon", {"warehouse": self.folder})
        return context.sql(text)

    def find(self, name, low, high):
        where = f"id = {low}" if low == high else f"id BETWEEN {low} AND {high}"
        batches = self.sql(f"SELECT * FROM paimon.db.{name} WHERE {where}")
        return pa.Table.from_batches(batches)

    def delete(self, name, city):
        self.sql(f"DELETE FROM paimon.db.{name} WHERE city = '{city}'")
