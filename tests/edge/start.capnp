# Each alone in a workerd: the edge; the edge when it is loaded and not asked; a worker of no size.
# workerd.mjs gives the sockets their addresses.
using Workerd = import "/workerd/workerd.capnp";

const date :Text = "2026-11-01";

const edge :Workerd.Config = (
  services = [(name = "edge", worker = .edgeWorker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "edge")],
);

const loaded :Workerd.Config = (
  services = [(name = "loaded", worker = .loadedWorker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "loaded")],
);

const empty :Workerd.Config = (
  services = [(name = "empty", worker = .emptyWorker)],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "empty")],
);

const edgeWorker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "../../edge/worker.js"),
    (name = "build/index.js", esModule = embed "../../edge/build/index.js"),
    (name = "build/index_bg.wasm", wasm = embed "../../edge/build/index_bg.wasm"),
  ],
  compatibilityDate = .date,
  bindings = [(name = "ORIGIN", text = "http://origin.invalid")],
);

const loadedWorker :Workerd.Worker = (
  modules = [
    (name = "loaded.js", esModule = "import './worker.js'; export default { fetch() { return new Response('{}'); } };"),
    (name = "worker.js", esModule = embed "../../edge/worker.js"),
    (name = "build/index.js", esModule = embed "../../edge/build/index.js"),
    (name = "build/index_bg.wasm", wasm = embed "../../edge/build/index_bg.wasm"),
  ],
  compatibilityDate = .date,
);

const emptyWorker :Workerd.Worker = (
  modules = [(name = "empty.js", esModule = "export default { fetch() { return new Response('{}'); } };")],
  compatibilityDate = .date,
);
