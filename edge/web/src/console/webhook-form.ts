/** What is typed of a webhook, and how its address is shown. Pure. */

import type { WebhookEvent, WebhookRequest, WebhookTemplate } from './wire.ts';

export const WEBHOOK_EVENTS: WebhookEvent[] = [
  'comment.created',
  'comment.held',
  'comment.reported',
  'comment.decided',
];

export const WEBHOOK_TEMPLATES: ('json' | WebhookTemplate)[] = [
  'json',
  'slack',
  'telegram',
  'lark',
  'dingtalk',
  'discord',
];

export interface TypedWebhook {
  url: string;
  events: Record<WebhookEvent, boolean>;
  template: 'json' | WebhookTemplate;
}

/** What the form begins with: what moderators have to see. */
export const NO_WEBHOOK: TypedWebhook = {
  url: '',
  events: {
    'comment.created': false,
    'comment.held': true,
    'comment.reported': true,
    'comment.decided': false,
  },
  template: 'json',
};

/** The call that makes it; null while an address or an event is missing. */
export function webhookRequest({ url, events, template }: TypedWebhook): WebhookRequest | null {
  const chosen = WEBHOOK_EVENTS.filter((event) => events[event]);
  if (!url.trim() || chosen.length === 0) return null;
  return { url: url.trim(), events: chosen, template: template === 'json' ? null : template };
}

/** How many characters of a path are shown. */
const SHOWN_PATH_CHARS = 12;

/** An address without its end and its query, which may be secret: a screen is seen by others. */
export function shownAddress(url: string): string {
  if (!URL.canParse(url)) return '…';
  const { origin, pathname, search } = new URL(url);
  const path = pathname === '/' ? '' : pathname;
  const isWhole = path.length <= SHOWN_PATH_CHARS && !search;
  return isWhole ? `${origin}${path}` : `${origin}${path.slice(0, SHOWN_PATH_CHARS)}…`;
}
