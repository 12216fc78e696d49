/** Writes a comment, a reply or an edit: checks the text, sends it, and says what became of it. */

import { sendAnswering } from '../api/challenge.ts';
import { editComment, postComment, uploadPicture } from '../api/member-calls.ts';
import { ApiProblem } from '../api/problem.ts';
import { fieldDetail, isRepeatable } from '../api/problem-details.ts';
import { MAX_RETRIES, retryWhileOutcomeUnknown } from '../api/retry.ts';
import type { ApiAnswer } from '../api/transport.ts';
import type { Challenge, Comment, MemberName } from '../api/wire.ts';
import { closeOnEscape } from '../dom/escape.ts';
import { h } from '../dom/html.ts';
import { isRefused, kindOf, memberOf } from '../model/member.ts';
import { type AnsweredComment, authorNameOf, type ShownComment } from '../model/shown-comment.ts';
import type { ThreadContext } from '../model/thread-context.ts';
import { composerText } from '../text/composer.ts';
import { describeProblem } from '../text/describe-problem.ts';
import { countCodePoints } from '../util/count.ts';
import { tabStorage } from '../util/json-storage.ts';
import { answerChallenge } from './answer.ts';
import { Countdown } from './countdown.ts';
import { ComposerDraft } from './draft.ts';
import { draftScope } from './draft-key.ts';
import { ComposerForm } from './form.ts';
import { mentionedIn } from './mention-names.ts';
import { PictureTray } from './pictures.ts';
import { fetchPreview } from './preview.ts';
import { selectionAround } from './selection-around.ts';
import { type ComposerShell, composerShell } from './shell.ts';
import type { PreviewedText } from './tabs.ts';
import { quoteOf } from './text-edit.ts';

/** The server's limit. */
const MAX_CONTENT_CODE_POINTS = 5_000;
/** From here on the form counts what is left. */
const WARN_CONTENT_CODE_POINTS = 4_500;

/** The thread that a composer writes in. */
export interface ComposerHost extends ThreadContext {
  readonly reader: ComposerReader;
  readonly writing: PostWriter;
  readonly account: ComposerAccount;
  readonly comments: ComposerComments;
  /** The server has refused a post because the subject is closed. */
  close(): void;
  /** The event of a problem that the reader is shown. */
  emitProblem(problem: ApiProblem): void;
}

interface ComposerReader {
  /** True when the token was a guest's: the form asks for a name again. */
  dropRefusedToken(problem: ApiProblem): boolean;
  askToSignIn(): void;
}

interface ComposerComments {
  /** Those on the page, in any order. */
  readonly views: readonly { readonly comment: ShownComment }[];
}

interface ComposerAccount {
  /** Whether a reader can sign in here; it is asked for at the first call. */
  canSignIn(): Promise<boolean>;
  openSignIn(): unknown;
  openPanel(): unknown;
}

interface PostWriter {
  /** Rejects with an `ApiProblem` when the server refuses the name. */
  becomeGuest(name: string): Promise<void>;
  /** Rejects with an `ApiProblem` when the server refuses the name. */
  rename(name: string): Promise<void>;
  /** The node of a comment that is on its way. */
  showSending(content: string, parent: AnsweredComment | null, guestName: string): HTMLElement;
  acceptPost(comment: Comment, written: string): void;
  acceptEdit(comment: Comment): void;
}

/** A new comment, unless one of these is there. */
export interface ComposerPurpose {
  /** The comment to reply to. */
  parent?: AnsweredComment;
  /** The comment to edit. */
  edit?: ShownComment;
  /** The pictures of that comment, which it keeps, for the preview. */
  kept?: () => HTMLElement[];
  /** Where the form will be: a selection in the comment around it is quoted. */
  place?: HTMLElement;
}

export class Composer {
  readonly #thread: ComposerHost;
  readonly #parent: AnsweredComment | null;
  readonly #edit: ShownComment | null;
  readonly #kept: () => HTMLElement[];
  readonly #close: (() => void) | null;
  readonly #form: ComposerForm;
  readonly #draft: ComposerDraft;
  /** An edit keeps the pictures of its comment. */
  readonly #pictures: PictureTray | null;
  readonly #countdown = new Countdown();
  #isBusy = false;
  /** The reader takes another name with what is sent next. */
  #isRenaming = false;
  #canSignIn = false;

