import java.util.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.operation.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;

/** Steps about files that nobody uses: leaving them behind, listing them, and packing manifests. */
final class OrphanSteps {
    private OrphanSteps() {}

    static void run(JsonNode s, ObjectNode out) throws Exception {
        FileStoreTable t = PaimonOracle.table(s);
        switch (s.get("op").asText()) {
            case "leave": leave(t, s); break;
            case "orphans": {
                long later = System.currentTimeMillis() + 3_600_000L;
                ArrayNode paths = out.putArray("paths");
                new TreeSet<>(names(t, new LocalOrphanFilesClean(t, later, true).clean())).forEach(paths::add);
                break;
            }
            case "compactManifests":
                try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) { c.compactManifests(); }
                out.put("snapshot", PaimonOracle.latest(t));
                break;
            default: throw new IllegalArgumentException("unknown op " + s.get("op"));
        }
    }

    static List<String> names(FileStoreTable t, CleanOrphanFilesResult found) {
        List<String> names = new ArrayList<>();
        String root = t.location().toUri().getPath();
        found.getDeletedFilesPath().forEach(p -> names.add(p.toUri().getPath().substring(root.length() + 1)));
        return names;
    }

    /** Writes rows whose messages nobody commits, as a killed job does. */
    static void leave(FileStoreTable t, JsonNode s) throws Exception {
        try (BatchTableWrite w = t.newBatchWriteBuilder().newWrite()) {
            w.withIOManager(IOManager.create(PaimonOracle.spill.toString()));
            PaimonOracle.rows(s, t.rowType(), w);
            w.prepareCommit();
        }
    }
}
