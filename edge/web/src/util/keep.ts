/** Writes JSON values into the browser's storage. Who only reads needs none of it. */

import type { JsonStorage } from './json-storage.ts';

export function keepIn({ memory, storage }: JsonStorage, key: string, value: unknown): void {
  try {
    if (!storage) throw new Error('The browser blocks storage');
    storage.setItem(key, JSON.stringify(value));
    memory.delete(key);
  } catch {
    memory.set(key, value);
  }
}

export function removeFrom({ memory, storage }: JsonStorage, key: string): void {
  memory.delete(key);
  try {
    storage?.removeItem(key);
  } catch {
    // Nothing is stored there.
  }
}
