/** Sentences that a screen reader speaks and no one sees. */

/** A screen reader speaks only what changes after the region was emptied. */
const ANNOUNCE_DELAY_MS = 50;

/** What has a live region for such sentences. */
export interface Announcing {
  readonly announcer: HTMLElement;
}

export function announce({ announcer }: Announcing, message: string): void {
  announcer.textContent = '';
  setTimeout(() => {
    announcer.textContent = message;
  }, ANNOUNCE_DELAY_MS);
}
