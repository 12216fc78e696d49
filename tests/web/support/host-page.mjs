// Pages of other people with the element in them: at the address of the server, where everybody may write, and at a
// site of another origin.

import { once } from 'node:events';
import { createServer } from 'node:http';
import { newContext } from './browser.mjs';
import { BASE, WAIT_MS } from './environment.mjs';

const HOST_PATH = '/a-page-of-a-test';

/**
 * Runs `steps` on a page that has this HTML, and these scripts by their names; the options are those of the context. What
 * the page's scripts throw fails the test.
 */
export async function withHostPage({ html, scripts = {}, hash = '', ...options }, steps) {
  const context = await newContext(options);
  try {
    await context.route(`${BASE}${HOST_PATH}`, (route) =>
      route.fulfill({ contentType: 'text/html', body: `<!doctype html>${html}` }),
    );
    for (const [name, body] of Object.entries(scripts)) {
      await context.route(`${BASE}/${name}`, (route) =>
        route.fulfill({ contentType: 'text/javascript', body }),
      );
    }
    const page = await context.newPage();
    page.setDefaultTimeout(WAIT_MS);
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(`${BASE}${HOST_PATH}${hash}`);
    await steps(page);
    if (problems.length > 0) throw new Error(problems.join('\n'));
  } finally {
    await context.close();
  }
}

/** Serves a page at another site; browsers find every `.localhost` on this machine. */
export async function startSite(html, headers = {}) {
  const server = createServer((_, answer) => {
    answer.setHeader('content-type', 'text/html');
    for (const [name, value] of Object.entries(headers)) answer.setHeader(name, value);
    answer.end(`<!doctype html><title>A blog</title>${html}`);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, site: `http://blog.localhost:${server.address().port}` };
}
