/** Defines the elements beside the comments; what is large of them is loaded when there is one on the page. */

import { startCounts } from './counts.ts';
import { defineLazily } from './lazy-element.ts';

/** `server` is the one of elements that name none. */
export function defineWidgets(server: () => string): void {
  startCounts(server());
  const latest = () => import('./latest.ts');
  defineLazily('gailou-latest', ['api', 'lang', 'limit', 'theme', 'type'], latest, server);
  defineLazily('gailou-bell', ['api', 'lang', 'theme', 'token'], () => import('./bell.ts'), server);
}
