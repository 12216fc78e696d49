// `/t/{type}/{key}` in a real browser: readable without JavaScript, harmless whatever anybody wrote,
// and nothing moves when the element takes its place.
//
//   E2E_BASE=http://127.0.0.1:8787 E2E_TOKEN_SECRET=… node --test tests/web/html.test.mjs
//
// E2E_TOKEN_SECRET is the server's GAILOU_TOKEN_SECRET. The demo threads
// (edge/web/demo-threads.jsonl) must be imported.

import assert from 'node:assert/strict';
import { createHmac, randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { chromium } from 'playwright-core';

const BASE = (process.env.E2E_BASE || '').replace(/\/$/, '');
const SECRET = process.env.E2E_TOKEN_SECRET;
const CHROMIUM = process.env.E2E_CHROMIUM || '/usr/bin/chromium';
const WAIT_MS = 15_000;
const DESKTOP = { width: 1100, height: 900 };
const PHONE = { width: 390, height: 844 };
/** Whatever is below the comments must be in sight to be seen moving. */
const TALL = 6_000;

const HOSTILE = [
  '<script>window.pwned=1</script>',
  '</script><script>window.pwned=1</script>',
  '</ScRiPt ><script>window.pwned=1</script>',
  '</style><script>window.pwned=1</script><style>',
  '</title></textarea></noscript></template></section></article><img src=x onerror=window.pwned=1>',
  '"><img src=x onerror=window.pwned=1>',
  "' onmouseover='window.pwned=1' autofocus onfocus='window.pwned=1' x='",
  '` onload=`window.pwned=1',
  '<svg/onload=window.pwned=1>',
  '<svg><style><img src=x onerror=window.pwned=1></style></svg>',
  '<math><mtext></p><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=window.pwned=1&gt;">',
  '<!--<script>', '--><script>window.pwned=1</script>', '<![CDATA[<script>window.pwned=1</script>]]>', '<!-->',
  '[a](javascript:window.pwned=1)', '[a](JaVaScRiPt:window.pwned=1)', '[a](java&#10;script:window.pwned=1)',
  '[a](data:text/html,<script>window.pwned=1</script>)', '[a](vbscript:x)', '<javascript:window.pwned=1>',
  '![a](javascript:window.pwned=1)', '[a](//evil.example)', '[a](https://e.example/"onclick=window.pwned=1)',
  '&lt;script&gt;window.pwned=1&lt;/script&gt;', '&#60;script&#62;window.pwned=1', '&', '&amp;lt;b&amp;gt;',
  'line\u2028separator\u2029paragraph', '\u202Egnirts desrever\u202C', '\u2066isolated', 'مرحبا \u202E abc',
  '\uFEFFmarked', 'zero\u200Bwidth\u200D', '{{7*7}} ${window.pwned=1} <%= 1 %>', '\\u003cscript\\u003e', '\\"},{"',
  '<base href=//evil.example/>', '<meta http-equiv=refresh content="0;url=//evil.example">',
  '<link rel=stylesheet href=//evil.example>', '<form action=//evil.example><button>', '<iframe srcdoc="<script>x">',
  '<a name=body>', '<img name=getElementById>', '```\n</code></pre><script>window.pwned=1</script>\n```',
];
/** Addresses a subject may be given that must not become a link. */
const ADDRESSES = ['javascript:window.pwned=1', 'JAVASCRIPT://%0awindow.pwned=1', 'data:text/html,<script>1</script>',
  ' javascript:window.pwned=1', 'vbscript://x', '//evil.example', '"><script>window.pwned=1</script>'];

const ELEMENTS = new Set(['html', 'head', 'meta', 'title', 'link', 'style', 'body', 'h1', 'h2', 'section', 'div', 'ol',
  'ul', 'li', 'article', 'header', 'footer', 'strong', 'bdi', 'span', 'a', 'time', 'p', 'script', 'br', 'em', 'del',
  'code', 'pre', 'blockquote']);
const ATTRIBUTES = new Set(['charset', 'name', 'content', 'rel', 'href', 'class', 'data-subject', 'id', 'aria-hidden',
  'dir', 'datetime', 'type', 'start']);

const newSubject = () => `article/html-${randomUUID()}`;
/** `article/a/b` → `article/a%2Fb`. */
const pathOf = (subject) => subject.replace(/\/(.*)$/s, (_, key) => `/${encodeURIComponent(key)}`);

let browser;
before(async () => {
  if (!BASE) return;
  browser = await chromium.launch({
    executablePath: CHROMIUM,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run',
      '--disable-background-networking', '--disable-component-update', '--disable-sync'],
  });
});
after(() => browser?.close());

