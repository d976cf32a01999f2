import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.*;
import org.apache.paimon.stats.*;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchTableCommit;

/** Steps of PaimonOracle about commits that change no rows: statistics. */
final class CommitSteps {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** The statistics of the latest snapshot; bounds as the values that Java parsed them to. */
    static void statistics(FileStoreTable table, ObjectNode out) throws Exception {
        Optional<Statistics> found = table.statistics();
        if (!found.isPresent()) {
            out.putNull("statistics");
            return;
        }
        Statistics s = found.get();
        out.set("statistics", JSON.readTree(s.toJson()));
        ObjectNode bounds = out.putObject("bounds");
        for (Map.Entry<String, ColStats<?>> e : s.colStats().entrySet()) {
            bounds.putArray(e.getKey())
                    .add(e.getValue().min().map(Object::toString).orElse(null))
                    .add(e.getValue().max().map(Object::toString).orElse(null));
        }
    }

    /** An ANALYZE snapshot of the statistics given as in their file. */
    static void analyze(FileStoreTable table, JsonNode statistics) throws Exception {
        Statistics s = Statistics.fromJson(statistics.toString());
        s.deserializeFieldsFromString(table.schema());
        try (BatchTableCommit commit = table.newBatchWriteBuilder().newCommit()) {
            commit.updateStatistics(s);
        }
    }
}
