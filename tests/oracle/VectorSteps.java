import java.util.*;
import org.apache.paimon.append.*;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.deletionvectors.*;
import org.apache.paimon.deletionvectors.append.BaseAppendDeleteFileMaintainer;
import org.apache.paimon.index.*;
import org.apache.paimon.io.*;
import org.apache.paimon.manifest.*;
import org.apache.paimon.operation.BaseAppendFileStoreWrite;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;

/** Steps about deletion vectors of append tables, as Spark's DELETE and compaction jobs commit them. */
final class VectorSteps {
    private VectorSteps() {}

    static void run(JsonNode s, ObjectNode out) throws Exception {
        FileStoreTable t = PaimonOracle.table(s);
        List<CommitMessage> messages = s.get("op").asText().equals("deleteRows") ? delete(t, s.get("files")) : pack(t);
        try (BatchTableCommit c = t.newBatchWriteBuilder().newCommit()) {
            c.commit(messages);
        }
        out.put("snapshot", PaimonOracle.latest(t));
    }

    static List<CommitMessage> delete(FileStoreTable t, JsonNode files) {
        List<CommitMessage> messages = new ArrayList<>();
        IndexFileHandler handler = t.store().newIndexFileHandler();
        boolean unaware = t.bucketMode() == BucketMode.BUCKET_UNAWARE;
        Map<List<Object>, Map<String, DeletionVector>> found = new LinkedHashMap<>();
        Map<List<Object>, DataSplit> places = new HashMap<>();
        for (Split sp : t.newReadBuilder().newScan().plan().splits()) {
            DataSplit d = (DataSplit) sp;
            for (DataFileMeta f : d.dataFiles()) {
                if (!files.has(f.fileName())) continue;
                DeletionVector v = t.coreOptions().deletionVectorBitmap64() ? new Bitmap64DeletionVector() : new BitmapDeletionVector();
                files.get(f.fileName()).forEach(p -> v.delete(p.asLong()));
                List<Object> place = Arrays.asList(d.partition(), d.bucket());
                found.computeIfAbsent(place, k -> new LinkedHashMap<>()).put(f.fileName(), v);
                places.put(place, d);
            }
        }
        found.forEach((place, vectors) -> {
            DataSplit d = places.get(place);
            BaseAppendDeleteFileMaintainer m = unaware
                    ? BaseAppendDeleteFileMaintainer.forUnawareAppend(handler, t.snapshotManager().latestSnapshot(), d.partition())
                    : BaseAppendDeleteFileMaintainer.forBucketedAppend(handler, t.snapshotManager().latestSnapshot(), d.partition(), d.bucket());
            vectors.forEach(m::notifyNewDeletionVector);
            List<IndexFileMeta> added = new ArrayList<>(), deleted = new ArrayList<>();
            for (IndexManifestEntry e : m.persist()) (e.kind() == FileKind.ADD ? added : deleted).add(e.indexFile());
            List<DataFileMeta> none = Collections.emptyList();
            messages.add(new CommitMessageImpl(d.partition(), d.bucket(), d.totalBuckets(),
                    new DataIncrement(none, none, none, added, deleted), CompactIncrement.emptyIncrement()));
        });
        return messages;
    }

    static List<CommitMessage> pack(FileStoreTable t) throws Exception {
        List<CommitMessage> messages = new ArrayList<>();
        BaseAppendFileStoreWrite w = (BaseAppendFileStoreWrite) ((AppendOnlyFileStoreTable) t).store().newWrite("oracle");
        if (t.coreOptions().rowTrackingEnabled()) w.withWriteType(SpecialFields.rowTypeWithRowTracking(t.rowType()));
        for (AppendCompactTask task : new AppendCompactCoordinator(t, false).run()) messages.add(task.doCompact(t, w));
        w.close();
        return messages;
    }
}
