import java.time.*;
import java.time.format.DateTimeParseException;
import java.util.*;
import org.apache.paimon.CoreOptions;
import org.apache.paimon.consumer.*;
import org.apache.paimon.options.ExpireConfig;
import org.apache.paimon.partition.*;
import org.apache.paimon.partition.actions.SuccessFileMarkDoneAction;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.*;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.sink.BatchWriteBuilder;

/** The oracle's steps on what expires: changelogs, partitions, consumers; and on marks of done partitions. */
class ExpirySteps {
    static void run(JsonNode s, ObjectNode out) throws Exception {
        switch (s.get("op").asText()) {
            case "partitionTimes": times(s, out); break;
            case "expireDecoupled": {
                ExpireConfig config = ExpireConfig.builder()
                        .snapshotRetainMin(s.get("retainMin").asInt())
                        .snapshotRetainMax(s.get("retainMax").asInt())
                        .snapshotTimeRetain(Duration.ofMillis(s.get("timeRetained").asLong()))
                        .snapshotMaxDeletes(s.path("maxDeletes").asInt(1000))
                        .changelogRetainMin(s.get("changelogRetainMin").asInt())
                        .changelogRetainMax(s.get("changelogRetainMax").asInt())
                        .changelogTimeRetain(Duration.ofMillis(s.get("changelogTimeRetained").asLong()))
                        .changelogMaxDeletes(s.path("maxDeletes").asInt(1000))
                        .build();
                FileStoreTable table = PaimonOracle.table(s);
                out.put("expired", table.newExpireSnapshots().config(config).expire());
                if (s.path("also").asBoolean(true)) {
                    out.put("changelogs", table.newExpireChangelog().config(config).expire());
                }
                break;
            }
            case "expirePartitions": {
                FileStoreTable table = PaimonOracle.table(s);
                CoreOptions options = table.coreOptions();
                PartitionExpireStrategy strategy = PartitionExpireStrategy.createPartitionExpireStrategy(
                        options, table.schema().logicalPartitionType(), null, null);
                List<Map<String, String>> dropped = table.store().newPartitionExpire(
                        "java", table, Duration.ofMillis(s.get("lifetimeMillis").asLong()), Duration.ZERO, strategy)
                        .expire(BatchWriteBuilder.COMMIT_IDENTIFIER);
                ArrayNode list = out.putArray("dropped");
                for (Map<String, String> partition : dropped) {
                    ObjectNode one = list.addObject();
                    partition.forEach(one::put);
                }
                break;
            }
            case "markDone": {
                FileStoreTable table = PaimonOracle.table(s);
                new SuccessFileMarkDoneAction(table.fileIO(), table.location()).markDone(s.get("partition").asText());
                break;
            }
            case "resetConsumer":
                consumers(s).resetConsumer(s.get("name").asText(), new Consumer(s.get("next").asLong()));
                break;
            case "consumers": {
                ObjectNode found = out.putObject("consumers");
                consumers(s).consumers().forEach(found::put);
                break;
            }
            default: throw new IllegalArgumentException("unknown op " + s.get("op"));
        }
    }

    private static ConsumerManager consumers(JsonNode s) throws Exception {
        FileStoreTable table = PaimonOracle.table(s);
        return new ConsumerManager(table.fileIO(), table.location(), s.path("branch").asText("main"));
    }

    /** The times of lists of values, as [days since 1970, nanoseconds of the day], null where there is none. */
    private static void times(JsonNode s, ObjectNode out) {
        PartitionTimeExtractor extractor = new PartitionTimeExtractor(
                s.hasNonNull("pattern") ? s.get("pattern").asText() : null,
                s.hasNonNull("formatter") ? s.get("formatter").asText() : null);
        List<String> keys = PaimonOracle.strings(s.get("keys"));
        ArrayNode list = out.putArray("times");
        for (JsonNode values : s.get("values")) {
            try {
                LocalDateTime time = extractor.extract(keys, PaimonOracle.strings(values));
                list.addArray().add(time.toLocalDate().toEpochDay()).add(time.toLocalTime().toNanoOfDay());
            } catch (DateTimeParseException e) {
                list.addNull();
            }
        }
    }
}
