/** The elements of Gailou. Importing this module defines them; on a server that renders pages it does nothing. */

export type Sort = 'hot' | 'new' | 'old' | 'top' | 'best' | 'replies' | 'controversial';

/** A token of the member who is signed in on the page, or what fetches one. */
export type TokenSource = string | null | (() => Promise<string | null>);

/** What HTML and JSX take; a list of what each means is in docs/embedding.md. */
export interface GailouCommentsAttributes {
  /** `article/hello`. */
  subject?: string | undefined;
  /** The address of the server, unless `setServer` names it. */
  api?: string | undefined;
  /** BCP 47: `de`, `pt-BR`. */
  lang?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
  sort?: Sort | undefined;
  token?: string | undefined;
  live?: 'on' | 'off' | undefined;
  loading?: 'lazy' | 'eager' | undefined;
  keys?: 'on' | 'off' | undefined;
  /** The address of more emoji and stickers, in the format of OwO. */
  emoji?: string | undefined;
}

export interface GailouCountAttributes {
  subject?: string | undefined;
}

export interface GailouLatestAttributes {
  type?: string | undefined;
  limit?: number | string | undefined;
  api?: string | undefined;
  lang?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
}

export interface GailouBellAttributes {
  api?: string | undefined;
  lang?: string | undefined;
  theme?: 'auto' | 'light' | 'dark' | undefined;
  token?: string | undefined;
}

/** The events, by their names; they bubble. */
export interface GailouEvents {
  'gailou:ready': CustomEvent<{ subject: string; count: number }>;
  'gailou:count': CustomEvent<{ subject: string; count: number }>;
  /** The comment as the HTTP interface has it; `@gailou/client` has its type. */
  'gailou:posted': CustomEvent<{
    comment: { id: string; content: string; [field: string]: unknown };
  }>;
  'gailou:sign-in': CustomEvent<{ code: string }>;
  'gailou:error': CustomEvent<{ code: string; status: number }>;
}

export declare class GailouComments extends HTMLElement {
  subject: string;
  api: string;
  sort: Sort;
  theme: 'auto' | 'light' | 'dark';
  live: 'on' | 'off';
  loading: 'lazy' | 'eager';
  keys: 'on' | 'off';
  emoji: string;
  get token(): TokenSource;
  set token(value: TokenSource | undefined);
  /** Loads the list anew, past every cache. */
  reload(): void;
  /** Puts the cursor into the form for a new comment. */
  focusComposer(): void;
  /** Shows a comment of this thread, as a link to it does. */
  open(id: string): void;
}

export interface GailouBellElement extends HTMLElement {
  token: string | null;
}

/** The server of all elements that name none: `https://comments.example`. Call it before they are on the page. */
export declare function setServer(address: string): void;

declare global {
  interface HTMLElementTagNameMap {
    'gailou-comments': GailouComments;
    'gailou-count': HTMLElement;
    'gailou-latest': HTMLElement;
    'gailou-bell': GailouBellElement;
  }

  interface HTMLElementEventMap extends GailouEvents {}
}
