/**
 * The pictures of a comment that is being written: chosen, pasted or dropped, uploaded at once, and
 * taken away again. Where they go is `composer.ts`.
 */

import type { Media } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import { safeUrl } from '../dom/safe-url.ts';
import type { Strings } from '../text/en.ts';

/** The server's limits. */
const MAX_PICTURES = 4;
const MAX_PICTURE_BYTES = 5 * 1024 * 1024;
const PICTURE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

export interface PictureHost {
  readonly text: Strings;
  /** The address of the server. */
  readonly server: string;
  /** Whether there is a member to upload for; otherwise it says what is missing. */
  prepare(): Promise<boolean>;
  upload(file: File, onProgress: (part: number) => void, signal: AbortSignal): Promise<Media>;
  showError(sentence: string): void;
  showProblem(problem: unknown): void;
}

interface Entry {
  readonly node: HTMLLIElement;
  readonly upload: AbortController;
  /** Null while it is on its way. */
  media: Media | null;
}

export class PictureTray {
  readonly button: HTMLButtonElement;
  readonly list = h('ul', { class: 'pictures', hidden: true });
  readonly #host: PictureHost;
  readonly #input: HTMLInputElement;
  readonly #entries = new Set<Entry>();

  /** Takes what is pasted into `form` or dropped on it. */
  constructor(host: PictureHost, form: HTMLFormElement) {
    this.#host = host;
    this.#input = h('input', {
      type: 'file',
      accept: PICTURE_TYPES.join(),
      multiple: true,
      on: {
        change: () => {
          this.#addAll([...(this.#input.files ?? [])]);
          this.#input.value = '';
        },
      },
    });
    this.button = h(
      'button',
      { type: 'button', class: 'link', on: { click: () => this.#input.click() } },
      host.text.addPicture,
    );
    form.addEventListener('paste', (event) => this.#take(event, event.clipboardData));
    form.addEventListener('drop', (event) => this.#take(event, event.dataTransfer));
    form.addEventListener('dragover', (event) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    });
  }

  get isUploading(): boolean {
    return [...this.#entries].some(({ media }) => !media);
  }

  /** What is uploaded, in the order in which it was added. */
  get media(): Media[] {
    return [...this.#entries].flatMap(({ media }) => media ?? []);
  }

  clear(): void {
    for (const entry of this.#entries) this.#remove(entry);
  }

  /** A text that comes with a picture of itself, as from an office program, is pasted as text. */
  #take(event: Event, data: DataTransfer | null): void {
    const files = [...(data?.files ?? [])];
    if (files.length === 0 || data?.types.includes('text/plain')) return;
    event.preventDefault();
    this.#addAll(files);
  }

  async #addAll(files: File[]): Promise<void> {
    if (files.length === 0 || !(await this.#host.prepare())) return;
    const { text, showError } = this.#host;
    for (const file of files) {
      if (this.#entries.size >= MAX_PICTURES) showError(text.tooManyPictures(MAX_PICTURES));
      else if (!PICTURE_TYPES.includes(file.type)) showError(text.noPicture);
      else if (file.size > MAX_PICTURE_BYTES) showError(text.pictureTooLarge);
      else this.#upload(file);
    }
  }

  async #upload(file: File): Promise<void> {
    const { text, upload, showProblem, server } = this.#host;
    const progress = h('progress', { max: 1, 'aria-label': text.uploading(file.name) });
    const removeButton = h(
      'button',
      { type: 'button', class: 'link', 'aria-label': text.removePicture(file.name) },
      '×',
    );
    const entry: Entry = {
      node: h('li', {}, progress, removeButton),
      upload: new AbortController(),
      media: null,
    };
    removeButton.addEventListener('click', () => {
      this.#remove(entry);
      this.button.focus();
    });
    this.#entries.add(entry);
    this.list.append(entry.node);
    this.list.hidden = false;
    try {
      entry.media = await upload(
        file,
        (part) => {
          progress.value = part;
        },
        entry.upload.signal,
      );
      const src = safeUrl(entry.media.url, undefined, `${server}/`);
      progress.replaceWith(h('img', { src, alt: file.name }));
    } catch (problem) {
      this.#remove(entry);
      showProblem(problem);
    }
  }

  #remove(entry: Entry): void {
    entry.upload.abort();
    entry.node.remove();
    this.#entries.delete(entry);
    this.list.hidden = this.#entries.size === 0;
  }
}
