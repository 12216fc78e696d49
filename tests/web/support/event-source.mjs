// An `EventSource` that the test controls; it replaces the browser's.

/** For the option `prepare` of `withPage`. */
export function replaceEventSource(context) {
  return context.addInitScript(() => {
    window.streams = [];
    window.EventSource = class extends EventTarget {
      static CLOSED = 2;

      constructor(address) {
        super();
        this.address = address;
        this.readyState = 1;
        window.streams.push(this);
      }

      close() {
        this.readyState = 2;
      }
    };
  });
}

/** The streams that the page has opened: `path`, the parameter `after`, and `readyState`. */
export function openedStreams(page) {
  return page.evaluate(() =>
    window.streams.map(({ address, readyState }) => {
      const { pathname, searchParams } = new URL(address, location);
      return { path: pathname, after: searchParams.get('after'), readyState };
    }),
  );
}

/** Waits until the element has opened a stream, which it does after the list is shown. */
export const hasStream = (page) => page.waitForFunction(() => window.streams.length > 0);

/** Sends an event on the newest stream. */
export async function sendEvent(page, name, id, data) {
  await hasStream(page);
  await page.evaluate(
    ([type, lastEventId, text]) => {
      const event = new MessageEvent(type, { lastEventId, data: text });
      window.streams.at(-1).dispatchEvent(event);
    },
    [name, String(id), JSON.stringify(data)],
  );
}

/** Lets the newest stream fail as a refused one does. */
export function refuseStream(page) {
  return page.evaluate(() => {
    const stream = window.streams.at(-1);
    stream.readyState = 2;
    stream.dispatchEvent(new Event('error'));
  });
}

/** Closes the stream, and waits until the element has opened the next one. */
export async function restartStream(page) {
  const element = page.locator('gailou-comments');
  const { length } = await openedStreams(page);
  await element.evaluate((node) => node.setAttribute('live', 'off'));
  await element.evaluate((node) => node.removeAttribute('live'));
  await page.waitForFunction((before) => window.streams.length > before, length);
}
