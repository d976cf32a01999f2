import java.io.*;
import java.math.BigDecimal;
import java.nio.file.*;
import java.time.*;
import java.util.*;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.catalog.*;
import org.apache.paimon.crosspartition.GlobalIndexAssigner;
import org.apache.paimon.crosspartition.IndexBootstrap;
import org.apache.paimon.data.*;
import org.apache.paimon.data.variant.*;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.index.*;
import org.apache.paimon.manifest.ManifestEntry;
import org.apache.paimon.options.Options;
import org.apache.paimon.predicate.*;
import org.apache.paimon.reader.RecordReader;
import org.apache.paimon.schema.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.core.type.TypeReference;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.*;
import org.apache.paimon.table.sink.*;
import org.apache.paimon.table.source.*;
import org.apache.paimon.types.*;

/**
 * Runs JSON scripts of table operations with Apache Paimon's own Java code, so that paimon_core can be
 * checked against it in both directions: tables that Java wrote and the other side must read, and
 * tables that the other side wrote and Java must read. tests/support/oracle.py starts it.
 *
 * <p>A script is {@code {"warehouse": PATH, "catalogOptions": {...}, "steps": [STEP, ...]}}; README.md
 * lists the steps. Each step gives one JSON object, in order, with its {@code op}; a failing step gives
 * {@code {"error": ...}} and the rest still run. Two ways to run it:
 *
 * <pre>
 * PaimonOracle SCRIPT.json   (or - for standard input) one object a line; exit status 0 when every step
 *                            ran, 1 when any failed, 2 for an unreadable script
 * PaimonOracle -serve        one script a line of standard input, one array of objects a line of standard
 *                            output, until the input ends; every script opens a catalog of its own, so
 *                            that no cache outlives what the other side changed in between
 * </pre>
 */
public class PaimonOracle {
    static final ObjectMapper JSON = new ObjectMapper();
    static Catalog catalog;
    static Path spill;

