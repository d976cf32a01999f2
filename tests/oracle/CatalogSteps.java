import java.util.*;
import org.apache.paimon.catalog.*;
import org.apache.paimon.rest.*;
import org.apache.paimon.rest.auth.BearTokenAuthProvider;
import org.apache.paimon.rest.responses.ConfigResponse;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.paimon.shade.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;

/** The oracle's steps on names of databases and tables, and Paimon's own REST server for tests. */
class CatalogSteps {
    static final Map<String, RESTCatalogServer> SERVERS = new HashMap<>();

    static void run(Catalog catalog, JsonNode s, ObjectNode out) throws Exception {
        switch (s.get("op").asText()) {
            case "createDatabase": catalog.createDatabase(s.get("name").asText(), false); break;
            case "dropDatabase":
                catalog.dropDatabase(s.get("name").asText(), false, s.path("cascade").asBoolean());
                break;
            case "dropTable": catalog.dropTable(PaimonOracle.id(s), false); break;
            case "renameTable":
                catalog.renameTable(PaimonOracle.id(s), Identifier.fromString(s.get("to").asText()), false);
                break;
            case "list": {
                ObjectNode databases = out.putObject("databases");
                List<String> names = new ArrayList<>(catalog.listDatabases());
                Collections.sort(names);
                for (String name : names) {
                    List<String> tables = new ArrayList<>(catalog.listTables(name));
                    Collections.sort(tables);
                    tables.forEach(databases.putArray(name)::add);
                }
                break;
            }
            case "startRest": out.put("uri", start(s)); break;
            case "dataToken":
                SERVERS.get(s.get("uri").asText()).setDataToken(
                        PaimonOracle.id(s),
                        new RESTToken(PaimonOracle.options(s.get("token")), s.get("expiresAtMillis").asLong()));
                break;
            case "forbid": SERVERS.get(s.get("uri").asText()).addNoPermissionTable(PaimonOracle.id(s)); break;
            case "stopRest": SERVERS.remove(s.get("uri").asText()).shutdown(); break;
            default: throw new IllegalArgumentException("unknown op " + s.get("op"));
        }
    }

    /** A server of the warehouse "name" at "path", which asks for the bearer "token" and prefixes its paths. */
    static String start(JsonNode s) throws Exception {
        Map<String, String> defaults = new HashMap<>();
        defaults.put("prefix", "paimon");
        defaults.put("warehouse", s.get("name").asText());
        if (s.has("defaults")) defaults.putAll(PaimonOracle.options(s.get("defaults")));
        RESTCatalogServer server = new RESTCatalogServer(
                s.get("path").asText(), new BearTokenAuthProvider(s.get("token").asText()),
                new ConfigResponse(defaults, new HashMap<>()), s.get("name").asText());
        server.start();
        SERVERS.put(server.getUrl(), server);
        return server.getUrl();
    }
}