function token(sub, name, role = 'member') {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const exp = Math.floor(Date.now() / 1000) + 600;
  const signed = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ sub, name, role, aud: 'gailou', exp })}`;
  return `${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`;
}

async function api(method, path, body, bearer) {
  const headers = { 'Content-Type': 'application/json', ...(bearer ? { Authorization: `Bearer ${bearer}` } : {}) };
  const response = await fetch(BASE + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: () => JSON.parse(text) };
}

async function post(subject, content, bearer, parent) {
  const body = parent ? { content, parent_id: parent } : { content };
  const answer = await api('POST', `/v1/subjects/${pathOf(subject)}/comments`, body, bearer);
  return answer.status === 201 ? answer.json() : null;
}

/** The page, once it is `right`: it may come from a cache. */
async function html(path, right) {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    const answer = await api('GET', path);
    if (answer.status === 200 && right(answer.text)) return answer;
    assert.ok(Date.now() < deadline, `${path}: ${answer.status} ${answer.text.slice(0, 2_000)}`);
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
}

/** Runs in the page: everything in it that could do something, and everything that was said. */
function inspect() {
  const all = [...document.querySelectorAll('*')];
  return {
    elements: [...new Set(all.map((node) => node.localName))],
    foreign: all.filter((node) => node.namespaceURI !== 'http://www.w3.org/1999/xhtml').length,
    attributes: [...new Set(all.flatMap((node) => node.getAttributeNames()))],
    comments: document.createTreeWalker(document, NodeFilter.SHOW_COMMENT).nextNode() !== null,
    links: all.filter((node) => node.hasAttribute('href')).map((node) => node.getAttribute('href')),
    scripts: [...document.scripts].map((node) => ({ type: node.type, src: node.getAttribute('src'), text: node.text })),
    styles: document.querySelectorAll('style').length,
    names: [...document.querySelectorAll('article .author')]
      .map((node) => ({ name: node.textContent, isolated: node.firstChild.localName === 'bdi' && node.childNodes.length === 1 })),
    bodies: [...document.querySelectorAll('.body:not(.gone)')].map((node) => node.getAttribute('dir')),
    heading: document.querySelector('h1')?.textContent,
    title: document.title,
    pwned: window.pwned,
  };
}

function assertHarmless(seen) {
  assert.deepEqual(seen.elements.filter((name) => !ELEMENTS.has(name)), []);
  assert.deepEqual(seen.attributes.filter((name) => !ATTRIBUTES.has(name)), []);
  assert.deepEqual([seen.foreign, seen.comments, seen.pwned], [0, false, undefined]);
  assert.deepEqual(seen.links.filter((href) => !/^(https?:\/\/|mailto:|#comment-\d+$|\/t\/)/i.test(href)), []);
  assert.deepEqual(seen.scripts.map(({ type, src }) => [type, src]), [['application/ld+json', null]]);
  assert.deepEqual(seen.names.filter(({ isolated }) => !isolated), []);
  assert.deepEqual(seen.bodies.filter((dir) => dir !== 'auto'), []);
}

describe('the page as HTML', { skip: BASE && SECRET ? false : 'E2E_BASE or E2E_TOKEN_SECRET is not set' }, () => {
  test('is readable without JavaScript, and a policy lets nothing run', async () => {
    const answer = await html('/t/article/hello', (text) => text.includes('</article>'));
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    const policy = answer.headers.get('content-security-policy');
    assert.match(policy, /^default-src 'none'; style-src( 'sha256-[\w+/=]+'){2}; base-uri 'none'; form-action 'none'/);
    assert.doesNotMatch(policy, /unsafe|script-src/);
    const context = await browser.newContext({ javaScriptEnabled: false, viewport: DESKTOP });
    const page = await context.newPage();
    const violations = [];
    page.on('console', (message) => violations.push(message.text()));
    await page.goto(`${BASE}/t/article/hello`);
    assert.ok(await page.getByRole('article').count() > 10);
    assert.equal(await page.locator('article time[datetime]').count(), await page.getByRole('article').count());
    assert.equal(await page.locator('.controls:visible').count(), 0, 'no room for what scripts bring');
    assert.equal(await page.locator('article').first().evaluate((node) => getComputedStyle(node).display), 'grid');
    assert.deepEqual(violations, [], 'the policy allows its own styles');
    await context.close();
  });

  test('leads to the next page without JavaScript', async () => {
    const subject = newSubject();
    for (let n = 1; n <= 25; n += 1) await post(subject, `number ${n}.`, token('7', 'Ann'));
    const path = `/t/${pathOf(subject)}`;
    const first = await html(path, (text) => text.includes('rel="next"') && text.includes('number 25.'));
    const numbers = [];
    for (let page = first; page;) {
      numbers.push(...[...page.text.matchAll(/<p>number (\d+)\./g)].map((match) => match[1]));
      const next = /rel="next" href="([^"]+)"/.exec(page.text);
      page = next && await html(next[1].replaceAll('&amp;', '&'), (text) => text.includes('noindex'));
    }
    assert.equal(numbers.length, 25);
    assert.equal(new Set(numbers).size, 25, 'each once');
  });

  test('nothing hostile gets out of its place', async () => {
    const subject = `article/"><script>window.pwned=1</script>${randomUUID()}`;
    const written = [];
    for (const [n, text] of HOSTILE.entries()) {
      const writer = token(String(1000 + n), text.slice(0, 40));
      const root = await post(subject, text, writer);
      if (!root) continue;
      written.push(root);
      if (n % 5 === 0) written.push(await post(subject, text, writer, root.id));
    }
    assert.ok(written.length > 40, `${written.length} were taken`);
    const admin = token('1', 'Admin', 'admin');
    const contexts = [{ bypassCSP: true }, {}];
    for (const [n, title] of HOSTILE.entries()) {
      const url = ADDRESSES[n % ADDRESSES.length];
      const put = await api('PUT', `/v1/admin/subjects/${pathOf(subject)}`, { title, url }, admin);
      if (put.status !== 200) continue;
      if (n % 8 !== 0) continue; // each in the unit tests; here some in a browser
      await new Promise((resolve) => { setTimeout(resolve, 2_500); });
      for (const [query, options] of [['', contexts[0]], ['', contexts[1]], ['&fragment=1', contexts[0]]]) {
        const context = await browser.newContext(options);
        const page = await context.newPage();
        const requests = [];
        page.on('request', (request) => requests.push(request.url()));
        await page.goto(`${BASE}/t/${pathOf(subject)}?limit=100${query}`);
        const seen = await page.evaluate(inspect);
        assertHarmless(seen);
        assert.equal(requests.filter((address) => !address.endsWith('/favicon.ico')).length, 1, 'nothing is fetched');
        const roots = written.filter((comment) => !comment.parent_id);
        const names = new Set(seen.names.map(({ name }) => name));
        assert.deepEqual(roots.filter(({ author }) => !names.has(author.name)).map(({ author }) => author.name), []);
        if (!query) assert.equal(seen.heading, title);
        const data = JSON.parse(seen.scripts[0].text);
        assert.equal(data.headline, title);
        assert.equal(data.url, null);
        const texts = new Set(data.comment.map(({ text }) => text));
        assert.deepEqual(roots.filter(({ content }) => !texts.has(content)).map(({ content }) => content), []);
        assert.doesNotMatch(seen.scripts[0].text, /[<>&\u2028\u2029]/);
        assert.doesNotMatch(seen.title, /[\u202A-\u202E\u2066-\u2069]/);
        await context.close();
      }
    }
  });

  for (const [name, viewport] of [['desktop', DESKTOP], ['phone', PHONE]]) {
    for (const lang of ['en', 'zh']) {
      test(`nothing moves when the element takes over (${name}, ${lang})`, async () => {
        for (const subject of ['article/hello', 'video/tour', 'topic/building', 'post/flat', newSubject()]) {
          for (const around of ['element', 'script']) {
            const shift = await takeover(subject, { lang, around, viewport });
            assert.deepEqual(shift, [], `${subject} in the ${around}`);
          }
        }
      });
    }
  }
});

