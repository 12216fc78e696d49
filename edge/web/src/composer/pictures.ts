/**
 * The pictures of a comment that is being written: chosen, pasted or dropped, described, uploaded, and taken away again.
 * A description goes with the file, so the file waits for a pause in writing it, or for the comment to be sent; one that
 * is described anew is uploaded anew. Where they go is `composer.ts`.
 */

import { ApiProblem } from '../api/problem.ts';
import type { Upload } from '../api/upload.ts';
import type { Media } from '../api/wire.ts';
import { h } from '../dom/html.ts';
import type { ComposerStrings } from '../text/composer.ts';
import type { Strings } from '../text/en.ts';
import type { Timer } from '../util/time.ts';
import { thumbnailOf } from './thumbnail.ts';
import { toolButton } from './tool-button.ts';

/** The server's limits. */
const MAX_PICTURES = 4;
const MAX_PICTURE_BYTES = 5 * 1024 * 1024;
const MAX_ALT_LENGTH = 500;
/** Of the longer side of the picture in the form, in pixels of the device. */
const THUMBNAIL_SIDE = 192;
/** Of the longer side of the picture in the comment, in CSS pixels: see `comment/parts.ts`. */
const COMMENT_SIDE = 320;
const PICTURE_TYPES: readonly string[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
/** So long nothing is written before a picture is uploaded. */
const UPLOAD_PAUSE_MS = 2_500;
/** What the server says of a file that it will never take. */
const HOPELESS: readonly number[] = [400, 404, 413, 415];

const PICTURE_PATH = 'M4 5h16v14H4zM4 16l5-5 4 4 3-3 4 4M15.5 9h.01';

export interface PictureHost {
  readonly text: Strings;
  readonly labels: ComposerStrings;
  /** Whether there is a member to upload for; otherwise it says what is missing. */
  prepare(): Promise<boolean>;
  upload(upload: Omit<Upload, 'token'>): Promise<Media>;
  showError(sentence: string): void;
  showProblem(problem: unknown): void;
  /** Puts the focus into the text. */
  focus(): void;
}

interface Entry {
  readonly file: File;
  readonly node: HTMLLIElement;
  readonly alt: HTMLInputElement;
  readonly progress: HTMLProgressElement;
  /** What is there of it, with this description. */
  uploaded: { media: Media; alt: string } | null;
  sending: { result: Promise<Media>; alt: string; abort: AbortController } | null;
  timer: Timer | undefined;
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
    this.button = toolButton(host.text.addPicture, PICTURE_PATH, () => this.#input.click());
    form.addEventListener('paste', (event) => this.#take(event, event.clipboardData));
    form.addEventListener('drop', (event) => this.#take(event, event.dataTransfer));
    form.addEventListener('dragover', (event) => {
      if (event.dataTransfer?.types.includes('Files')) event.preventDefault();
    });
  }

  /** Whether nothing is left to upload. */
  get isUploaded(): boolean {
    return [...this.#entries].every(isUploaded);
  }

  /** Uploads what is left; the pictures in the order in which they were added. Rejects with an `ApiProblem`. */
  finish(): Promise<Media[]> {
    return Promise.all([...this.#entries].map((entry) => this.#upload(entry)));
  }

  /** The pictures in the size that they have in a comment, from the files. */
  drawn(): Promise<HTMLCanvasElement[]> {
    return Promise.all(
      [...this.#entries].map(async (entry) => {
        const name = descriptionOf(entry) || this.#host.text.picture;
        const canvas = await thumbnailOf(entry.file, name, COMMENT_SIDE * devicePixelRatio);
        const { width, height, style } = canvas;
        style.width = `${Math.round(width * Math.min(1, COMMENT_SIDE / Math.max(width, height)))}px`;
        return canvas;
      }),
    );
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
      else this.#add(file);
    }
  }

  #add(file: File): void {
    const { labels, text } = this.#host;
    const { name } = file;
    const progress = h('progress', { max: 1, value: 0, 'aria-label': text.uploading(name) });
    progress.hidden = true;
    const alt = h('input', {
      maxlength: MAX_ALT_LENGTH,
      'aria-label': labels.describePicture(name),
      placeholder: labels.pictureHint,
      autocomplete: 'off',
    });
    const removeButton = h(
      'button',
      { type: 'button', class: 'link', 'aria-label': text.removePicture(name) },
      '×',
    );
    const picture = h('div', { class: 'thumb' }, progress, removeButton);
    const node = h('li', {}, picture, alt);
    const entry: Entry = {
      file,
      node,
      alt,
      progress,
      uploaded: null,
      sending: null,
      timer: undefined,
    };
    thumbnailOf(file, name, THUMBNAIL_SIDE).then((thumbnail) => picture.prepend(thumbnail));
    removeButton.addEventListener('click', () => {
      this.#remove(entry);
      this.#host.focus();
    });
    alt.addEventListener('input', () => this.#uploadSoon(entry));
    alt.addEventListener('focus', () => clearTimeout(entry.timer));
    alt.addEventListener('blur', () => this.#uploadSoon(entry));
    alt.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.isComposing) return;
      // Enter would send the form.
      event.preventDefault();
      this.#host.focus();
    });
    this.#entries.add(entry);
    this.list.append(node);
    this.list.hidden = false;
    this.#uploadSoon(entry);
  }

  #uploadSoon(entry: Entry): void {
    clearTimeout(entry.timer);
    if (isUploaded(entry)) return;
    entry.timer = setTimeout(() => {
      this.#upload(entry).catch((problem) => this.#host.showProblem(problem));
    }, UPLOAD_PAUSE_MS);
  }

  async #upload(entry: Entry): Promise<Media> {
    clearTimeout(entry.timer);
    const alt = descriptionOf(entry);
    if (entry.uploaded?.alt === alt) return entry.uploaded.media;
    if (entry.sending?.alt === alt) return entry.sending.result;
    entry.sending?.abort.abort();
    const abort = new AbortController();
    const { progress } = entry;
    progress.hidden = false;
    const result = this.#host.upload({
      file: entry.file,
      alt,
      onProgress: (part) => {
        progress.value = part;
      },
      signal: abort.signal,
    });
    const sending = { result, alt, abort };
    entry.sending = sending;
    try {
      const media = await result;
      entry.uploaded = { media, alt };
      entry.node.dataset.uploaded = 'true';
      return media;
    } catch (problem) {
      if (problem instanceof ApiProblem && HOPELESS.includes(problem.status)) this.#remove(entry);
      // A server that keeps no pictures.
      if (problem instanceof ApiProblem && problem.status === 404) this.button.hidden = true;
      throw problem;
    } finally {
      if (entry.sending === sending) {
        entry.sending = null;
        progress.hidden = true;
      }
    }
  }

  #remove(entry: Entry): void {
    clearTimeout(entry.timer);
    entry.sending?.abort.abort();
    entry.node.remove();
    this.#entries.delete(entry);
    this.list.hidden = this.#entries.size === 0;
  }
}

const descriptionOf = ({ alt }: Entry) => alt.value.trim();
const isUploaded = (entry: Entry) => entry.uploaded?.alt === descriptionOf(entry);
