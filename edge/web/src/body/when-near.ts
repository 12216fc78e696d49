/** A part of the page, and whether the reader is about to see it. */

const MARGIN = '600px';

/** Resolves when the node comes so near to the window; never for one that is not shown. */
export function whenNear(node: Element): Promise<void> {
  return new Promise((resolve) => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        resolve();
      },
      { rootMargin: MARGIN },
    );
    observer.observe(node);
  });
}
