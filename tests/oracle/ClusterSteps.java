import java.util.*;
import org.apache.paimon.append.cluster.*;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.io.*;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.utils.*;

/** Incremental clustering of append tables without buckets, as Spark's compact procedure does it in one task. */
final class ClusterSteps {
    private ClusterSteps() {}

    static void run(JsonNode s, ObjectNode out) throws Exception {
        FileStoreTable t = PaimonOracle.table(s);
        IncrementalClusterManager m = new IncrementalClusterManager(t);
        Map<BinaryRow, CompactUnit> units = m.createCompactUnits(s.path("full").asBoolean(false));
        ArrayNode picks = out.putArray("picks");
        units.values().forEach(unit -> {
            ArrayNode files = picks.addObject().put("level", unit.outputLevel()).putArray("files");
            unit.files().forEach(f -> files.add(f.fileName()));
        });
        if (s.path("picksOnly").asBoolean(false) || units.isEmpty()) return;
        List<CommitMessage> messages = new ArrayList<>();
        for (Map.Entry<BinaryRow, Pair<List<DataSplit>, CommitMessage>> e : m.toSplitsAndRewriteDvFiles(units).entrySet()) {
            CompactUnit unit = units.get(e.getKey());
            CommitMessageImpl vectors = (CommitMessageImpl) e.getValue().getRight();
            CompactIncrement dv = vectors == null ? CompactIncrement.emptyIncrement() : vectors.compactIncrement();
            messages.add(new CommitMessageImpl(e.getKey(), 0, t.coreOptions().bucket(), DataIncrement.emptyIncrement(),
                    new CompactIncrement(unit.files(), sorted(t, e.getValue().getLeft(), unit.outputLevel()),
                            Collections.emptyList(), dv.newIndexFiles(), dv.deletedIndexFiles())));
        }
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            c.commit(messages);
        }
        out.put("snapshot", PaimonOracle.latest(t));
    }

    static List<DataFileMeta> sorted(FileStoreTable t, List<DataSplit> splits, int level) throws Exception {
        FileStoreTable writeOnly = t.copy(Collections.singletonMap("write-only", "true"));
        IOManager io = IOManager.create(System.getProperty("java.io.tmpdir"));
        List<DataFileMeta> files = new ArrayList<>();
        try (BatchTableWrite w = writeOnly.newBatchWriteBuilder().newWrite()) {
            w.withIOManager(io);
            Sorter sorter = Sorter.getSorter(new RecordReaderIterator<>(t.newReadBuilder().newRead()
                    .createReader(new ArrayList<Split>(splits))), io, t.rowType(), t.coreOptions());
            MutableObjectIterator<BinaryRow> rows = sorter.sort();
            for (BinaryRow row; (row = rows.next(new BinaryRow(sorter.arity()))) != null; ) w.write(sorter.removeSortKey(row));
            for (CommitMessage made : w.prepareCommit()) files.addAll(((CommitMessageImpl) made).newFilesIncrement().newFiles());
            sorter.close();
        }
        return IncrementalClusterManager.upgrade(files, level);
    }
}
