// The environment of the tests. scripts/web-test.sh sets these variables:
//
//   E2E_BASE                  the address of the server; without it the tests skip themselves
//   E2E_ORIGIN                the address of the origin behind it
//   E2E_CHROMIUM              the browser
//   E2E_TOKEN_SECRET          the server's GAILOU_TOKEN_SECRET
//   E2E_BLOCKED_WORD          a word that the server's dictionary blocks …
//   E2E_BLOCKED_CATEGORY      … and its category
//   E2E_OFFLINE               the origin is stopped
//
// The demo threads (edge/web/demo-threads.jsonl) must be imported, and the server must run with
// GAILOU_LIMITS=off, because the tests post faster than the limits allow. Every test uses a new subject
// and a new text, so that the tests can run again on the same data.

import { readFileSync } from 'node:fs';

export const BASE = (process.env.E2E_BASE || '').replace(/\/$/, '');
export const ORIGIN = process.env.E2E_ORIGIN;
export const CHROMIUM = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
export const TOKEN_SECRET = process.env.E2E_TOKEN_SECRET;
export const BLOCKED_WORD = process.env.E2E_BLOCKED_WORD;
export const BLOCKED_CATEGORY = process.env.E2E_BLOCKED_CATEGORY;
export const IS_OFFLINE = Boolean(process.env.E2E_OFFLINE);

export const WAIT_MS = 15_000;
export const DESKTOP = { width: 1100, height: 900 };
/** The narrowest page that is promised. */
export const NARROW = { width: 375, height: 812 };
export const PHONE = { width: 390, height: 844 };

/** The subjects of the demo threads: one of each mode. */
export const DEMO_SUBJECTS = ['article/hello', 'video/tour', 'topic/building', 'post/flat'];

/** The option `skip` of a suite that needs these variables. */
export function skipWithout(variables) {
  const missing = Object.entries(variables).filter(([, value]) => !value);
  return missing.length > 0 ? `${missing.map(([name]) => name).join(', ')} not set` : false;
}

/** The imported lines of a demo subject. */
export function demoLines(subject) {
  const file = new URL('../../../edge/web/demo-threads.jsonl', import.meta.url);
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const all = lines.map((line) => JSON.parse(line));
  return all.filter((line) => line.subject === subject.replace('/', ':'));
}