  /** `close` takes the form away; the form at the top of a thread has none, but a shell that is on the page. */
  constructor(
    thread: ComposerHost,
    { parent, edit, kept = () => [], place }: ComposerPurpose = {},
    close: (() => void) | null = null,
    shell?: ComposerShell,
  ) {
    this.#thread = thread;
    this.#parent = parent ?? null;
    this.#edit = edit ?? null;
    this.#kept = kept;
    this.#close =
      close &&
      (() => {
        // The next edit begins with the text of the comment.
        if (edit) this.#draft.save('');
        close();
      });
    // A text that was begun before the comment was edited elsewhere is of another edit.
    const of = edit ? `edit ${edit.id} ${edit.edited_at}` : parent?.id;
    this.#draft = new ComposerDraft(tabStorage, draftScope(thread.api.base, thread.subject, of));
    this.#form = new ComposerForm(
      shell ?? composerShell(this.#label(), this.#label()),
      this.#submitLabel(),
      {
        onInput: () => this.#onInput(),
        onSubmit: () => this.#submit(),
        onCancel: this.#close,
      },
      thread.text,
    );
    this.#pictures = edit ? null : this.#makePictures();
    const quoted = parent && place ? selectionAround(place) : '';
    const { input } = this.#form.text;
    const draft = this.#draft.restore() ?? edit?.content;
    // What was written while this was on its way is the newer text.
    if (draft && !input.value) input.value = draft;
    this.#form.name.input.value = this.#draft.name;
    this.#form.name.input.addEventListener('input', () => this.#saveDraft());
    if (quoted) this.#beginWith(quoted);
    this.showIdentity();
    this.#showCount();
    // A line that has become a form has the focus already.
    if (this.#form.node.matches(':focus-within')) this.#offerSignIn();
    else this.#form.node.addEventListener('focusin', () => this.#offerSignIn(), { once: true });
    if (this.#close) closeOnEscape(this.#form.node, this.#close);
    this.#addTools();
  }

  get form(): HTMLFormElement {
    return this.#form.node;
  }

  get isEmpty(): boolean {
    return this.#form.text.input.value === '' && !this.#pictures?.list.childElementCount;
  }

  focus(): void {
    this.#form.focus();
  }

  /** Shows who posts, or asks for a name when no identity is known. */
  showIdentity(): void {
    const { account, identity, reader, text } = this.#thread;
    const kind = kindOf(identity);
    const member = memberOf(identity);
    const { postingAs } = this.#form;
    // Who has just signed in may have no name yet, nor has a guest who has only reacted.
    const isNameless = kind !== 'host' && !member?.name;
    this.#isRenaming &&= kind === 'guest';
    this.#form.asksName = (isNameless || this.#isRenaming) && !this.#edit;
    postingAs.replaceChildren();
    if (!member || this.#edit || this.#form.asksName) return;
    if (isRefused(identity)) {
      const signIn = linkButton(text.signIn, () => reader.askToSignIn());
      postingAs.append(`${text.errors.token_invalid} `, signIn);
      return;
    }
    const links = [linkButton(text.yourAccount, () => account.openPanel())];
    if (kind === 'guest') {
      const change = () => this.#changeName(member.name);
      if (this.#canSignIn) links.unshift(this.#signInButton());
      links.unshift(linkButton(text.change, change, text.changeName));
    }
    const separated = links.flatMap((link) => [
      h('span', { class: 'dot', 'aria-hidden': true }, '·'),
      link,
    ]);
    postingAs.append(text.postingAs(member.name || text.anonymous), ...separated.slice(1));
  }

  /** Who has no account here may sign in instead of giving a name. */
  async #offerSignIn(): Promise<void> {
    if (this.#edit || !(await this.#thread.account.canSignIn())) return;
    this.#canSignIn = true;
    this.#form.offer(this.#signInButton());
    this.showIdentity();
  }

  #signInButton(): HTMLElement {
    const { account, text } = this.#thread;
    return linkButton(text.signIn, () => account.openSignIn());
  }

  /** A form without them is a form. */
  async #addTools(): Promise<void> {
    const { locale } = this.#thread;
    const tools = await import('./tools.ts').catch(() => null);
    if (!tools) return;
    new tools.ComposerTools({
      form: this.#form,
      locale,
      pictureButton: this.#pictures?.button ?? null,
      names: this.#edit ? null : () => this.#names(),
      onMention: (member) => this.#draft.picked.push(member),
      preview: (content) => this.#preview(content),
    });
  }

  /** An edit keeps the mentions and the pictures of its comment. */
  async #preview(content: string): Promise<PreviewedText> {
    const { picked } = this.#draft;
    const ids = mentionedIn(content, picked);
    const mentions = this.#edit?.mentions ?? picked.filter(({ id }) => ids.includes(id));
    const drawn = this.#pictures?.drawn() ?? this.#kept();
    const [html, pictures] = await Promise.all([fetchPreview(this.#thread.api, content), drawn]);
    return { html, mentions, pictures };
  }

  /** Who has written here, the one who is answered first; not the reader. */
  #names(): MemberName[] {
    const { comments, identity } = this.#thread;
    const authors = [this.#parent, ...comments.views.map(({ comment }) => comment)].flatMap(
      (comment) => comment?.author ?? [],
    );
    const others = authors.filter(({ id, name }) => name && id !== memberOf(identity)?.id);
    return [...new Map(others.map(({ id, name }) => [id, { id, name }])).values()];
  }

  /** Below what is written already. */
  #beginWith(quoted: string): void {
    const { input } = this.#form.text;
    const before = input.value.trimEnd();
    input.value = `${before && `${before}\n\n`}${quoteOf(quoted)}`;
    input.setSelectionRange(input.value.length, input.value.length);
    this.#saveDraft();
  }

  #makePictures(): PictureTray {
    const { api, text } = this.#thread;
    const form = this.#form;
    const tray = new PictureTray(
      {
        text,
        labels: composerText(this.#thread.locale),
        prepare: async () => {
          form.clearTextError();
          const name = form.name.input.value.trim();
          if (!form.asksName) return true;
          if (!name) form.showNameError(text.needName);
          else await this.#takeName(name).catch((problem) => this.#fail(problem));
          return !form.asksName;
        },
        upload: (upload) => uploadPicture(api, upload),
        showError: (sentence) => form.showTextError(sentence),
        showProblem: (problem) => this.#fail(problem),
        focus: () => this.focus(),
      },
      form.node,
    );
    form.addPictures(tray.button, tray.list);
    return tray;
  }

  #label(): string {
    const { locale, text } = this.#thread;
    if (this.#edit) return text.editComment;
    return this.#parent ? text.writeReply(authorNameOf(this.#parent, locale)) : text.write;
  }

  #submitLabel(): string {
    const { text } = this.#thread;
    if (this.#edit) return text.save;
    return this.#parent ? text.reply : text.post;
  }

  #content(): string {
    return this.#form.text.input.value.trim();
  }

  #onInput(): void {
    if (!this.#countdown.isRunning) {
      this.#form.clearTextError();
      if (!this.#isBusy) this.#form.submitButton.textContent = this.#submitLabel();
    }
    this.#saveDraft();
    this.#showCount();
  }

  #saveDraft(): void {
    this.#draft.name = this.#form.asksName ? this.#form.name.input.value : '';
    this.#draft.save(this.#form.text.input.value);
  }

