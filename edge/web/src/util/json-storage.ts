/** JSON values in the browser's storage; in memory where the browser blocks storage. */

export class JsonStorage {
  readonly #memory = new Map<string, unknown>();
  readonly #storage: Storage | null;

  constructor(name: 'localStorage' | 'sessionStorage') {
    this.#storage = openStorage(name);
  }

  /** Null when nothing is stored, or when it is not JSON. The caller knows the type it stored. */
  get<Value>(key: string): Value | null {
    if (this.#memory.has(key)) return this.#memory.get(key) as Value;
    try {
      return JSON.parse(this.#storage?.getItem(key) ?? 'null') as Value | null;
    } catch {
      return null;
    }
  }

  set(key: string, value: unknown): void {
    if (!this.#write(key, value)) this.#memory.set(key, value);
  }

  remove(key: string): void {
    this.#memory.delete(key);
    try {
      this.#storage?.removeItem(key);
    } catch {
      // Nothing is stored there.
    }
  }

  #write(key: string, value: unknown): boolean {
    if (!this.#storage) return false;
    try {
      this.#storage.setItem(key, JSON.stringify(value));
      this.#memory.delete(key);
      return true;
    } catch {
      return false;
    }
  }
}

/** A browser that blocks storage throws at the first use. */
function openStorage(name: 'localStorage' | 'sessionStorage'): Storage | null {
  try {
    const storage = window[name];
    storage.getItem('gailou');
    return storage;
  } catch {
    return null;
  }
}

/** Lives as long as the tab. */
export const tabStorage = new JsonStorage('sessionStorage');

/** Is shared by all pages of the site. */
export const siteStorage = new JsonStorage('localStorage');
