/** Write and Preview: two tabs over one text. */

import { ApiProblem } from '../api/problem.ts';
import type { MemberName } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeHtml } from '../dom/safe-html.ts';
import { uniqueId } from '../dom/template.ts';
import type { ComposerStrings } from '../text/composer.ts';
import { describeProblem } from '../text/describe-problem.ts';
import type { Locale } from '../text/locale.ts';
import { nextOf } from './toolbar.ts';

/** What a text becomes when it is posted, and what goes with it. */
export interface PreviewedText {
  readonly html: string;
  readonly mentions: MemberName[];
  readonly pictures: readonly HTMLElement[];
}

interface TabsHost {
  readonly locale: Locale;
  readonly input: HTMLTextAreaElement;
  /** Around the field: the panel of the first tab. */
  readonly field: HTMLElement;
  /** Rejects with an `ApiProblem`. */
  preview(content: string): Promise<PreviewedText>;
  /** Called when the text can be written, or not, because its preview is shown. */
  onWriting(isWriting: boolean): void;
}

export class WriteTabs {
  readonly node: HTMLDivElement;
  readonly panel: HTMLDivElement;
  readonly #host: TabsHost;
  readonly #text: ComposerStrings;
  readonly #write: HTMLButtonElement;
  readonly #preview: HTMLButtonElement;
  /** Counts the previews that were asked for: the last one is shown. */
  #asked = 0;

  constructor(host: TabsHost, text: ComposerStrings) {
    this.#host = host;
    this.#text = text;
    const { field } = host;
    field.id ||= uniqueId('write');
    const panelId = uniqueId('preview');
    this.#write = tab(text.write, field.id, () => this.showWriting());
    this.#preview = tab(text.preview, panelId, () => this.#showPreview());
    this.panel = h('div', {
      class: 'preview',
      id: panelId,
      role: 'tabpanel',
      tabindex: 0,
      hidden: true,
      'aria-labelledby': this.#preview.id,
    });
    field.setAttribute('role', 'tabpanel');
    field.setAttribute('aria-labelledby', this.#write.id);
    this.node = h(
      'div',
      { class: 'tabs', role: 'tablist', on: { keydown: (event) => this.#onArrow(event) } },
      this.#write,
      this.#preview,
    );
    this.#select(this.#write);
    // Who writes in a form that shows the preview has come here by a button.
    host.input.addEventListener('focus', () => this.showWriting());
  }

  showWriting(): void {
    if (this.panel.hidden) return;
    this.#asked += 1;
    this.#select(this.#write);
  }

  async #showPreview(): Promise<void> {
    this.#select(this.#preview);
    this.#asked += 1;
    const asked = this.#asked;
    const content = this.#host.input.value.trim();
    if (!content) {
      this.panel.replaceChildren(h('p', { class: 'hint' }, this.#text.emptyPreview));
      return;
    }
    this.panel.setAttribute('aria-busy', 'true');
    const shown = await this.#host.preview(content).then(
      (previewed) => bodyOf(previewed, content, this.#host.locale),
      (problem) => this.#error(problem),
    );
    if (asked !== this.#asked) return;
    this.panel.replaceChildren(shown);
    this.panel.removeAttribute('aria-busy');
  }

  #error(problem: unknown): HTMLElement {
    if (!(problem instanceof ApiProblem)) throw problem;
    const isLeftOut = problem.status === 503;
    const details = problem.code === 'invalid_request' ? problem.errors : [];
    const sentence = [
      isLeftOut ? this.#text.noPreview : describeProblem(this.#host.locale, problem),
      ...details.map(({ detail }) => detail),
    ].join(' ');
    return h('p', { class: 'error', role: 'alert', 'data-code': problem.code }, sentence);
  }

  #select(selected: HTMLButtonElement): void {
    for (const each of [this.#write, this.#preview]) {
      each.setAttribute('aria-selected', String(each === selected));
      each.tabIndex = each === selected ? 0 : -1;
    }
    const isWriting = selected === this.#write;
    this.#host.field.hidden = !isWriting;
    this.panel.hidden = isWriting;
    this.#host.onWriting(isWriting);
  }

  #onArrow(event: KeyboardEvent): void {
    const tabs = [this.#write, this.#preview];
    const at = tabs.indexOf(event.target as HTMLButtonElement);
    const next = tabs[nextOf(event, at, tabs.length)];
    if (!next) return;
    event.preventDefault();
    next.focus();
    next.click();
  }
}

/** As a comment shows it. */
function bodyOf(
  { html, mentions, pictures }: PreviewedText,
  content: string,
  locale: Locale,
): HTMLElement {
  const body = h('div', { class: 'body', dir: 'auto' });
  body.append(safeHtml(html));
  if (pictures.length > 0) body.append(h('div', { class: 'media' }, ...pictures));
  import('../body/enrich.ts')
    .then(({ enrich }) => enrich(body, { content, html, mentions }, locale))
    .catch(() => 0);
  return body;
}

function tab(label: string, controls: string, click: () => void): HTMLButtonElement {
  return h(
    'button',
    {
      type: 'button',
      class: 'tab',
      role: 'tab',
      id: uniqueId('tab'),
      'aria-controls': controls,
      on: { click },
    },
    label,
  );
}
