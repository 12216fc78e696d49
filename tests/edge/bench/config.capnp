# The edge and a JavaScript worker that does the same, in one workerd, with stubs around the edge.
# run.mjs gives the sockets their addresses.
using Workerd = import "/workerd/workerd.capnp";

const date :Text = "2026-11-01";

const config :Workerd.Config = (
  services = [
    (name = "rust", worker = .rust),
    (name = "javascript", worker = .javascript),
    (name = "origin", worker = .origin),
    (name = "nothing", worker = .nothing),
  ],
  sockets = [
    (name = "rust", address = "127.0.0.1:0", http = (), service = "rust"),
    (name = "javascript", address = "127.0.0.1:0", http = (), service = "javascript"),
  ],
);

const rust :Workerd.Worker = (
  modules = [
    (name = "index.js", esModule = embed "../../../edge/build/index.js"),
    (name = "index_bg.wasm", wasm = embed "../../../edge/build/index_bg.wasm"),
  ],
  compatibilityDate = .date,
  bindings = [
    (name = "ORIGIN", text = "http://origin.invalid"),
    (name = "PAGES", kvNamespace = "nothing"),
  ],
  globalOutbound = "origin",
  cacheApiOutbound = "nothing",
);

const javascript :Workerd.Worker = (
  modules = [(name = "peer.js", esModule = embed "peer.js")],
  compatibilityDate = .date,
  globalOutbound = "origin",
);

const origin :Workerd.Worker = (
  modules = [(name = "origin.js", esModule = embed "origin.js")],
  compatibilityDate = .date,
);

const nothing :Workerd.Worker = (
  modules = [(name = "nothing.js", esModule = embed "nothing.js")],
  compatibilityDate = .date,
);
