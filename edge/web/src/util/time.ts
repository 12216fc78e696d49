/** Waiting. */

export type Timer = ReturnType<typeof setTimeout>;

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Lets the page draw and answer its reader. A timer would wait for 4 ms, and for a second in the background. */
export const nextTask = (): Promise<void> =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });

/** Between 0.5 and 1.5 times `ms`, so that the readers of a page do not ask at the same moment. */
export const jitter = (ms: number): number => ms * (0.5 + Math.random());
