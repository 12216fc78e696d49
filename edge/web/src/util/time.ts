/** Waiting. */

export type Timer = ReturnType<typeof setTimeout>;

export const sleep = (ms: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, ms));

/** Between 0.5 and 1.5 times `ms`, so that the readers of a page do not ask at the same moment. */
export const jitter = (ms: number): number => ms * (0.5 + Math.random());
