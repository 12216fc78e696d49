# The edge and a JavaScript worker with the same work, in one workerd, with the same stubs around both.
# run.mjs sets the addresses of the sockets.
using Workerd = import "/workerd/workerd.capnp";

const date :Text = "2026-11-01";

const bench :Workerd.Config = (
  services = [
    (name = "rust", worker = .rust),
    (name = "javascript", worker = .javascript),
    (name = "origin", worker = .origin),
    (name = "stores", worker = .stores),
  ],
  sockets = [
    (name = "rust", address = "127.0.0.1:0", http = (), service = "rust"),
    (name = "javascript", address = "127.0.0.1:0", http = (), service = "javascript"),
  ],
);

const rust :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "../../../edge/worker.js"),
    (name = "build/index.js", esModule = embed "../../../edge/build/index.js"),
    (name = "build/index_bg.wasm", wasm = embed "../../../edge/build/index_bg.wasm"),
  ],
  compatibilityDate = .date,
  bindings = [
    (name = "ORIGIN", text = "http://origin.invalid"),
    (name = "PAGES", kvNamespace = "stores"),
  ],
  globalOutbound = "origin",
  cacheApiOutbound = "stores",
);

const javascript :Workerd.Worker = (
  modules = [(name = "peer.js", esModule = embed "peer.js")],
  compatibilityDate = .date,
  bindings = [(name = "PAGES", kvNamespace = "stores")],
  globalOutbound = "origin",
  cacheApiOutbound = "stores",
);

const origin :Workerd.Worker = (
  modules = [(name = "origin.js", esModule = embed "origin.js"), (name = "page.js", esModule = embed "page.js")],
  compatibilityDate = .date,
);

const stores :Workerd.Worker = (
  modules = [(name = "stores.js", esModule = embed "stores.js"), (name = "page.js", esModule = embed "page.js")],
  compatibilityDate = .date,
);
