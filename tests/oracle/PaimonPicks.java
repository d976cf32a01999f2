import java.io.*;
import java.lang.reflect.Field;
import java.util.*;
import org.apache.paimon.compact.*;
import org.apache.paimon.data.*;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.mergetree.*;
import org.apache.paimon.mergetree.compact.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.*;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.stats.SimpleStats;

/**
 * Asks Apache Paimon what to compact: an array of buckets on standard input, one answer for each on standard output.
 *
 * <p>A bucket is {@code {"options": {...}, "hour": H, "age": MILLIS, "files": [[level, size, firstKey, lastKey,
 * firstSequence, lastSequence, created, deletes], ...]}}; files are known by their position. Absent options are off;
 * age is the time since the last full compaction, level0 the picks until level 0 is forced, 0 being always. An answer
 * holds the runs ({@code [[level, file...], ...]}), the picked unit ({@code [outputLevel, dropDelete, file...]}), the unit of a full compaction, and the steps of both: an
 * upgrade is a file's number, a rewrite the array of its sections, each an array of runs.
 */
public class PaimonPicks {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Comparator<InternalRow> KEYS = Comparator.comparingInt(row -> row.getInt(0));

    public static void main(String[] args) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode bucket : JSON.readTree(System.in)) answers.add(answer(bucket));
        System.out.println(answers);
    }

    static ObjectNode answer(JsonNode bucket) throws Exception {
        JsonNode options = bucket.get("options");
        Levels levels = new Levels(KEYS, files(bucket.get("files")), options.get("numLevels").asInt());
        List<LevelSortedRun> runs = levels.levelSortedRuns();
        ObjectNode out = JSON.createObjectNode();
        ArrayNode shown = out.putArray("runs");
        for (LevelSortedRun run : runs) {
            ArrayNode one = shown.addArray().add(run.level());
            run.run().files().forEach(f -> one.add(number(f)));
        }
        boolean force = options.path("forceRewrite").asBoolean();
        Optional<CompactUnit> picked =
                strategy(bucket)
                        .pick(levels.numberOfLevels(), runs)
                        .filter(u -> !u.files().isEmpty())
                        .filter(u -> u.files().size() > 1 || u.files().get(0).level() != u.outputLevel());
        show("unit", "steps", picked, levels, options, out);
        Optional<CompactUnit> full =
                CompactStrategy.pickFullCompaction(levels.numberOfLevels(), runs, null, null, force);
        show("full", "fullSteps", full, levels, options, out);
        return out;
    }

    static CompactStrategy strategy(JsonNode bucket) throws Exception {
        JsonNode options = bucket.get("options");
        Long interval = number(options, "interval");
        Long total = number(options, "total");
        Long increment = number(options, "increment");
        EarlyFullCompaction early = null;
        if (interval != null || total != null || increment != null) {
            early = new EarlyFullCompaction(interval, total, increment);
            if (bucket.has("age")) {
                Field last = EarlyFullCompaction.class.getDeclaredField("lastFullCompaction");
                last.setAccessible(true);
                last.set(early, System.currentTimeMillis() - bucket.get("age").asLong());
            }
        }
        int more = 0;
        if (options.has("offPeak")) {
            JsonNode hours = options.get("offPeak");
            OffPeakHours offPeak =
                    OffPeakHours.create(hours.get(0).asInt(), hours.get(1).asInt(), hours.get(2).asInt());
            // Java asks the clock; the hour of the case is asked here, and what it gives is added to the ratio as there.
            more = offPeak == null ? 0 : offPeak.currentRatio(bucket.get("hour").asInt());
        }
        UniversalCompaction universal =
                new UniversalCompaction(
                        options.get("maxAmplification").asInt(),
                        options.get("ratio").asInt() + more,
                        options.get("trigger").asInt(),
                        early,
                        null);
        if (!options.has("level0")) return universal;
        int interval0 = options.get("level0").asInt();
        return new ForceUpLevel0Compaction(universal, interval0 == 0 ? null : interval0);
    }

    static void show(
            String name, String steps, Optional<CompactUnit> unit, Levels levels, JsonNode options, ObjectNode out)
            throws Exception {
        if (!unit.isPresent()) return;
        int level = unit.get().outputLevel();
        boolean drop = level != 0 && level >= levels.nonEmptyHighestLevel();
        ArrayNode shown = out.putArray(name).add(level).add(drop ? 1 : 0);
        unit.get().files().forEach(f -> shown.add(number(f)));
        Steps found = new Steps();
        if (unit.get().fileRewrite()) {
            for (DataFileMeta f : unit.get().files()) {
                found.rewrite(level, drop, List.of(List.of(SortedRun.fromSingle(f))));
            }
        } else {
            long small = options.get("smallFile").asLong();
            boolean force = options.path("forceRewrite").asBoolean();
            new MergeTreeCompactTask(
                            KEYS, small, found, unit.get(), drop, levels.maxLevel(), null, () -> null, null, force)
                    .call();
        }
        out.set(steps, found.steps);
    }

    /** Notes what a compaction would do instead of doing it. */
    static class Steps implements CompactRewriter {
        final ArrayNode steps = JSON.createArrayNode();

        public CompactResult rewrite(int level, boolean drop, List<List<SortedRun>> sections) {
            ArrayNode step = steps.addArray();
            for (List<SortedRun> section : sections) {
                ArrayNode one = step.addArray();
                for (SortedRun run : section) {
                    ArrayNode files = one.addArray();
                    run.files().forEach(f -> files.add(number(f)));
                }
            }
            return new CompactResult();
        }

        public CompactResult upgrade(int level, DataFileMeta file) {
            steps.add(number(file));
            return new CompactResult();
        }

        public void close() {}
    }

    static Long number(JsonNode options, String name) {
        return options.has(name) ? options.get(name).asLong() : null;
    }

    static int number(DataFileMeta file) {
        return Integer.parseInt(file.fileName().substring(1));
    }

    static List<DataFileMeta> files(JsonNode described) {
        List<DataFileMeta> out = new ArrayList<>();
        for (JsonNode f : described) {
            out.add(
                    DataFileMeta.create(
                            String.format("f%03d", out.size()),
                            f.get(1).asLong(),
                            1,
                            BinaryRow.singleColumn(f.get(2).asInt()),
                            BinaryRow.singleColumn(f.get(3).asInt()),
                            SimpleStats.EMPTY_STATS,
                            SimpleStats.EMPTY_STATS,
                            f.get(4).asLong(),
                            f.get(5).asLong(),
                            0,
                            f.get(0).asInt(),
                            List.of(),
                            Timestamp.fromEpochMillis(f.get(6).asLong()),
                            f.get(7).isNull() ? null : f.get(7).asLong(),
                            null,
                            null,
                            null,
                            null,
                            null,
                            null));
        }
        return out;
    }
}
