/** What helps in a form that is used: the toolbar, the preview and the completion of names. They are loaded after it. */

import type { MemberName } from '../api/wire.ts';
import { packsAddress } from '../body/packs-address.ts';
import { h } from '../dom/html.ts';
import { addStyles } from '../style/style-sheet.ts';
import css from '../style/tools.css';
import { composerText } from '../text/composer.ts';
import type { Locale } from '../text/locale.ts';
import { NameCompletion } from './completion.ts';
import { applyEdit, selectedIn } from './edit-text.ts';
import type { EmojiPicker } from './emoji-picker.ts';
import type { ComposerForm } from './form.ts';
import { type PreviewedText, WriteTabs } from './tabs.ts';
import { inserted } from './text-edit.ts';
import { toolButton } from './tool-button.ts';
import { Toolbar } from './toolbar.ts';

const EMOJI_PATH =
  'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM8.5 14.2a4.2 4.2 0 0 0 7 0M9 9.5h.01M15 9.5h.01';
const MENTION_PATH =
  'M16 12a4 4 0 1 1-8 0 4 4 0 0 1 8 0zM16 8v5.5a2.5 2.5 0 0 0 5 0V12a9 9 0 1 0-3.6 7.2';

addStyles(css);

export interface ToolsHost {
  readonly form: ComposerForm;
  readonly locale: Locale;
  /** Behind the other buttons. */
  readonly pictureButton: HTMLButtonElement | null;
  /** Those who can be mentioned; null where no one can. */
  readonly names: (() => MemberName[]) | null;
  onMention(member: MemberName): void;
  /** Rejects with an `ApiProblem`. */
  preview(content: string): Promise<PreviewedText>;
}

/** Shows the tools in the places that the form has for them. */
export class ComposerTools {
  readonly #host: ToolsHost;
  readonly #emojiButton: HTMLButtonElement;
  #picker: EmojiPicker | null = null;

  constructor(host: ToolsHost) {
    this.#host = host;
    const { form, locale, names, pictureButton } = host;
    const text = composerText(locale);
    const { input } = form.text;
    this.#emojiButton = toolButton(text.emoji, EMOJI_PATH, () => this.#toggleEmoji());
    this.#emojiButton.setAttribute('aria-expanded', 'false');
    const others = [this.#emojiButton];
    if (names) {
      const completion = new NameCompletion({ input, names, onPick: host.onMention }, text);
      form.field.append(completion.node);
      others.push(
        toolButton(text.mention, MENTION_PATH, () => {
          applyEdit(input, inserted(selectedIn(input), mentionMark(input)));
          completion.update();
        }),
      );
    }
    if (pictureButton) others.push(pictureButton);
    const toolbar = new Toolbar(input, text, others);
    const preview = (content: string) => host.preview(content);
    const onWriting = (isWriting: boolean) => {
      form.tools.hidden = !isWriting;
    };
    const tabs = new WriteTabs({ locale, input, field: form.field, preview, onWriting }, text);
    form.showWriting = () => tabs.showWriting();
    // The name of the notation is the same in every language.
    const notation = h('span', { class: 'hint', lang: 'en', translate: 'no' }, 'Markdown');
    form.head.replaceChildren(tabs.node, notation);
    form.field.after(tabs.panel);
    form.tools.replaceChildren(toolbar.node);
  }

  async #toggleEmoji(): Promise<void> {
    const { form, locale } = this.#host;
    const button = this.#emojiButton;
    if (!this.#picker) {
      try {
        const { EmojiPicker } = await import('./emoji-picker.ts');
        this.#picker ??= new EmojiPicker(locale, {
          packs: () => packsAddress(form.node),
          onPick: (emoji) => {
            const { input } = form.text;
            applyEdit(input, inserted(selectedIn(input), emoji));
          },
          onClose: (isLeft) => {
            button.setAttribute('aria-expanded', 'false');
            if (isLeft) button.focus();
          },
        });
        form.tools.append(this.#picker.node);
      } catch {
        form.progress.textContent = locale.text.errors.network;
        return;
      }
    }
    const isOpen = this.#picker.toggle();
    button.setAttribute('aria-expanded', String(isOpen));
  }
}

/** An `@` begins a word. */
function mentionMark({ value, selectionStart }: HTMLTextAreaElement): string {
  return /[\w@.]$/.test(value.slice(0, selectionStart)) ? ' @' : '@';
}