  #showCount(): void {
    const { counter, text } = this.#form;
    const used = countCodePoints(text.input.value);
    counter.hidden = used < WARN_CONTENT_CODE_POINTS;
    counter.textContent = this.#thread.text.counter(MAX_CONTENT_CODE_POINTS - used);
    counter.classList.toggle('over', used > MAX_CONTENT_CODE_POINTS);
  }

  #changeName(name: string | undefined): void {
    this.#isRenaming = true;
    this.#askName(name);
  }

  #askName(name: string | undefined): void {
    const { input } = this.#form.name;
    this.showIdentity();
    input.value = input.value || name || '';
    input.focus();
  }

  /** False, with the field marked, when the server would refuse the form anyway. */
  #isComplete(): boolean {
    const { text } = this.#thread;
    const content = this.#content();
    if (!content) {
      this.#form.showTextError(text.needText);
      return false;
    }
    if (countCodePoints(content) > MAX_CONTENT_CODE_POINTS) {
      this.#form.showTextError(text.tooLong(MAX_CONTENT_CODE_POINTS));
      return false;
    }
    if (this.#form.asksName && !this.#form.name.input.value.trim()) {
      this.#form.showNameError(text.needName);
      return false;
    }
    return true;
  }

  async #submit(): Promise<void> {
    if (this.#isBusy || this.#countdown.isRunning || !this.#isComplete()) return;
    this.#setBusy(true);
    this.#form.clearTextError();
    const content = this.#content();
    const name = this.#form.name.input.value.trim();
    const { writing } = this.#thread;
    const sending = this.#edit ? null : writing.showSending(content, this.#parent, name);
    try {
      const { data } = await retryWhileOutcomeUnknown(
        () => this.#attempt(content, name),
        (waitMs, retry) => this.#showWaiting(waitMs, retry),
      );
      this.#succeed(data, sending);
    } catch (problem) {
      sending?.remove();
      this.#fail(problem);
    }
  }

  async #attempt(content: string, name: string): Promise<ApiAnswer<Comment>> {
    const { api, locale, subject } = this.#thread;
    const answer = (challenge: Challenge) => answerChallenge(challenge, this.#form, locale);
    const edited = this.#edit;
    if (edited)
      return sendAnswering((given) => editComment(api, edited.id, content, given), answer);
    if (this.#form.asksName) await this.#takeName(name);
    const media = await this.#uploadPictures();
    const mentions = mentionedIn(content, this.#draft.picked);
    const key = this.#draft.keyFor(content, media);
    this.#saveDraft();
    const body = {
      content,
      ...(this.#parent && { parent_id: this.#parent.id }),
      ...(mentions.length > 0 && { mentions }),
      ...(media.length > 0 && { media }),
    };
    return sendAnswering((given) => postComment(api, subject, body, key, given), answer);
  }

  /** The ids of the pictures, as soon as all of them are there. */
  async #uploadPictures(): Promise<string[]> {
    const tray = this.#pictures;
    if (!tray) return [];
    if (!tray.isUploaded) this.#form.progress.textContent = this.#thread.text.stillUploading;
    const media = await tray.finish();
    this.#form.progress.textContent = '';
    return media.map(({ id }) => id);
  }

  /** Rejects with an `ApiProblem` when the server refuses the name. */
  async #takeName(name: string): Promise<void> {
    const { identity, writing } = this.#thread;
    if (!memberOf(identity)) {
      await writing.becomeGuest(name);
      return;
    }
    if (name !== memberOf(identity)?.name) await writing.rename(name);
    this.#isRenaming = false;
    this.showIdentity();
  }

  #showWaiting(waitMs: number, retry: number): void {
    const { text } = this.#thread;
    this.#form.progress.textContent = text.retrying(Math.ceil(waitMs / 1000), retry, MAX_RETRIES);
  }

  #setBusy(isBusy: boolean): void {
    this.#isBusy = isBusy;
    this.#form.setBusy(isBusy, isBusy ? this.#thread.text.sending : this.#submitLabel());
  }

  #succeed(comment: Comment, sending: HTMLElement | null): void {
    const { writing } = this.#thread;
    this.#setBusy(false);
    this.#form.progress.textContent = '';
    if (this.#edit) {
      writing.acceptEdit(comment);
      this.#close?.();
      return;
    }
    const written = this.#form.text.input.value.trim();
    this.#draft.forgetKey();
    this.#pictures?.clear();
    this.#form.text.input.value = '';
    this.#form.showWriting();
    this.#saveDraft();
    this.#showCount();
    this.#close?.();
    sending?.remove();
    writing.acceptPost(comment, written);
  }

  #fail(problem: unknown): void {
    this.#setBusy(false);
    if (!(problem instanceof ApiProblem)) throw problem;
    const { identity, reader, text } = this.#thread;
    if (problem.code === 'idempotency_mismatch') this.#draft.forgetKey();
    if (isRepeatable(problem)) this.#form.submitButton.textContent = text.retry;
    const { guest } = identity;
    if (reader.dropRefusedToken(problem)) {
      this.#askName(guest?.member.name);
      if (this.#form.asksName) {
        this.#form.showNameError(text.errors.guest_expired);
        return;
      }
    }
    if (problem.code === 'subject_closed') this.#thread.close();
    this.#showProblem(problem);
  }

  #showProblem(problem: ApiProblem): void {
    const { locale, text } = this.#thread;
    this.#thread.emitProblem(problem);
    if (this.#form.asksName && fieldDetail(problem, 'name')) {
      this.#form.showNameError(text.errors.name_refused);
      return;
    }
    // The sentence about a rejected text names its categories already.
    const errors = problem.code === 'content_rejected' ? [] : problem.errors;
    const details = errors.map((error) => error.detail);
    const parts = [describeProblem(locale, problem), ...details, text.keptText];
    this.#form.showTextError(parts.filter(Boolean).join(' '));
    this.#form.text.error.dataset.code = problem.code;
    if (problem.status === 429 && problem.retryAfterMs) this.#countDown(problem);
  }

  /** The server says when it takes something again: until then there is no use in trying. */
  #countDown(problem: ApiProblem): void {
    const { locale, text } = this.#thread;
    const { error } = this.#form.text;
    const { submitButton, progress } = this.#form;
    submitButton.setAttribute('aria-disabled', 'true');
    this.#countdown.start(problem, error, {
      text: text.keptText,
      describe: (each) => describeProblem(locale, each),
      onEnd: () => {
        submitButton.setAttribute('aria-disabled', String(this.#isBusy));
        this.#form.clearTextError();
        progress.textContent = composerText(locale).tryNow;
      },
    });
  }
}

function linkButton(label: string, onClick: () => void, name: string | null = null): HTMLElement {
  const on = { click: onClick };
  return h('button', { type: 'button', class: 'link', 'aria-label': name, on }, label);
}