    public static void main(String[] args) throws Exception {
        spill = Files.createTempDirectory("oracle-spill");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> remove(spill.toFile())));
        if (args[0].equals("-serve")) {
            serve();
            System.exit(0);
        }
        JsonNode script;
        try (InputStream in = args[0].equals("-") ? System.in : new FileInputStream(args[0])) {
            script = JSON.readTree(in);
        } catch (IOException e) {
            System.err.println("unreadable script: " + e.getMessage());
            System.exit(2);
            return;
        }
        boolean failed = false;
        for (JsonNode out : runAll(script)) {
            failed |= out.has("error");
            System.out.println(JSON.writeValueAsString(out));
        }
        System.exit(failed ? 1 : 0);
    }

    /** Answers one line for each line; what libraries print goes to standard error, so answers stay whole. */
    static void serve() throws Exception {
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, "UTF-8");
        System.setOut(System.err);
        BufferedReader scripts = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
        String line;
        while ((line = scripts.readLine()) != null) {
            JsonNode answer;
            try {
                answer = runAll(JSON.readTree(line));
            } catch (Exception e) {
                answer = JSON.createObjectNode().put("error", e.getClass().getSimpleName() + ": " + e.getMessage());
            }
            answers.println(JSON.writeValueAsString(answer));
            answers.flush();
        }
    }

    static ArrayNode runAll(JsonNode script) throws Exception {
        Options options = new Options();
        options.set("warehouse", script.get("warehouse").asText());
        if (script.has("catalogOptions")) options(script.get("catalogOptions")).forEach(options::set);
        ArrayNode results = JSON.createArrayNode();
        try (Catalog opened = CatalogFactory.createCatalog(CatalogContext.create(options))) {
            catalog = opened;
            for (JsonNode step : script.get("steps")) {
                ObjectNode out;
                try {
                    out = run(step);
                } catch (Throwable t) {
                    out = JSON.createObjectNode();
                    out.put("error", t.getClass().getSimpleName() + ": " + t.getMessage());
                    if (System.getenv("ORACLE_TRACE") != null) t.printStackTrace();
                }
                results.add(out.put("op", step.get("op").asText()));
            }
        }
        return results;
    }

    static void remove(File file) {
        File[] inside = file.listFiles();
        if (inside != null) for (File f : inside) remove(f);
        file.delete();
    }

    static ObjectNode run(JsonNode s) throws Exception {
        ObjectNode out = JSON.createObjectNode();
        switch (s.get("op").asText()) {
            case "create": create(s); break;
            case "alter": catalog.alterTable(id(s), changes(s.get("changes")), false); break;
            case "write": out.put("snapshot", write(s)); break;
            case "compact": out.put("snapshot", compact(s)); break;
            case "dump": dump(s, out); break;
            case "plan": plan(s, out); break;
            case "like": like(s, out); break;
            case "stream": stream(s, out); break;
            case "tag": table(s).createTag(s.get("name").asText(), s.get("snapshot").asLong()); break;
            case "deleteTag": table(s).deleteTag(s.get("name").asText()); break;
            case "autoTags": table(s).newTagAutoManager().run(); break;
            case "branch":
                if (s.has("tag")) table(s).createBranch(s.get("name").asText(), s.get("tag").asText());
                else table(s).createBranch(s.get("name").asText());
                break;
            case "statistics": CommitSteps.statistics(table(s), out); break;
            case "analyze": CommitSteps.analyze(table(s), s.get("statistics")); break;
            case "deleteRows": case "pack": VectorSteps.run(s, out); break;
            case "cluster": ClusterSteps.run(s, out); break;
            case "setColumns": case "packColumns": case "update": TrackingSteps.run(s, out); break;
            case "leave": case "orphans": case "compactManifests": OrphanSteps.run(s, out); break;
            case "fastForward": table(s).fastForward(s.get("name").asText()); break;
            case "rollback":
                if (s.has("tag")) table(s).rollbackTo(s.get("tag").asText());
                else table(s).rollbackTo(s.get("snapshot").asLong());
                break;
            case "expire": {
                int n = table(s).newExpireSnapshots().config(
                        org.apache.paimon.options.ExpireConfig.builder()
                                .snapshotRetainMin(s.get("retainMin").asInt())
                                .snapshotRetainMax(s.get("retainMax").asInt())
                                .snapshotTimeRetain(Duration.ofMillis(s.path("olderThanMillis").asLong(0)))
                                .snapshotMaxDeletes(s.path("maxDeletes").asInt(1000)).build()).expire();
                out.put("expired", n);
                break;
            }
            case "partitionTimes": case "expireDecoupled": case "expirePartitions":
            case "markDone": case "resetConsumer": case "consumers": ExpirySteps.run(s, out); break;
            default: CatalogSteps.run(catalog, s, out);
        }
        return out;
    }

    static Identifier id(JsonNode s) { return Identifier.fromString(s.get("table").asText()); }

    static FileStoreTable table(JsonNode s) throws Exception {
        String name = s.get("table").asText();
        Table t = catalog.getTable(
                s.has("branch") ? new Identifier(id(s).getDatabaseName(), id(s).getTableName(), s.get("branch").asText()) : Identifier.fromString(name));
        return (FileStoreTable) (s.has("options") ? t.copy(options(s.get("options"))) : t);
    }

    static Map<String, String> options(JsonNode n) {
        Map<String, String> m = new LinkedHashMap<>();
        if (n != null) n.fields().forEachRemaining(e -> m.put(e.getKey(), e.getValue().asText()));
        return m;
    }

    static List<String> strings(JsonNode n) {
        List<String> l = new ArrayList<>();
        if (n != null) n.forEach(x -> l.add(x.asText()));
        return l;
    }

    /** A type string such as {@code "DECIMAL(10, 2) NOT NULL"}, or the object form of a nested type. */
    static DataType type(JsonNode n) {
        return DataTypeJsonParser.parseDataType(n);
    }

    static void create(JsonNode s) throws Exception {
        catalog.createDatabase(id(s).getDatabaseName(), true);
        Schema.Builder b = Schema.newBuilder();
        for (JsonNode f : s.get("fields")) b.column(f.get("name").asText(), type(f.get("type")));
        b.primaryKey(strings(s.get("primaryKeys")));
        b.partitionKeys(strings(s.get("partitionKeys")));
        b.options(options(s.get("options")));
        catalog.createTable(id(s), b.build(), false);
    }

    static List<SchemaChange> changes(JsonNode n) {
        List<SchemaChange> l = new ArrayList<>();
        for (JsonNode c : n) {
            if (c.has("action")) {
                l.add(org.apache.paimon.utils.JsonSerdeUtil.fromJson(c.toString(), SchemaChange.class));
                continue;
            }
            String name = c.path("name").asText();
            switch (c.get("change").asText()) {
                case "add": l.add(SchemaChange.addColumn(name, type(c.get("type")))); break;
                case "drop": l.add(SchemaChange.dropColumn(name)); break;
                case "rename": l.add(SchemaChange.renameColumn(name, c.get("to").asText())); break;
                case "type": l.add(SchemaChange.updateColumnType(name, type(c.get("type")))); break;
                case "set": l.add(SchemaChange.setOption(c.get("key").asText(), c.get("value").asText())); break;
                default: throw new IllegalArgumentException("unknown change " + c);
            }
        }
        return l;
    }

    /** Writes {@code rows}, each {@code [KIND, v1, v2, ...]}, and commits; with "identifier" the commit is a stream commit. */
    static long write(JsonNode s) throws Exception {
        FileStoreTable t = table(s);
        RowType rt = t.rowType();
        IOManager io = IOManager.create(spill.toString());
        if (s.has("identifier")) {
            StreamWriteBuilder wb = t.newStreamWriteBuilder().withCommitUser(s.path("user").asText("oracle"));
            try (StreamTableWrite w = wb.newWrite(); StreamTableCommit c = wb.newCommit()) {
                w.withIOManager(io);
                rows(s, rt, w);
                c.commit(s.get("identifier").asLong(), w.prepareCommit(true, s.get("identifier").asLong()));
            }
        } else {
            BatchWriteBuilder wb = t.newBatchWriteBuilder();
            if (s.has("overwrite")) wb.withOverwrite(options(s.get("overwrite")));
            try (BatchTableWrite w = wb.newWrite(); BatchTableCommit c = wb.newCommit()) {
                w.withIOManager(io);
                rows(s, rt, w);
                c.commit(w.prepareCommit());
            }
        }
        return latest(t);
    }

    static void rows(JsonNode s, RowType rt, TableWrite w) throws Exception {
        FileStoreTable t = table(s);
        Integer groups = s.has("assigners") ? Integer.valueOf(s.get("assigners").asInt()) : null;
        RowPartitionKeyExtractor keys = new RowPartitionKeyExtractor(t.schema());
        Map<Integer, BucketAssigner> assigners = new HashMap<>();
        GlobalIndexAssigner across = t.bucketMode() == BucketMode.KEY_DYNAMIC ? across(t, w) : null;
        for (JsonNode r : s.get("rows")) {
            GenericRow row = new GenericRow(RowKind.fromShortString(r.get(0).asText()), rt.getFieldCount());
            for (int i = 0; i < rt.getFieldCount(); i++) row.setField(i, decode(r.get(i + 1), rt.getTypeAt(i)));
            if (across != null) across.processInput(row);
            else if (s.has("bucket")) w.write(row, s.get("bucket").asInt());
            else if (groups == null) w.write(row);
            else {
                BinaryRow partition = keys.partition(row);
                int hash = keys.trimmedPrimaryKey(row).hashCode();
                int group = BucketAssigner.computeAssigner(partition.hashCode(), hash, groups, groups);
                BucketAssigner a = assigners.computeIfAbsent(group, g -> assigner(s, t, groups, g));
                w.write(row, a.assign(partition, hash));
            }
        }
    }

    /** What finds the keys of all partitions, as Flink's GlobalIndexAssignerOperator uses it. */
    static GlobalIndexAssigner across(FileStoreTable t, TableWrite w) throws Exception {
        GlobalIndexAssigner a = new GlobalIndexAssigner(t);
        a.open(0, IOManager.create(spill.toString()), 1, 0, (row, bucket) -> {
            try {
                w.write(row, bucket);
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
        new IndexBootstrap(t).bootstrap(1, 0, row -> {
            try {
                a.bootstrapKey(row);
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        a.endBoostrap(false);
        return a;
    }

    /** What assigns keys to dynamic buckets in a batch job: from the hash index, or without it for an overwrite. */
    static BucketAssigner assigner(JsonNode s, FileStoreTable t, int groups, int group) {
        CoreOptions o = t.coreOptions();
        long target = o.dynamicBucketTargetRowNum();
        int most = o.dynamicBucketMaxBuckets();
        return s.has("overwrite")
            ? new SimpleHashBucketAssigner(groups, group, target, most)
            : new HashBucketAssigner(t.snapshotManager(), "oracle", t.store().newIndexFileHandler(), groups, groups, group, target, most);
    }

    static long latest(FileStoreTable t) {
        Long id = t.snapshotManager().latestSnapshotId();
        return id == null ? -1 : id;
    }

    static long compact(JsonNode s) throws Exception {
        Map<String, String> dyn = new HashMap<>();
        dyn.put("write-only", "false");
        FileStoreTable t = table(s).copy(dyn);
        BatchWriteBuilder wb = t.newBatchWriteBuilder();
        Set<List<Object>> seen = new LinkedHashSet<>();
        try (BatchTableWrite w = wb.newWrite(); BatchTableCommit c = wb.newCommit()) {
            w.withIOManager(IOManager.create(spill.toString()));
            // Of the files, because scans leave out buckets of which all rows are hidden in level 0.
            for (ManifestEntry e : t.store().newScan().plan().files())
                if (e.bucket() >= 0 && seen.add(Arrays.asList(e.partition(), e.bucket())))
                    w.compact(e.partition(), e.bucket(), s.path("full").asBoolean(true));
            c.commit(w.prepareCommit());
        }
        return latest(t);
    }

    static ReadBuilder reader(JsonNode s, Table t) {
        ReadBuilder rb = t.newReadBuilder();
        if (s.has("projection")) rb.withProjection(t.rowType().getFieldIndices(strings(s.get("projection"))));
        if (s.has("filter")) {
            PredicateBuilder pb = new PredicateBuilder(t.rowType());
            for (JsonNode f : s.get("filter")) {
                int i = pb.indexOf(f.get(0).asText());
                DataType ty = t.rowType().getTypeAt(i);
                Object v = f.size() > 2 ? decode(f.get(2), ty) : null;
                switch (f.get(1).asText()) {
                    case "=": rb.withFilter(pb.equal(i, v)); break;
                    case "<": rb.withFilter(pb.lessThan(i, v)); break;
                    case "<=": rb.withFilter(pb.lessOrEqual(i, v)); break;
                    case ">": rb.withFilter(pb.greaterThan(i, v)); break;
                    case ">=": rb.withFilter(pb.greaterOrEqual(i, v)); break;
                    case "isNull": rb.withFilter(pb.isNull(i)); break;
                    case "isNotNull": rb.withFilter(pb.isNotNull(i)); break;
                    default: throw new IllegalArgumentException("unknown operator " + f);
                }
            }
        }
        return rb;
    }

    /** For each pattern of LIKE, the values that match, or null where Java refuses the pattern. */
    static void like(JsonNode s, ObjectNode out) {
        ArrayNode found = out.putArray("found");
        for (JsonNode pattern : s.get("patterns")) {
            try {
                ArrayNode matching = JSON.createArrayNode();
                BinaryString p = BinaryString.fromString(pattern.asText());
                for (JsonNode v : s.get("values"))
                    if (Like.INSTANCE.test(DataTypes.STRING(), BinaryString.fromString(v.asText()), p))
                        matching.add(v);
                found.add(matching);
            } catch (RuntimeException e) {
                found.addNull();
            }
        }
    }

    static Table source(JsonNode s) throws Exception {
        if (s.get("table").asText().contains("$") || s.get("table").asText().startsWith("sys.")) {
            Table t = catalog.getTable(Identifier.fromString(s.get("table").asText()));
            return s.has("options") ? t.copy(options(s.get("options"))) : t;
        }
        return table(s);
    }

    /** Reads the table and prints its rows sorted, each {@code [KIND, v1, v2, ...]}. */
    static void dump(JsonNode s, ObjectNode out) throws Exception {
        Table t = source(s);
        ReadBuilder rb = reader(s, t);
        List<String> lines = new ArrayList<>();
        for (Split split : rb.newScan().plan().splits()) collect(rb, split, lines);
        Collections.sort(lines);
        ArrayNode rows = out.putArray("rows");
        for (String l : lines) rows.add(JSON.readTree(l));
        out.put("count", lines.size());
    }

    static void collect(ReadBuilder rb, Split split, List<String> lines) throws Exception {
        RowType rt = rb.readType();
        try (RecordReader<InternalRow> rr = rb.newRead().executeFilter().createReader(split)) {
            RecordReader.RecordIterator<InternalRow> it;
            while ((it = rr.readBatch()) != null) {
                InternalRow r;
                while ((r = it.next()) != null) {
                    ArrayNode a = JSON.createArrayNode();
                    a.add(r.getRowKind().shortString());
                    for (int i = 0; i < rt.getFieldCount(); i++) {
                        Object v = InternalRow.createFieldGetter(rt.getTypeAt(i), i).getFieldOrNull(r);
                        a.add(encode(v, rt.getTypeAt(i)));
                    }
                    lines.add(JSON.writeValueAsString(a));
                }
                it.releaseBatch();
            }
        }
    }

    /** Follows the table from its first plan on, and prints the rows of each plan that is not empty, up to "plans" of them. */
    static void stream(JsonNode s, ObjectNode out) throws Exception {
        ReadBuilder rb = reader(s, table(s));
        StreamTableScan scan = rb.newStreamScan();
        if (s.has("from")) scan.restore(s.get("from").asLong());
        ArrayNode plans = out.putArray("plans");
        int idle = 0;
        while (plans.size() < s.path("plans").asInt(100) && idle < 3) {
            List<String> lines = new ArrayList<>();
            for (Split split : scan.plan().splits()) collect(rb, split, lines);
            if (lines.isEmpty()) { idle++; continue; }
            Collections.sort(lines);
            ArrayNode rows = plans.addArray();
            for (String l : lines) rows.add(JSON.readTree(l));
        }
    }

    /** Prints the files that a read of the table would open, by split. */
    static void plan(JsonNode s, ObjectNode out) throws Exception {
        ReadBuilder rb = reader(s, table(s));
        ArrayNode splits = out.putArray("splits");
        for (Split sp : rb.newScan().plan().splits()) {
            DataSplit d = (DataSplit) sp;
            ObjectNode o = splits.addObject();
            o.put("snapshot", d.snapshotId()).put("bucket", d.bucket()).put("rawConvertible", d.rawConvertible());
            ArrayNode files = o.putArray("files");
            d.dataFiles().forEach(f -> files.addObject().put("name", f.fileName()).put("level", f.level())
                    .put("rows", f.rowCount()).put("minSequence", f.minSequenceNumber())
                    .put("maxSequence", f.maxSequenceNumber()).put("schemaId", f.schemaId()));
        }
    }

    static Object decode(JsonNode n, DataType t) {
        if (n == null || n.isNull()) return null;
        switch (t.getTypeRoot()) {
            case BOOLEAN: return n.asBoolean();
            case TINYINT: return (byte) n.asInt();
            case SMALLINT: return (short) n.asInt();
            case INTEGER: return n.asInt();
            case BIGINT: return n.asLong();
            case FLOAT: return (float) number(n);
            case DOUBLE: return number(n);
            case CHAR: case VARCHAR: return BinaryString.fromString(n.asText());
            case BINARY: case VARBINARY: return hex(n.asText());
            case DECIMAL: { DecimalType d = (DecimalType) t; return Decimal.fromBigDecimal(new BigDecimal(n.asText()), d.getPrecision(), d.getScale()); }
            case DATE: return (int) LocalDate.parse(n.asText()).toEpochDay();
            case TIME_WITHOUT_TIME_ZONE: return (int) (LocalTime.parse(n.asText()).toNanoOfDay() / 1_000_000);
            case TIMESTAMP_WITHOUT_TIME_ZONE: return Timestamp.fromLocalDateTime(LocalDateTime.parse(n.asText()));
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE: return Timestamp.fromInstant(java.time.Instant.parse(n.asText()));
            case ARRAY: { DataType e = ((ArrayType) t).getElementType(); Object[] a = new Object[n.size()]; for (int i = 0; i < a.length; i++) a[i] = decode(n.get(i), e); return new GenericArray(a); }
            case MAP: { MapType m = (MapType) t; Map<Object, Object> r = new LinkedHashMap<>(); for (JsonNode e : n) r.put(decode(e.get(0), m.getKeyType()), decode(e.get(1), m.getValueType())); return new GenericMap(r); }
            case MULTISET: { Map<Object, Object> r = new LinkedHashMap<>(); for (JsonNode e : n) r.put(decode(e.get(0), ((MultisetType) t).getElementType()), e.get(1).asInt()); return new GenericMap(r); }
            case VARIANT: return new GenericVariant(hex(n.get(0).asText()), hex(n.get(1).asText()));
            case ROW: { RowType rt = (RowType) t; GenericRow r = new GenericRow(rt.getFieldCount()); for (int i = 0; i < rt.getFieldCount(); i++) r.setField(i, decode(n.get(i), rt.getTypeAt(i))); return r; }
            default: throw new IllegalArgumentException("no JSON form for " + t);
        }
    }

    static double number(JsonNode n) {
        return n.isTextual() ? Double.parseDouble(n.asText()) : n.asDouble();
    }

    static JsonNode encode(Object v, DataType t) {
        JsonNodeFactory f = JsonNodeFactory.instance;
        if (v == null) return f.nullNode();
        switch (t.getTypeRoot()) {
            case BOOLEAN: return f.booleanNode((Boolean) v);
            case TINYINT: case SMALLINT: case INTEGER: case BIGINT: return f.numberNode(((Number) v).longValue());
            case FLOAT: case DOUBLE: { double d = ((Number) v).doubleValue(); return Double.isFinite(d) ? f.numberNode(d) : f.textNode(String.valueOf(d)); }
            case CHAR: case VARCHAR: return f.textNode(v.toString());
            case BINARY: case VARBINARY: return f.textNode(HexFormat.of().formatHex((byte[]) v));
            case DECIMAL: return f.textNode(((Decimal) v).toBigDecimal().toPlainString());
            case DATE: return f.textNode(LocalDate.ofEpochDay((Integer) v).toString());
            case TIME_WITHOUT_TIME_ZONE: return f.textNode(LocalTime.ofNanoOfDay((Integer) v * 1_000_000L).toString());
            case TIMESTAMP_WITHOUT_TIME_ZONE: return f.textNode(((Timestamp) v).toLocalDateTime().toString());
            case TIMESTAMP_WITH_LOCAL_TIME_ZONE: return f.textNode(((Timestamp) v).toInstant().toString());
            case ARRAY: { InternalArray a = (InternalArray) v; DataType e = ((ArrayType) t).getElementType(); ArrayNode n = f.arrayNode(); InternalArray.ElementGetter g = InternalArray.createElementGetter(e); for (int i = 0; i < a.size(); i++) n.add(encode(g.getElementOrNull(a, i), e)); return n; }
            case MAP: return pairs((InternalMap) v, ((MapType) t).getKeyType(), ((MapType) t).getValueType());
            case MULTISET: return pairs((InternalMap) v, ((MultisetType) t).getElementType(), DataTypes.INT());
            case VARIANT: { Variant x = (Variant) v; return f.arrayNode().add(HexFormat.of().formatHex(x.value())).add(HexFormat.of().formatHex(x.metadata())); }
            case ROW: { InternalRow r = (InternalRow) v; RowType rt = (RowType) t; ArrayNode n = f.arrayNode(); for (int i = 0; i < rt.getFieldCount(); i++) n.add(encode(InternalRow.createFieldGetter(rt.getTypeAt(i), i).getFieldOrNull(r), rt.getTypeAt(i))); return n; }
            default: throw new IllegalArgumentException("no JSON form for " + t);
        }
    }

    static ArrayNode pairs(InternalMap m, DataType key, DataType value) {
        InternalArray k = m.keyArray(), x = m.valueArray();
        InternalArray.ElementGetter kg = InternalArray.createElementGetter(key), xg = InternalArray.createElementGetter(value);
        List<ArrayNode> es = new ArrayList<>();
        for (int i = 0; i < m.size(); i++) es.add(JSON.createArrayNode().add(encode(kg.getElementOrNull(k, i), key)).add(encode(xg.getElementOrNull(x, i), value)));
        es.sort(Comparator.comparing(JsonNode::toString));
        return JSON.createArrayNode().addAll(es);
    }

    static byte[] hex(String s) { return HexFormat.of().parseHex(s); }
}
