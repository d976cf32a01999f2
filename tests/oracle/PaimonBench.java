import java.io.*;
import java.lang.management.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.*;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.data.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.*;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.Schema;
import org.apache.paimon.table.BucketMode;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.Table;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.DataType;
import org.apache.paimon.types.DataTypes;

/**
 * Times table work done by Apache Paimon's Java code, on rows that benchmarks/workload.py makes too, so
 * that both sides are timed on the same rows beside each other. One JSON line a timing.
 *
 * <pre>
 * create  WAREHOUSE TABLE pk|pk:COLUMN,...|append [option=value ...]  partial-update tables take rows with nulls
 * rows    WAREHOUSE TABLE ROWS BATCHES KEYS     makes the rows and drops them: what `write` spends on its input
 * write   WAREHOUSE TABLE ROWS BATCHES KEYS [FIRST]  one commit a batch, from batch FIRST on; keys are drawn from [0, KEYS)
 * read    WAREHOUSE TABLE THREADS [PROJECTION]  every column touched, three times: the last is warm
 * compact WAREHOUSE TABLE [TABLE ...]           full compaction of every bucket; copies of one table warm the JVM
 * many    WAREHOUSE TABLE PARTITIONS COMMITS    a partitioned table: a row a (partition, bucket) a commit
 * plan    WAREHOUSE TABLE REPEATS               scan planning alone
 * point   WAREHOUSE TABLE KEY REPEATS           reads the rows whose first column is KEY
 * query   WAREHOUSE TABLE COLUMNS|* LOW|- HIGH LIMIT REPEATS   columns of the rows whose first column is in the range
 * assign  WAREHOUSE TABLE KEYS BATCH            finds the buckets of keys, first all new, then all known
 * -serve                                        runs such commands, one a line of standard input with tabs between
 *                                               the words, in this one JVM; each ends with a line {"done":true}
 *                                               or {"error": ...}
 * </pre>
 */
public class PaimonBench {
    static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    static void report(String op, long rows, double seconds, String more) {
        System.out.printf(Locale.ROOT, "{\"system\":\"paimon-java\",\"op\":\"%s\",\"rows\":%d,\"seconds\":%.4f%s}%n", op, rows, seconds, more);
    }

    static double since(long t0) { return (System.nanoTime() - t0) / 1e9; }

    public static void main(String[] a) throws Exception {
        if (a[0].equals("-serve")) {
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
            String line;
            while ((line = commands.readLine()) != null) {
                try {
                    run(line.split("\t"));
                    System.out.println("{\"done\":true}");
                } catch (Throwable t) {
                    System.out.printf("{\"error\":\"%s\"}%n", t.toString().replaceAll("[^\\x20-\\x7e]|[\"\\\\]", " "));
                }
                System.out.flush();
            }
        } else {
            run(a);
        }
        System.exit(0);
    }

    static void run(String[] a) throws Exception {
        Options o = new Options();
        o.set("warehouse", a[1]);
        Catalog catalog = CatalogFactory.createCatalog(CatalogContext.create(o));
        catalog.createDatabase("db", true);
        Identifier id = Identifier.create("db", a[2]);
        switch (a[0]) {
            case "create": create(catalog, id, a); break;
            case "rows": rows(Long.parseLong(a[3]), Integer.parseInt(a[4]), Long.parseLong(a[5])); break;
            case "write":
                write(catalog.getTable(id), Long.parseLong(a[3]), Integer.parseInt(a[4]), Long.parseLong(a[5]), a.length > 6 ? Integer.parseInt(a[6]) : 0);
                break;
            case "read": for (int i = 0; i < 3; i++) read(catalog.getTable(id), Integer.parseInt(a[3]), a.length > 4 ? a[4] : null); break;
            case "compact": for (int i = 2; i < a.length; i++) compact(catalog.getTable(Identifier.create("db", a[i]))); break;
            case "many": many(catalog, id, Integer.parseInt(a[3]), Integer.parseInt(a[4])); break;
            case "plan": for (int i = 0; i < Integer.parseInt(a[3]); i++) {
                long t0 = System.nanoTime();
                int n = catalog.getTable(id).newReadBuilder().newScan().plan().splits().size();
                report("plan", n, since(t0), "");
            } break;
            case "more": more(catalog.getTable(id), Integer.parseInt(a[3]), Integer.parseInt(a[4])); break;
            case "expire": expire((FileStoreTable) catalog.getTable(id), Integer.parseInt(a[3])); break;
            case "point": for (int i = 0; i < Integer.parseInt(a[4]); i++) point(catalog.getTable(id), Long.parseLong(a[3])); break;
            case "query": for (int i = 0; i < Integer.parseInt(a[7]); i++) query(catalog.getTable(id), a[3], a[4], a[5], Integer.parseInt(a[6])); break;
            case "assign": assign((FileStoreTable) catalog.getTable(id), Long.parseLong(a[3]), Integer.parseInt(a[4])); break;
            default: throw new IllegalArgumentException(a[0]);
        }
        catalog.close();
    }

