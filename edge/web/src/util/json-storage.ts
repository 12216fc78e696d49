/** JSON values in the browser's storage; in memory where the browser blocks storage. `keep.ts` writes them. */

export class JsonStorage {
  /** What could not be stored. */
  readonly memory = new Map<string, unknown>();
  /** Null where the browser blocks storage. */
  readonly storage: Storage | null;

  constructor(name: 'localStorage' | 'sessionStorage') {
    this.storage = openStorage(name);
  }

  /** Null when nothing is stored, or when it is not JSON. The caller knows the type it stored. */
  get<Value>(key: string): Value | null {
    if (this.memory.has(key)) return this.memory.get(key) as Value;
    try {
      return JSON.parse(this.storage?.getItem(key) ?? 'null') as Value | null;
    } catch {
      return null;
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
