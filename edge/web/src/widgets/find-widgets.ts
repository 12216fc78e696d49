/** Loads the elements beside the comments as soon as there is one of them on the page, and not before. */

const WIDGETS = 'gailou-count,[data-gailou-count],gailou-latest,gailou-bell';
/** Pages that change all the time are looked at this often. */
const LOOK_INTERVAL_MS = 200;

export function findWidgets(load: () => void): void {
  let isWaiting = false;
  const look = () => {
    isWaiting = false;
    if (!document.querySelector(WIDGETS)) return;
    observer.disconnect();
    load();
  };
  const observer = new MutationObserver(() => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(look, LOOK_INTERVAL_MS);
  });
  observer.observe(document, {
    subtree: true,
    childList: true,
    attributeFilter: ['data-gailou-count'],
  });
  look();
}
