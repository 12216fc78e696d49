/** The names that complete an `@`: a list below the text while one is written, chosen with the arrows or by a press. */

import type { MemberName } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { uniqueId } from '../dom/template.ts';
import type { ComposerStrings } from '../text/composer.ts';
import { applyEdit } from './edit-text.ts';
import { matchingNames, type UnfinishedMention, unfinishedAt } from './mention-names.ts';

interface CompletionHost {
  readonly input: HTMLTextAreaElement;
  /** Those who can be mentioned, the likeliest first. */
  names(): MemberName[];
  onPick(member: MemberName): void;
}

export class NameCompletion {
  readonly node: HTMLDivElement;
  readonly #host: CompletionHost;
  readonly #text: ComposerStrings;
  readonly #list: HTMLUListElement;
  /** Says how many names there are. */
  readonly #status = h('p', { class: 'sr', role: 'status' });
  #mention: UnfinishedMention | null = null;
  #names: MemberName[] = [];
  #active = 0;
  /** Where an `@` was left alone with Esc. */
  #left = -1;

  constructor(host: CompletionHost, text: ComposerStrings) {
    this.#host = host;
    this.#text = text;
    this.#list = h('ul', {
      class: 'names',
      id: uniqueId('names'),
      role: 'listbox',
      'aria-label': text.people,
      hidden: true,
    });
    this.node = h('div', { class: 'completion' }, this.#list, this.#status);
    const { input } = host;
    input.setAttribute('aria-autocomplete', 'list');
    input.setAttribute('aria-haspopup', 'listbox');
    input.addEventListener('input', () => this.update());
    input.addEventListener('keydown', (event) => this.#onKey(event));
    input.addEventListener('click', () => this.update());
    input.addEventListener('blur', () => this.#close());
  }

  /** Shows the names for what stands in front of the cursor. */
  update(): void {
    const { input } = this.#host;
    const { value, selectionStart, selectionEnd } = input;
    const mention = selectionStart === selectionEnd ? unfinishedAt(value, selectionStart) : null;
    if (mention?.from !== this.#left) this.#left = -1;
    const names = mention && this.#left < 0 ? matchingNames(this.#host.names(), mention.query) : [];
    const isFinished = names.length === 1 && names[0]?.name === mention?.query;
    if (!mention || names.length === 0 || isFinished) {
      this.#close();
      return;
    }
    this.#mention = mention;
    this.#names = names;
    this.#list.replaceChildren(...names.map((member, at) => this.#option(member, at)));
    this.#list.hidden = false;
    input.setAttribute('aria-controls', this.#list.id);
    this.#status.textContent = this.#text.peopleFound(names.length);
    this.#activate(0);
  }

  #option(member: MemberName, at: number): HTMLLIElement {
    const pointerdown = (event: Event) => {
      // The text keeps the focus.
      event.preventDefault();
      this.#pick(at);
    };
    return h(
      'li',
      { role: 'option', id: uniqueId('name-option'), on: { pointerdown } },
      h('bdi', {}, member.name),
    );
  }

  #activate(at: number): void {
    this.#active = (at + this.#names.length) % this.#names.length;
    for (const [place, option] of [...this.#list.children].entries()) {
      const isActive = place === this.#active;
      option.setAttribute('aria-selected', String(isActive));
      if (!isActive) continue;
      this.#host.input.setAttribute('aria-activedescendant', option.id);
      option.scrollIntoView({ block: 'nearest' });
    }
  }

  #onKey(event: KeyboardEvent): void {
    if (this.#list.hidden || event.isComposing || event.ctrlKey || event.metaKey) return;
    const { key } = event;
    if (key === 'ArrowDown') this.#activate(this.#active + 1);
    else if (key === 'ArrowUp') this.#activate(this.#active - 1);
    else if (key === 'Enter' || key === 'Tab') this.#pick(this.#active);
    else if (key === 'Escape') {
      this.#left = this.#mention?.from ?? -1;
      this.#close();
    } else return;
    event.preventDefault();
    // The form would close, or be left.
    event.stopPropagation();
  }

  #pick(at: number): void {
    const member = this.#names[at];
    const mention = this.#mention;
    this.#close();
    if (!member || !mention) return;
    this.#host.onPick(member);
    const { input } = this.#host;
    const insert = `@${member.name} `;
    const end = mention.from + insert.length;
    applyEdit(input, {
      from: mention.from,
      to: input.selectionStart,
      insert,
      selectFrom: end,
      selectTo: end,
    });
    this.#close();
  }

  #close(): void {
    const { input } = this.#host;
    this.#list.hidden = true;
    this.#list.replaceChildren();
    this.#status.textContent = '';
    this.#names = [];
    input.removeAttribute('aria-activedescendant');
    input.removeAttribute('aria-controls');
  }
}
