// Runs the tests of the site around a thread in one process, so that they share a browser: its moderators' page, and the
// pages that have the elements.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import './console.mjs';
import './languages.test.mjs';
import './widgets.test.mjs';
import './sites.test.mjs';
import './element.test.mjs';
import './loading.test.mjs';
import './foreign-widgets.test.mjs';
import './frameworks.test.mjs';
import './packages.test.mjs';
import './python-client.test.mjs';
import './host-pages.test.mjs';
import './passkeys.test.mjs';
import './first-day.test.mjs';
import './mail.test.mjs';
import './two-sites.test.mjs';
import './screenshots.test.mjs';

test('every file of browser tests runs', () => {
  const lists = ['thread.mjs', 'site.mjs', 'console.mjs'].map((name) =>
    readFileSync(new URL(name, import.meta.url), 'utf8'),
  );
  const named = [...lists.join('').matchAll(/^import '\.\/(.+\.test\.mjs)';$/gm)].map(
    ([, name]) => name,
  );
  const files = readdirSync(new URL('.', import.meta.url)).filter((name) =>
    name.endsWith('.test.mjs'),
  );
  // It needs an origin that is stopped.
  const others = files.filter((name) => name !== 'offline.test.mjs');
  assert.deepEqual(named.sort(), others.sort());
});
