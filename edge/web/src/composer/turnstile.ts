/** Cloudflare's widget. Its script is loaded when a server asks for the widget, and not before. */

import { h } from '../dom/html.ts';

const SCRIPT_URL = 'https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit';

interface WidgetOptions {
  sitekey: string;
  language: string;
  callback: (token: string) => void;
  /** True says that the error is handled. */
  'error-callback': () => boolean;
  'timeout-callback': () => void;
}

interface TurnstileApi {
  render(container: HTMLElement, options: WidgetOptions): string | undefined;
  remove(widget: string): void;
}

let loading: Promise<TurnstileApi | null> | null = null;

/** Null when the script cannot be loaded; the next call tries again. */
function loadTurnstile(): Promise<TurnstileApi | null> {
  loading ??= new Promise((resolve) => {
    const done = () => {
      const { turnstile = null } = window as { turnstile?: TurnstileApi };
      if (!turnstile) loading = null;
      resolve(turnstile);
    };
    const script = h('script', { src: SCRIPT_URL, async: true, on: { load: done, error: done } });
    document.head.append(script);
  });
  return loading;
}

/** The token of a widget in `container`, which has to be in the document; null when there is none. */
export async function turnstileToken(
  container: HTMLElement,
  sitekey: string,
  language: string,
): Promise<string | null> {
  const turnstile = await loadTurnstile();
  if (!turnstile) return null;
  let widget: string | undefined;
  const token = await new Promise<string | null>((resolve) => {
    widget = turnstile.render(container, {
      sitekey,
      language,
      callback: resolve,
      'error-callback': () => {
        resolve(null);
        return true;
      },
      'timeout-callback': () => resolve(null),
    });
    if (widget === undefined) resolve(null);
  });
  if (widget !== undefined) turnstile.remove(widget);
  return token;
}