    /** Seconds of processor time of all threads. */
    static void point(Table t, long key) throws Exception {
        com.sun.management.OperatingSystemMXBean clock =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long t0 = clock.getProcessCpuTime();
        ReadBuilder rb = t.newReadBuilder().withFilter(new PredicateBuilder(t.rowType()).equal(0, key));
        long[] rows = {0};
        for (Split split : rb.newScan().plan().splits())
            try (RecordReader<InternalRow> r = rb.newRead().executeFilter().createReader(split)) {
                r.forEachRemaining(row -> rows[0]++);
            }
        report("point", rows[0], (clock.getProcessCpuTime() - t0) / 1e9, "");
    }

    /** Reads some columns of some rows; seconds of processor time of all threads. */
    static void query(Table t, String columns, String low, String high, int limit) throws Exception {
        com.sun.management.OperatingSystemMXBean clock =
                (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        long t0 = clock.getProcessCpuTime();
        ReadBuilder rb = t.newReadBuilder();
        if (!columns.equals("*")) rb.withProjection(t.rowType().getFieldIndices(Arrays.asList(columns.split(","))));
        if (!low.equals("-")) {
            PredicateBuilder is = new PredicateBuilder(t.rowType());
            rb.withFilter(is.between(0, Long.parseLong(low), Long.parseLong(high)));
        }
        if (limit > 0) rb.withLimit(limit);
        List<DataType> types = rb.readType().getFieldTypes();
        long rows = 0, sum = 0;
        for (Split split : rb.newScan().plan().splits()) {
            if (limit > 0 && rows >= limit) break;
            try (RecordReader<InternalRow> reader = rb.newRead().executeFilter().createReader(split)) {
                RecordReader.RecordIterator<InternalRow> it;
                while ((limit == 0 || rows < limit) && (it = reader.readBatch()) != null) {
                    InternalRow r;
                    while ((limit == 0 || rows < limit) && (r = it.next()) != null) {
                        rows++;
                        for (int i = 0; i < types.size(); i++) sum += r.isNullAt(i) ? 0 : part(r, i, types.get(i));
                    }
                    it.releaseBatch();
                }
            }
        }
        report("query", rows, (clock.getProcessCpuTime() - t0) / 1e9, String.format(Locale.ROOT, ",\"checksum\":%d", sum));
    }

    static long part(InternalRow r, int at, DataType type) {
        switch (type.getTypeRoot()) {
            case INTEGER: return r.getInt(at);
            case BIGINT: return r.getLong(at);
            case DOUBLE: return (long) r.getDouble(at);
            case VARCHAR: return r.getString(at).getSizeInBytes();
            default: return r.getTimestamp(at, 6).getMillisecond();
        }
    }

    /** Finds the bucket of n keys, first new, then known; seconds of this thread's processor time, without creating rows. */
    static void assign(FileStoreTable t, long n, int step) throws Exception {
        CoreOptions o = t.coreOptions();
        RowKeyExtractor fixed = t.bucketMode() == BucketMode.HASH_FIXED ? t.createRowKeyExtractor() : null;
        RowPartitionKeyExtractor keys = new RowPartitionKeyExtractor(t.schema());
        BucketAssigner dynamic = t.bucketMode() != BucketMode.HASH_DYNAMIC ? null
                : new HashBucketAssigner(t.snapshotManager(), "bench", t.store().newIndexFileHandler(), 1, 1, 0,
                        o.dynamicBucketTargetRowNum(), o.dynamicBucketMaxBuckets());
        GlobalIndexAssigner across = t.bucketMode() == BucketMode.KEY_DYNAMIC ? new GlobalIndexAssigner(t) : null;
        long[] sum = {0};
        if (across != null) {
            across.open(0, IOManager.create(System.getProperty("java.io.tmpdir")), 1, 0, (row, bucket) -> sum[0] += bucket);
            across.endBoostrap(false);
        }
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        GenericRow[] rows = new GenericRow[step];
        for (String pass : new String[] {"new", "known"}) {
            long spent = 0;
            for (long from = 0; from < n; from += step) {
                int m = (int) Math.min(step, n - from);
                for (int i = 0; i < m; i++) rows[i] = GenericRow.of(0, mix(from + i), 0L);
                long t0 = clock.getCurrentThreadCpuTime();
                for (int i = 0; i < m; i++) {
                    if (across != null) across.processInput(rows[i]);
                    else if (dynamic != null) sum[0] += dynamic.assign(keys.partition(rows[i]), keys.trimmedPrimaryKey(rows[i]).hashCode());
                    else {
                        fixed.setRecord(rows[i]);
                        sum[0] += fixed.bucket();
                    }
                }
                spent += clock.getCurrentThreadCpuTime() - t0;
            }
            report("assign", n, spent / 1e9, ",\"pass\":\"" + pass + "\",\"sum\":" + sum[0]);
        }
        if (across != null) across.close();
    }

    static void create(Catalog c, Identifier id, String[] a) throws Exception {
        Schema.Builder b = Schema.newBuilder().column("id", DataTypes.BIGINT().notNull())
                .column("a", DataTypes.INT()).column("b", DataTypes.BIGINT()).column("c", DataTypes.DOUBLE())
                .column("d", DataTypes.DOUBLE()).column("name", DataTypes.STRING())
                .column("city", DataTypes.STRING()).column("ts", DataTypes.TIMESTAMP(6));
        if (a[3].equals("pk")) b.primaryKey("id");
        else if (a[3].startsWith("pk:")) b.primaryKey(a[3].substring(3).split(","));
        for (int i = 4; i < a.length; i++) b.option(a[i].split("=", 2)[0], a[i].split("=", 2)[1]);
        c.createTable(id, b.build(), false);
    }

    static final BinaryString[] CITIES = new BinaryString[1000];

    static {
        for (int i = 0; i < 1000; i++) CITIES[i] = BinaryString.fromString("city-" + i);
    }

    /** Keys are drawn from [0, keys); for negative keys, every key of [0, -keys) occurs at most once if n <= -keys. */
    static GenericRow row(long k, long i, long n, long keys) {
        long h = mix(k * 1_000_003L * n + i);
        long key = keys > 0 ? Long.remainderUnsigned(h, keys) : Math.floorMod(i * 618_033_989L + 7 * k, -keys);
        return GenericRow.of(key, (int) (h >>> 40), h >>> 8, (double) (h >>> 12), key * 0.5,
                BinaryString.fromString("name-" + key), CITIES[(int) Long.remainderUnsigned(h >>> 3, 1000)],
                Timestamp.fromEpochMillis(1_700_000_000_000L + (h >>> 44)));
    }

    /** Every fourth row lacks the columns a, c and name, every fourth b, d and city. */
    static GenericRow withHoles(long k, long i, long n, long keys) {
        GenericRow row = row(k, i, n, keys);
        long h = mix(k * 1_000_003L * n + i) & 3;
        for (int at = h == 1 ? 1 : 2; (h == 1 || h == 2) && at < 7; at += 2) row.setField(at, null);
        return row;
    }

    static void rows(long n, int batches, long keys) {
        for (int k = 0; k < batches; k++) {
            long t0 = System.nanoTime(), fields = 0;
            for (long i = 0; i < n; i++) fields += row(k, i, n, keys).getFieldCount();
            report("rows", n, since(t0), ",\"batch\":" + k + ",\"fields\":" + fields);
        }
    }

    static void write(Table t, long n, int batches, long keys, int first) throws Exception {
        boolean holes = "partial-update".equals(t.options().get("merge-engine"));
        for (int k = first; k < first + batches; k++) {
            long t0 = System.nanoTime();
            BatchWriteBuilder wb = t.newBatchWriteBuilder();
            try (BatchTableWrite w = wb.newWrite(); BatchTableCommit cm = wb.newCommit()) {
                w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                for (long i = 0; i < n; i++) w.write(holes ? withHoles(k, i, n, keys) : row(k, i, n, keys));
                cm.commit(w.prepareCommit());
            }
            report("write", n, since(t0), ",\"batch\":" + k);
        }
    }

    static void read(Table t, int threads, String projection) throws Exception {
        long t0 = System.nanoTime();
        ReadBuilder rb = t.newReadBuilder();
        if (projection != null) rb.withProjection(t.rowType().getFieldIndices(Arrays.asList(projection.split(","))));
        List<Split> splits = rb.newScan().plan().splits();
        double planned = since(t0);
        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<long[]>> parts = new ArrayList<>();
        boolean all = projection == null;
        for (Split s : splits) parts.add(pool.submit(() -> {
            long n = 0, sum = 0;
            try (RecordReader<InternalRow> rr = rb.newRead().createReader(s)) {
                RecordReader.RecordIterator<InternalRow> it;
                while ((it = rr.readBatch()) != null) {
                    InternalRow r;
                    while ((r = it.next()) != null) {
                        n++;
                        sum += r.getLong(0);
                        if (all) sum += (r.isNullAt(1) ? 0 : r.getInt(1)) + (r.isNullAt(2) ? 0 : r.getLong(2))
                                + (r.isNullAt(3) ? 0 : (long) r.getDouble(3)) + (r.isNullAt(4) ? 0 : (long) r.getDouble(4))
                                + (r.isNullAt(5) ? 0 : r.getString(5).getSizeInBytes())
                                + (r.isNullAt(6) ? 0 : r.getString(6).getSizeInBytes()) + r.getTimestamp(7, 6).getMillisecond();
                    }
                    it.releaseBatch();
                }
            }
            return new long[] {n, sum};
        }));
        long n = 0, sum = 0;
        for (Future<long[]> f : parts) { n += f.get()[0]; sum += f.get()[1]; }
        pool.shutdown();
        report("read", n, since(t0), String.format(Locale.ROOT, ",\"plan_seconds\":%.4f,\"splits\":%d,\"checksum\":%d", planned, splits.size(), sum));
    }

    static void compact(Table table) throws Exception {
        Map<String, String> dyn = new HashMap<>();
        dyn.put("write-only", "false");
        Table t = table.copy(dyn);
        long t0 = System.nanoTime();
        BatchWriteBuilder wb = t.newBatchWriteBuilder();
        Set<List<Object>> seen = new HashSet<>();
        try (BatchTableWrite w = wb.newWrite(); BatchTableCommit cm = wb.newCommit()) {
            w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
            for (Split s : t.newReadBuilder().newScan().plan().splits()) {
                DataSplit d = (DataSplit) s;
                if (seen.add(Arrays.asList(d.partition(), d.bucket()))) w.compact(d.partition(), d.bucket(), true);
            }
            cm.commit(w.prepareCommit());
        }
        long rows = ((FileStoreTable) t).snapshotManager().latestSnapshot().totalRecordCount();
        report("compact", rows, since(t0), "");
    }

    /** Commits of one row, of numbers from ``first`` on, to the table that ``many`` makes. */
    static void more(Table t, int commits, int first) throws Exception {
        for (int k = first; k < first + commits; k++) {
            long t0 = System.nanoTime();
            BatchWriteBuilder wb = t.newBatchWriteBuilder();
            try (BatchTableWrite w = wb.newWrite(); BatchTableCommit cm = wb.newCommit()) {
                w.write(GenericRow.of(0, (long) k, BinaryString.fromString("v" + k)));
                cm.commit(w.prepareCommit());
            }
            report("more", 1, since(t0), ",\"batch\":" + k);
        }
    }

    /** Expires all snapshots but the newest ``left``. */
    static void expire(FileStoreTable t, int left) {
        long t0 = System.nanoTime();
        int n = t.newExpireSnapshots().config(org.apache.paimon.options.ExpireConfig.builder().snapshotRetainMin(left)
                .snapshotRetainMax(left).snapshotTimeRetain(java.time.Duration.ZERO)
                .snapshotMaxDeletes(Integer.MAX_VALUE).build()).expire();
        report("expire", n, since(t0), "");
    }

    static void many(Catalog c, Identifier id, int partitions, int commits) throws Exception {
        c.createTable(id, Schema.newBuilder().column("p", DataTypes.INT().notNull()).column("id", DataTypes.BIGINT().notNull())
                .column("v", DataTypes.STRING()).partitionKeys("p").primaryKey("p", "id").option("bucket", "1")
                .option("write-only", "true").build(), false);
        Table t = c.getTable(id);
        for (int k = 0; k < commits; k++) {
            long t0 = System.nanoTime();
            BatchWriteBuilder wb = t.newBatchWriteBuilder();
            try (BatchTableWrite w = wb.newWrite(); BatchTableCommit cm = wb.newCommit()) {
                w.withIOManager(IOManager.create(System.getProperty("java.io.tmpdir")));
                for (int p = 0; p < partitions; p++) w.write(GenericRow.of(p, (long) k, BinaryString.fromString("v" + k)));
                cm.commit(w.prepareCommit());
            }
            report("many", partitions, since(t0), ",\"batch\":" + k);
        }
    }
}
