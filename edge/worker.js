// The way into the Worker. The class that worker-build makes wraps each request in three proxies,
// for the sake of one that comes after a trap; here that one alone takes this way.

import Worker from "./build/index.js";

// It wants `env` and `ctx` of what it is called on.
const { fetch } = Worker.prototype;
const state = globalThis.__worker_init_state;

export default {
  async fetch(request, env, ctx) {
    // The instance is broken: the class makes a new one.
    if (state.criticalError) return new Worker(ctx, env).fetch(request);
    try {
      return await fetch.call({ env, ctx }, request);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) state.criticalError = true;
      throw error;
    }
  },
};
