// The pages about sites: what stands on theirs, shown in a browser, and how their readers sign in.

import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';

import { freePort } from '../../edge/worker.mjs';
import { assertShape, PIXEL, ROOT, shownJson } from '../page.mjs';
import { call, post, showsComments, TEXT } from '../shared.mjs';

/** Where scripts/setup.sh puts the published widgets. */
const WIDGETS = join(ROOT, '.tools/widgets/node_modules');
const SCRIPT = '<script src="https://comments.example/gailou.js" async></script>';

export async function embedding(page, shared) {
  const { show } = shared;
  await show(page.next('html'), showsComments);
  await show(page.next('html'), showsComments);
  await show(page.next('html'), showsComments);
  const element = `<gailou-comments subject="article/hello"></gailou-comments>`;
  const style = (css) => `<style>${css}</style>${element}`;
  const reserved = style(page.next('css'));
  await show(reserved, async (site) => {
    const { height } = await site.locator('gailou-comments').boundingBox();
    assert.equal(height, site.viewportSize().height);
  });

  const withEmoji = page.next('html') + SCRIPT;
  const [packs, stickers] = [page.next('json'), page.next('json')].map((text) => JSON.parse(text));
  const files = { '/owo.json': JSON.stringify({ ...packs, ...stickers }), '/doge.webp': PIXEL };
  await post(shared, 'article/hello', 'A sticker :doge: here');
  await show(
    withEmoji,
    async (site) => {
      await site.locator('gailou-comments img[src$="/doge.webp"]').first().waitFor();
      await site.locator('textarea').first().click();
      await site.getByRole('button', { name: 'Emoji' }).first().click();
      for (const [name, { container }] of Object.entries(packs)) {
        await site.getByText(name, { exact: true }).first().waitFor();
        await site.getByText(container[0].icon, { exact: true }).first().waitFor();
      }
    },
    { files },
  );

  await show(page.next('html') + SCRIPT, async (site) => {
    await site
      .locator('[data-gailou-count]')
      .filter({ hasText: /^[1-9]\d*$/ })
      .waitFor();
    await site.locator('gailou-latest li').nth(2).waitFor();
    assert.equal(await site.locator('gailou-latest li').count(), 3, 'its limit');
  });
  const member = `${element}${SCRIPT}<script type="module">${page.next('js')}</script>`;
  const token = { files: { '/comment-token': shared.member } };
  await show(
    member,
    (site) => site.locator('gailou-comments').getByText('Ann').first().waitFor(),
    token,
  );

  const coloured = style(page.next('css')) + SCRIPT;
  await show(coloured, async (site) => {
    await showsComments(site);
    const accent = (host) => getComputedStyle(host).getPropertyValue('--gailou-accent').trim();
    assert.equal(await site.locator('gailou-comments').evaluate(accent), '#0a7');
  });
  const parted = style(page.next('css')) + SCRIPT;
  await show(parted, async (site) => {
    const author = site.locator('gailou-comments [part~="author"]').first();
    assert.equal(await author.evaluate((name) => getComputedStyle(name).fontFamily), 'serif');
  });
  page.env.HOST = shared.url;
  const [{ data }] = (await page.sh()).map((list) => JSON.parse(list));
  assert.ok(data.length > 0);
  for (const comment of data) assert.ok(comment.html && !('content' in comment), comment.id);
}

export async function compat(page, shared) {
  await post(shared, 'article//hello', 'For a widget');
  const route = (context) =>
    context.route('https://unpkg.com/**', (asked) => {
      const path = new URL(asked.request().url()).pathname.replace(/(.)@[\d.]+\//, '$1/');
      return asked.fulfill({
        path: join(WIDGETS, path),
        headers: { 'access-control-allow-origin': '*' },
      });
    });
  const shows = (site) => site.locator('.wl-card-item').getByText('For a widget').waitFor();
  await shared.show(page.next('html'), shows, { path: '/hello', route });
}

export async function edge(page, shared) {
  // Without these wrangler would build the Worker.
  for (const file of ['edge/build/index.js', 'edge/web/dist/gailou.js']) {
    assert.ok(existsSync(join(ROOT, file)), `there is no ${file}: build the Worker`);
  }
  page.env.PWD = ROOT;
  Object.assign(page.env, { EDGE_BUILT: '1', WRANGLER_SEND_METRICS: 'false', CI: '1' });
  await page.sh({
    changes: [['GAILOU_EDGE_SECRET=…', 'GAILOU_EDGE_SECRET=0123456789abcdef0123456789abcdef']],
  });
  await page.checkSettings();
  const [, shown] = page.peek().match(/the Worker: (\{.*\})/);
  const [deployed, worker, origin] = await page.sh({
    changes: [
      ['--dry-run', `--dry-run --outdir '${join(page.folder, 'worker')}'`],
      ['https://comments.example.com', shared.url],
    ],
  });
  assert.match(deployed, /env\.PAGES/);
  assertShape(shownJson(shown), JSON.parse(worker));
  assert.equal(JSON.parse(origin).status, 'ok');

  // As a server that includes it.
  const html = page.next('html');
  const [include, path] = html.match(/<!--#include virtual="([^"]+)" -->/);
  const fragment = await (await fetch(shared.url + path)).text();
  const included = html.replace(include, () => fragment);
  await shared.show(included.split('<script')[0], (site) => site.getByText(TEXT).first().waitFor());
  await shared.show(included, showsComments);
}

export async function accounts(page) {
  await page.sh();
  await page.checkSettings();
  await page.sh();
  await page.checkSettings();
  const file = join(page.folder, 'gailou.toml');
  writeFileSync(file, page.next('toml') + page.next('toml'));
  const { url } = await page.start(`gailou --bind 127.0.0.1:0 --config '${file}'`);
  const { data } = await call(url, 'GET', '/v1/auth/providers');
  assert.deepEqual(
    data.map(({ id, name }) => [id, name]),
    [
      ['email', 'E-mail'],
      ['github', 'GitHub'],
      ['google', 'Google'],
    ],
  );

  const called = {};
  let listener;
  runInNewContext(page.next('js'), {
    addEventListener: (name, listen) => {
      assert.equal(name, 'message');
      listener = listen;
    },
    use: (...given) => (called.use = given),
    exchange: (...given) => (called.exchange = given),
  });
  const message = { type: 'gailou:signed-in', token: 'a token', expires_at: 1, code: 'a code' };
  listener({ origin: 'https://elsewhere.example', data: message });
  listener({ origin: 'https://comments.example.com', data: null });
  assert.deepEqual(called, {});
  listener({ origin: 'https://comments.example.com', data: message });
  assert.deepEqual(called, { use: ['a token', 1], exchange: ['a code'] });
}

export async function examples(page) {
  const [port, site] = [await freePort(), await freePort()];
  page.env.PWD = ROOT;
  Object.assign(page.env, {
    GAILOU_BIND: `127.0.0.1:${port}`,
    COMMENTS: `http://127.0.0.1:${port}`,
    PORT: String(site),
    ORIGIN_PORT: String(port),
  });
  await page.sh({ servers: /^node /, ready: /(http:\S+)/ });
  await page.start('gailou');
  const token = await (await fetch(`http://127.0.0.1:${site}/comment-token`)).text();
  const posted = await post({ url: page.env.COMMENTS, member: token }, 'article/members', 'Hello');
  assert.equal(posted.author.name, 'Ann');
}
