// The browser, which all test files of a process share.

import { after } from 'node:test';
import { chromium } from 'playwright-core';
import { CHROMIUM } from './environment.mjs';
import './giving-up.mjs';

let launched;

function launch() {
  launched ??= chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      // As a browser with windows draws letters on a desktop.
      '--font-render-hinting=slight',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
  return launched;
}

after(async () => (await launched)?.close());

/** A new context; it is English unless `options` name another locale. */
export async function newContext(options = {}) {
  return (await launch()).newContext({ locale: 'en-US', ...options });
}

/**
 * Makes the pages of a context ask Playwright about requests to these addresses from the start. Otherwise a request that a page
 * sends at once after its first `route` may pass it.
 */
export const interceptFromStart = (context, addresses) =>
  context.route(addresses, (route) => route.fallback());
