import java.util.*;
import org.apache.paimon.append.dataevolution.*;
import org.apache.paimon.data.*;
import org.apache.paimon.io.*;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.table.system.RowTrackingTable;
import org.apache.paimon.types.RowType;

/** Steps about tables whose rows have ids, as Spark's and Flink's jobs commit them. */
final class TrackingSteps {
    private TrackingSteps() {}

    static void run(JsonNode s, ObjectNode out) throws Exception {
        FileStoreTable t = PaimonOracle.table(s);
        List<CommitMessage> messages;
        switch (s.get("op").asText()) {
            case "setColumns": messages = setColumns(t, s); break;
            case "packColumns": messages = packColumns(t); break;
            default: messages = update(t, s);
        }
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            c.commit(messages);
        }
        out.put("snapshot", PaimonOracle.latest(t));
    }

    /** New values of some columns for the rows from an id on, as Flink's data_evolution_merge_into writes them. */
    static List<CommitMessage> setColumns(FileStoreTable t, JsonNode s) throws Exception {
        RowType rt = t.rowType().project(PaimonOracle.strings(s.get("columns")));
        try (BatchTableWrite w = t.newBatchWriteBuilder().newWrite().withWriteType(rt)) {
            for (JsonNode r : s.get("rows")) {
                GenericRow row = new GenericRow(rt.getFieldCount());
                for (int i = 0; i < rt.getFieldCount(); i++) row.setField(i, PaimonOracle.decode(r.get(i), rt.getTypeAt(i)));
                w.write(row);
            }
            List<CommitMessage> out = new ArrayList<>();
            long first = s.get("firstRowId").asLong();
            for (CommitMessage m : w.prepareCommit()) {
                CommitMessageImpl i = (CommitMessageImpl) m;
                List<DataFileMeta> files = new ArrayList<>();
                for (DataFileMeta f : i.newFilesIncrement().newFiles()) {
                    files.add(f.assignFirstRowId(first));
                    first += f.rowCount();
                }
                out.add(message(i.partition(), t, files, Collections.emptyList()));
            }
            return out;
        }
    }

    static List<CommitMessage> packColumns(FileStoreTable t) throws Exception {
        List<CommitMessage> out = new ArrayList<>();
        for (DataEvolutionCompactTask task : new DataEvolutionCompactCoordinator(t, false, false).plan()) out.add(task.doCompact(t, "oracle"));
        return out;
    }

    /** Rewrites all files, with a new value in the last column of some rows, as Spark's UPDATE does. */
    static List<CommitMessage> update(FileStoreTable t, JsonNode s) throws Exception {
        RowType rt = SpecialFields.rowTypeWithRowTracking(t.rowType(), false, true);
        int last = t.rowType().getFieldCount() - 1;
        Set<Integer> keys = new HashSet<>();
        s.get("keys").forEach(k -> keys.add(k.asInt()));
        List<CommitMessage> out = new ArrayList<>();
        BaseAppendFileStoreWrite w = (BaseAppendFileStoreWrite) ((AppendOnlyFileStoreTable) t).store().newWrite("oracle");
        w.withWriteType(rt);
        w.withIOManager(org.apache.paimon.disk.IOManager.create(System.getProperty("java.io.tmpdir")));
        ReadBuilder rb = new RowTrackingTable(t).newReadBuilder();
        Map<BinaryRow, List<DataFileMeta>> before = new LinkedHashMap<>();
        for (Split sp : rb.newScan().plan().splits()) {
            DataSplit d = (DataSplit) sp;
            before.computeIfAbsent(d.partition(), p -> new ArrayList<>()).addAll(d.dataFiles());
            try (RecordReader<InternalRow> rr = rb.newRead().createReader(sp)) {
                rr.forEachRemaining(r -> {
                    GenericRow row = new GenericRow(rt.getFieldCount());
                    for (int i = 0; i < rt.getFieldCount(); i++) row.setField(i, InternalRow.createFieldGetter(rt.getTypeAt(i), i).getFieldOrNull(r));
                    if (keys.contains(row.getInt(0))) {
                        row.setField(last, BinaryString.fromString(s.get("value").asText()));
                        row.setField(last + 2, null);
                    }
                    try {
                        w.write(d.partition(), 0, row);
                    } catch (Exception e) {
                        throw new IllegalStateException(e);
                    }
                });
            }
        }
        for (CommitMessage m : w.prepareCommit(true, Long.MAX_VALUE)) {
            CommitMessageImpl i = (CommitMessageImpl) m;
            out.add(message(i.partition(), t, i.newFilesIncrement().newFiles(), before.get(i.partition())));
        }
        w.close();
        return out;
    }

    static CommitMessage message(BinaryRow partition, FileStoreTable t, List<DataFileMeta> added, List<DataFileMeta> deleted) {
        return new CommitMessageImpl(partition, 0, t.coreOptions().bucket(),
                new DataIncrement(added, deleted, Collections.emptyList()), CompactIncrement.emptyIncrement());
    }
}
