// The entry of the Worker. The class that worker-build generates wraps every request in three proxies, so
// that it can make a new instance after a trap. Here only the first request after a trap takes that path.

import Worker from './build/index.js';

// It reads `env` and `ctx` of the object that it is called on.
const { fetch } = Worker.prototype;
const state = globalThis.__worker_init_state;

export default {
  async fetch(request, env, ctx) {
    // The instance has trapped: the class makes a new one.
    if (state.criticalError) return new Worker(ctx, env).fetch(request);
    try {
      return await fetch.call({ env, ctx }, request);
    } catch (error) {
      if (error instanceof WebAssembly.RuntimeError) state.criticalError = true;
      throw error;
    }
  },
};
