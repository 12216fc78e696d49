/** Loads what counts comments as soon as there is an element for a number on the page, and not before. */

const COUNTED = 'gailou-count, [data-gailou-count]';
/** Pages that change all the time are looked at this often. */
const LOOK_INTERVAL_MS = 200;

interface CountsScript {
  start(server: string): void;
}

export function findCounts(load: () => Promise<CountsScript>, server: () => string): void {
  let isWaiting = false;
  const observer = new MutationObserver(() => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(look, LOOK_INTERVAL_MS);
  });
  const look = () => {
    isWaiting = false;
    if (!document.querySelector(COUNTED)) return;
    observer.disconnect();
    // Without an answer, what is in the elements stays.
    load().then(
      ({ start }) => start(server()),
      () => undefined,
    );
  };
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributeFilter: ['data-gailou-count'],
  });
  look();
}
