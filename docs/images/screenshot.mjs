// Takes the screenshots of the README from a running `make run`, in light and dark:
//
//   node docs/images/screenshot.mjs [http://127.0.0.1:8787]

import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const base = process.argv[2] ?? 'http://127.0.0.1:8787';
const executablePath = process.env.E2E_CHROMIUM ?? '/usr/bin/chromium';
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
for (const theme of ['light', 'dark']) {
  const context = await browser.newContext({
    colorScheme: theme,
    deviceScaleFactor: 1.5,
    viewport: { width: 760, height: 900 },
    locale: 'en-US',
  });
  const page = await context.newPage();
  await page.goto(`${base}/?subject=topic/building&lang=en`);
  await page.locator('.list[aria-busy="false"]').waitFor({ state: 'attached' });
  const reply = page
    .locator('gailou-comments')
    .getByRole('article')
    .filter({ hasText: 'fast asleep' })
    .first();
  await reply.getByRole('button', { name: /All \d+ floors/ }).click();
  await page.waitForTimeout(1000);
  await page.evaluate(() => window.scrollTo(0, 0));
  const box = await reply.boundingBox();
  const path = fileURLToPath(new URL(`building-${theme}.png`, import.meta.url));
  await page.screenshot({
    path,
    fullPage: true,
    clip: { x: box.x - 24, y: box.y - 6, width: box.width + 48, height: box.height + 10 },
  });
  console.log(path);
}
await browser.close();
