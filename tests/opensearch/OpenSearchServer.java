import static org.codelibs.opensearch.runner.OpenSearchRunner.newConfigs;

import org.codelibs.opensearch.runner.OpenSearchRunner;

/** Runs one private OpenSearch server on loopback: OpenSearchServer DIR PORT. */
public final class OpenSearchServer {
    public static void main(String[] arguments) throws Exception {
        OpenSearchRunner runner = new OpenSearchRunner();
        runner.onBuild((number, settings) -> {
            settings.put("http.port", arguments[1]);
            settings.put("transport.port", "0");
            settings.put("network.host", "127.0.0.1");
            settings.put("discovery.type", "single-node");
            // However full the disk of the machine is, the little data of a test finds room.
            settings.put("cluster.routing.allocation.disk.threshold_enabled", "false");
            settings.putList("discovery.seed_hosts");
            settings.remove("cluster.initial_cluster_manager_nodes");
        });
        runner.build(newConfigs().basePath(arguments[0]).numOfNode(1).clusterName("gailou").printOnFailure());
        Thread.currentThread().join();
    }
}