/** The layout shifts of a host's page whose comments came from the server, while the element takes over. */
async function takeover(subject, { lang, around, viewport }) {
  const { text: fragment } = await html(`/t/${pathOf(subject)}?fragment=1`, (text) => text.includes('class="gailou"'));
  const name = subject.replaceAll('"', '&quot;');
  const comments = around === 'element'
    ? `<gailou-comments subject="${name}" lang="${lang}">${fragment}</gailou-comments><script src="/gailou.js" async></script>`
    : `${fragment}<script src="/gailou.js" data-subject="${name}" data-lang="${lang}"></script>`;
  const host = `<!doctype html><html lang="${lang}"><meta charset="utf-8">
    <meta name="viewport" content="width=device-width"><body style="max-width:42rem;margin:1rem auto;padding:0 1rem">
    <h1>A story</h1><p>Its text.</p>${comments}<footer><p>Below the comments</p></footer></body></html>`;
  const context = await browser.newContext({ locale: 'en-US', viewport: { ...viewport, height: TALL } });
  await context.route('**/host', (route) => route.fulfill({ contentType: 'text/html', body: host }));
  // Time to be painted as it came.
  await context.route('**/v1/subjects/**', async (route) => {
    await new Promise((resolve) => { setTimeout(resolve, 400); });
    await route.fallback();
  });
  await context.addInitScript(() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) {
        window.shifts.push(...entry.sources.map(({ node, previousRect, currentRect }) =>
          `${node?.outerHTML?.slice(0, 60)} ${previousRect.y} → ${currentRect.y}`));
      }
    }).observe({ type: 'layout-shift', buffered: true });
  });
  try {
    const page = await context.newPage();
    await page.goto(`${BASE}/host`);
    assert.equal(await page.locator('gailou-comments section.gailou').count(), 1, 'shown as it came');
    const before = await page.locator('body > footer').boundingBox();
    await page.locator('gailou-comments section.gailou').waitFor({ state: 'detached', timeout: WAIT_MS });
    await page.waitForTimeout(300);
    const shown = page.locator('gailou-comments section form.composer');
    assert.equal(await shown.isVisible(), true, 'the element is there');
    assert.deepEqual(await page.locator('body > footer').boundingBox(), before);
    return await page.evaluate(() => window.shifts);
  } finally {
    await context.close();
  }
}
