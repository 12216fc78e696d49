/*
 * Gailou (盖楼) comments for any page, in one request.
 *
 *   <script src="https://comments.example/gailou.js" data-subject="article/hello"></script>
 *
 * or, where the element is wanted elsewhere on the page:
 *
 *   <gailou-comments subject="article/hello"></gailou-comments>
 *
 * What the server rendered (`/t/article/hello?fragment=1`) may stand inside the element, or before
 * the script tag: it is shown until the comments are loaded, and nothing moves when they are.
 *
 * Attributes: subject, api, lang (en, zh), theme (light, dark), sort, token, live ("off": without
 * the event stream); on the script tag the same names with `data-`. The property `token` takes a
 * token that the page fetches later. Events: `gailou:count`, `gailou:posted`, `gailou:sign-in`.
 * Colours and shapes: the custom properties --gailou-* in the section "Style".
 *
 * It needs no framework, no build step and no inline code, so it works under a strict
 * Content-Security-Policy. It renders no HTML that has not passed the allow-list in "Safe HTML".
 *
 * Sections: Text · Style · Helpers · Safe HTML · Storage · API · Identity · Paging · Composer ·
 * Chain · Comment · Element · Mounting
 */
(() => {
  'use strict';

  const SCRIPT = document.currentScript;
  const SCRIPT_ORIGIN = SCRIPT && SCRIPT.src ? new URL(SCRIPT.src).origin : location.origin;

  const ROOTS_PER_PAGE = 20;
  const REPLIES_PER_PAGE = 50;
  const OVERLAY_IDS_MAX = 400; // the contract's limit for one overlay call
  const EMPTY_PAGES_MAX = 10; // short pages followed before the reader is asked to go on
  const CONTENT_MAX = 5000; // code points
  const CONTENT_WARN = 4500;
  const NAME_MAX = 40;
  const TREE_INDENT_MAX = 3; // deeper replies keep the indentation of this level
  const CHAIN_HEAD = 3; // floors of a building shown before …
  const CHAIN_TAIL = 6; // … and after the collapsed middle
  const CHAIN_STEP = 100; // floors revealed by one press
  const RETRIES_MAX = 3;
  const RETRY_WAIT_MAX_MS = 10_000; // a longer Retry-After is left to the reader
  const READ_TIMEOUT_MS = 20_000;
  const WRITE_TIMEOUT_MS = 15_000;
  const RECENT_MS = 120_000; // own posts and deletions outlive any cached page
  const RECENT_COUNT_MS = 10_000; // own likes, likewise
  const ARRIVED_MAX = 20; // more new comments than that are a new list
  const RESET_MS = 5_000; // caches are past what was missed, and readers do not ask together
  const LISTEN_WAIT_MS = 15_000; // after a refused event stream, doubled each time …
  const LISTEN_WAIT_MAX_MS = 300_000; // … up to this

  const SERVED = 'section.gailou'; // what the server rendered

  const TAB_SORTS = ['hot', 'new', 'old', 'top'];
  const MORE_SORTS = ['best', 'replies', 'controversial'];
  const SORTS = [...TAB_SORTS, ...MORE_SORTS];

  // ---------------------------------------------------------------------------------------------
  // Text
  // ---------------------------------------------------------------------------------------------

  const plural = (n, one, many) => (n === 1 ? one : many);

  const TEXT = {
    en: {
      title: (n) => `${n} ${plural(n, 'comment', 'comments')}`,
      titleNone: 'Comments',
      sortLabel: 'Sort comments',
      moreSorts: 'More sorts',
      hot: 'Hot', new: 'New', old: 'Oldest', top: 'Top',
      best: 'Best rated', replies: 'Most replies', controversial: 'Controversial',
      loading: 'Loading comments…',
      empty: 'Be the first to comment.',
      loadMore: 'Load more comments',
      loadFailed: 'The comments could not be loaded.',
      tryAgain: 'Try again',
      stale: 'Showing a saved copy; the comment server cannot be reached right now.',
      closed: 'Comments are closed here.',
      hiddenSubject: 'The comments of this page are hidden.',
      write: 'Write a comment',
      writeReply: (name) => `Reply to ${name}`,
      editComment: 'Edit your comment',
      placeholder: 'Join the discussion…',
      yourName: 'Your name',
      namePlaceholder: 'How others will see you',
      postingAs: (name) => `Posting as ${name}`,
      change: 'change',
      changeName: 'Change your name',
      post: 'Post', reply: 'Reply', save: 'Save', retry: 'Retry', cancel: 'Cancel',
      sending: 'Sending…',
      counter: (left) => (left < 0 ? `${-left} too many` : `${left} left`),
      needText: 'Write something first.',
      needName: 'Please enter a name first.',
      tooLong: `A comment can have at most ${CONTENT_MAX} characters.`,
      retrying: (seconds, n) =>
        `Outcome unknown; retrying is safe. Trying again in ${seconds} s (${n} of ${RETRIES_MAX})…`,
      keptText: 'Your text is kept here.',
      retryIn: (seconds) => `Please try again in ${seconds} s.`,
      posted: 'Your comment is posted.',
      saved: 'Your change is saved.',
      held: 'Your comment is awaiting review.',
      review: 'Awaiting review · only you can see this',
      rejected: 'Not published · only you can see this',
      selfOnly: 'Only you can see this',
      deleted: 'This comment was deleted',
      deletedNow: 'Your comment was deleted.',
      deletedAuthor: 'Deleted',
      anonymous: 'Guest',
      like: 'Like', dislike: 'Dislike',
      edit: 'Edit', delete: 'Delete', confirmDelete: 'Delete this comment?',
      nameToReact: 'Choose a name to react',
      continue: 'Continue',
      replyingTo: 'replying to',
      floor: (n) => `#${n}`,
      floorLabel: (n) => `Floor ${n}`,
      storey: (n) => `F${n}`,
      storeyLabel: (n) => `Floor ${n} of this building`,
      level: (n) => `Lv ${n}`,
      levelLabel: (n) => `Level ${n}`,
      pinned: 'Pinned', featured: 'Featured', edited: 'edited',
      showReplies: (n) => `Show all ${n} ${plural(n, 'reply', 'replies')}`,
      moreReplies: 'Show more replies',
      repliesLoaded: (n) => `${n} more ${plural(n, 'reply', 'replies')} shown.`,
      commentsLoaded: (n) => `${n} more ${plural(n, 'comment', 'comments')} shown.`,
      building: (n) => `All ${n} floors`,
      hideBuilding: 'Hide the building',
      buildingLabel: 'The whole conversation, from the ground floor up',
      moreFloors: (n) => `Show ${n} more ${plural(n, 'floor', 'floors')}`,
      linked: 'Linked comment',
      backToAll: 'Back to all comments',
      around: 'Nearby in this conversation',
      linkGone: 'The linked comment could not be found.',
      newComments: (n) => `Show ${n} new ${plural(n, 'comment', 'comments')}`,
      reload: 'The comments have changed. Show them anew',
      now: 'just now',
      errors: {
        network: 'The comment server did not answer.',
        invalid_request: 'Something in the request is not right.',
        bad_cursor: 'This list has changed. Please load it again.',
        token_missing: 'Please sign in first.',
        token_invalid: 'Your sign-in is no longer valid. Please sign in again.',
        guest_expired: 'Your guest name is no longer valid. Please enter it again.',
        forbidden: 'You are not allowed to do this.',
        muted: 'You cannot comment here for the time being.',
        level_too_low: 'Your level is not high enough to comment here yet.',
        guests_not_allowed: 'Guests cannot comment here. Please sign in on this site.',
        unknown_subject_type: 'Comments are not set up for this page.',
        comment_not_found: 'This comment is no longer there.',
        parent_not_found: 'The comment you are replying to is no longer there.',
        subject_closed: 'Comments are closed here.',
        edit_window_over: 'A comment can be edited for 15 minutes only.',
        cursor_expired: 'This list has changed. Please load it again.',
        body_too_large: 'This text is too long.',
        content_rejected: (what) =>
          'Your comment contains words that are not allowed here'
          + (what ? ` (categories: ${what}).` : '.'),
        idempotency_mismatch: 'This was sent before with another text. Please send it once more.',
        rate_limited: 'You are going a little fast.',
        internal: 'The comment server made a mistake.',
        unavailable:
          'The comment server is not available right now. Outcome unknown; retrying is safe.',
        overloaded: 'The comment server is very busy. Outcome unknown; retrying is safe.',
        origin_unreachable:
          'The comment server cannot be reached right now. Outcome unknown; retrying is safe.',
      },
    },
    zh: {
      title: (n) => `${n} 条评论`,
      titleNone: '评论',
      sortLabel: '评论排序',
      moreSorts: '更多排序',
      hot: '最热', new: '最新', old: '最早', top: '最赞',
      best: '好评优先', replies: '回复最多', controversial: '争议最大',
      loading: '正在加载评论…',
      empty: '还没有评论，快来抢沙发！',
      loadMore: '加载更多评论',
      loadFailed: '评论加载失败。',
      tryAgain: '重试',
      stale: '当前显示的是已保存的副本，评论服务器暂时无法连接。',
      closed: '评论已关闭。',
      hiddenSubject: '本页评论已隐藏。',
      write: '发表评论',
      writeReply: (name) => `回复 ${name}`,
      editComment: '编辑评论',
      placeholder: '说点什么吧…',
      yourName: '昵称',
      namePlaceholder: '别人看到的名字',
      postingAs: (name) => `以 ${name} 的身份发言`,
      change: '更换',
      changeName: '更换昵称',
      post: '发表', reply: '回复', save: '保存', retry: '重试', cancel: '取消',
      sending: '正在发送…',
      counter: (left) => (left < 0 ? `超出 ${-left} 字` : `还可输入 ${left} 字`),
      needText: '请先写点内容。',
      needName: '请先填写昵称。',
      tooLong: `评论最多 ${CONTENT_MAX} 个字。`,
      retrying: (seconds, n) =>
        `结果未知，重试是安全的。${seconds} 秒后再试（第 ${n}/${RETRIES_MAX} 次）…`,
      keptText: '您的文字已保留在此。',
      retryIn: (seconds) => `请在 ${seconds} 秒后重试。`,
      posted: '评论已发表。',
      saved: '修改已保存。',
      held: '评论正在等待审核。',
      review: '等待审核 · 仅自己可见',
      rejected: '未通过审核 · 仅自己可见',
      selfOnly: '仅自己可见',
      deleted: '该评论已删除',
      deletedNow: '评论已删除。',
      deletedAuthor: '已删除',
      anonymous: '游客',
      like: '赞', dislike: '踩',
      edit: '编辑', delete: '删除', confirmDelete: '确定删除这条评论？',
      nameToReact: '填写昵称后即可表态',
      continue: '继续',
      replyingTo: '回复',
      floor: (n) => `${n}楼`,
      floorLabel: (n) => `第 ${n} 楼`,
      storey: (n) => `${n}层`,
      storeyLabel: (n) => `本楼第 ${n} 层`,
      level: (n) => `Lv ${n}`,
      levelLabel: (n) => `等级 ${n}`,
      pinned: '置顶', featured: '神评论', edited: '已编辑',
      showReplies: (n) => `查看全部 ${n} 条回复`,
      moreReplies: '查看更多回复',
      repliesLoaded: (n) => `已显示 ${n} 条回复。`,
      commentsLoaded: (n) => `已显示 ${n} 条评论。`,
      building: (n) => `查看整栋楼（${n} 层）`,
      hideBuilding: '收起整栋楼',
      buildingLabel: '从一楼开始的完整对话',
      moreFloors: (n) => `再显示 ${n} 层`,
      linked: '链接指向的评论',
      backToAll: '返回全部评论',
      around: '同一对话中的其他回复',
      linkGone: '找不到链接指向的评论。',
      newComments: (n) => `查看 ${n} 条新评论`,
      reload: '评论已更新，点此重新加载',
      now: '刚刚',
      errors: {
        network: '评论服务器没有响应。',
        invalid_request: '提交的内容有误。',
        bad_cursor: '列表已更新，请重新加载。',
        token_missing: '请先登录。',
        token_invalid: '登录已失效，请重新登录。',
        guest_expired: '游客身份已失效，请重新填写昵称。',
        forbidden: '您没有权限进行此操作。',
        muted: '您暂时不能在此评论。',
        level_too_low: '您的等级还不能在此评论。',
        guests_not_allowed: '此处不接受游客评论，请先登录本站。',
        unknown_subject_type: '本页尚未开通评论。',
        comment_not_found: '这条评论已不存在。',
        parent_not_found: '您要回复的评论已不存在。',
        subject_closed: '评论已关闭。',
        edit_window_over: '评论发表 15 分钟后不能再编辑。',
        cursor_expired: '列表已更新，请重新加载。',
        body_too_large: '文字过长。',
        content_rejected: (what) => `评论中含有此处不允许的词语${what ? `（类别：${what}）` : ''}。`,
        idempotency_mismatch: '之前提交过不同的文字，请再发送一次。',
        rate_limited: '操作太快了。',
        internal: '评论服务器出错了。',
        unavailable: '评论服务器暂不可用。结果未知，重试是安全的。',
        overloaded: '评论服务器繁忙。结果未知，重试是安全的。',
        origin_unreachable: '暂时无法连接评论服务器。结果未知，重试是安全的。',
      },
    },
  };

  /** Words, numbers and times in one language. */
  class Locale {
    constructor(tag) {
      this.tag = /^zh/i.test(tag) ? 'zh' : 'en';
      const intl = this.tag === 'zh' ? 'zh-CN' : 'en';
      this.text = TEXT[this.tag];
      this.compact = new Intl.NumberFormat(intl, { notation: 'compact', maximumFractionDigits: 1 });
      this.relative = new Intl.RelativeTimeFormat(intl, { numeric: 'auto' });
      this.date = new Intl.DateTimeFormat(intl, { dateStyle: 'medium' });
      this.full = new Intl.DateTimeFormat(intl, { dateStyle: 'full', timeStyle: 'short' });
    }

    ago(ms, now = Date.now()) {
      const minutes = Math.floor((now - ms) / 60_000);
      if (minutes < 1) return this.text.now; // also for a clock that is a little ahead
      if (minutes < 60) return this.relative.format(-minutes, 'minute');
      const hours = Math.floor(minutes / 60);
      if (hours < 24) return this.relative.format(-hours, 'hour');
      const days = Math.floor(hours / 24);
      if (days < 30) return this.relative.format(-days, 'day');
      return this.date.format(ms);
    }

    /** A sentence for a `Problem`. */
    problem(problem) {
      const known = this.text.errors[problem.code];
      let sentence = problem.detail || this.text.errors.internal;
      if (problem.code === 'content_rejected') sentence = known(problem.categories());
      else if (known) sentence = known;
      const wait = problem.retryAfterMs;
      if (wait) sentence += ` ${this.text.retryIn(Math.ceil(wait / 1000))}`;
      return sentence;
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Style
  // ---------------------------------------------------------------------------------------------

  const DARK = `
    color-scheme: dark;
    --text: var(--gailou-text, #ece6df); --muted: var(--gailou-muted, #aaa097);
    --line: var(--gailou-line, #3b342e); --surface: var(--gailou-surface, #221e1b);
    --soft: var(--gailou-soft, #2c2621); --accent: var(--gailou-accent, #f2957a);
    --on-accent: var(--gailou-on-accent, #25110a); --mark: var(--gailou-mark, #3b2a21);
    --danger: var(--gailou-danger, #ff9c8f); --gold: var(--gailou-gold, #e7bd62);`;

  const CSS = `
    :host {
      color-scheme: light;
      --text: var(--gailou-text, #221d19); --muted: var(--gailou-muted, #6a6058);
      --line: var(--gailou-line, #e5ded5); --surface: var(--gailou-surface, #ffffff);
      --soft: var(--gailou-soft, #f6f2ec); --accent: var(--gailou-accent, #a63a1f);
      --on-accent: var(--gailou-on-accent, #ffffff); --mark: var(--gailou-mark, #fdf0e6);
      --danger: var(--gailou-danger, #b3261e); --gold: var(--gailou-gold, #7d5a0b);
      --radius: var(--gailou-radius, 10px);
      --font: var(--gailou-font, system-ui, -apple-system, "Segoe UI", "PingFang SC",
        "Hiragino Sans GB", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif);
      display: block; container-type: inline-size;
      color: var(--text); font: 400 16px/1.6 var(--font); text-align: start;
    }
    @media (prefers-color-scheme: dark) { :host(:not([theme="light"])) { ${DARK} } }
    :host([theme="dark"]) { ${DARK} }
    :host([hidden]), [hidden] { display: none !important; }
    *, *::before, *::after { box-sizing: border-box; }
    ol { list-style: none; margin: 0; padding: 0; }
    h2, p { margin: 0; }
    button, input, textarea, select { font: inherit; color: inherit; }
    button { cursor: pointer; }
    a { color: var(--accent); }
    :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
    .sr { position: absolute; width: 1px; height: 1px; margin: -1px; overflow: hidden;
      clip-path: inset(50%); white-space: nowrap; }

    /* header */
    .top { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem 1rem;
      margin-bottom: .75rem; }
    .top h2 { font-size: 1.25rem; line-height: 1.3; font-weight: 650; margin-inline-end: auto; }
    .sorts { display: flex; align-items: center; gap: .125rem; }
    .sorts button, .sorts select { border: 0; background: none; padding: .5rem .5rem .375rem;
      font-size: .875rem; color: var(--muted); border-bottom: 2px solid transparent; }
    .sorts button:first-child { padding-inline-start: 0; }
    .sorts button:hover, .sorts select:hover { color: var(--text); }
    .sorts [aria-pressed="true"], .sorts select.on { color: var(--accent); font-weight: 600;
      border-bottom-color: var(--accent); border-radius: 0; }
    .sorts select { max-width: 8.5rem; }
    .sorts option { color: var(--text); background: var(--surface); }

    /* notes */
    .note { padding: .5rem .75rem; margin-bottom: .75rem; border-radius: var(--radius);
      background: var(--soft); color: var(--text); font-size: .875rem;
      border-inline-start: 3px solid var(--gold); }
    .empty { padding: 2.5rem 1rem; text-align: center; color: var(--muted); }
    .fresh { display: block; width: 100%; margin: .75rem 0; }

    /* buttons */
    .button { border: 1px solid var(--line); background: var(--surface); border-radius: 999px;
      padding: .375rem 1rem; font-size: .875rem; font-weight: 550; min-height: 2.25rem; }
    .button:hover { border-color: var(--accent); }
    .button.primary { background: var(--accent); border-color: var(--accent);
      color: var(--on-accent); }
    .button.primary:hover { filter: brightness(1.08); }
    .button[aria-disabled="true"] { opacity: .65; cursor: progress; }
    .button.danger { border-color: var(--danger); color: var(--danger); }
    .link { border: 0; background: none; padding: .25rem 0; color: var(--accent);
      font-size: .875rem; text-align: start; }
    .link:hover { text-decoration: underline; }

    /* composer */
    .composer { border: 1px solid var(--line); border-radius: var(--radius);
      background: var(--surface); margin: .25rem 0 .75rem; }
    .composer:focus-within { border-color: var(--accent); }
    .composer textarea { display: block; width: 100%; min-height: 4.75rem; max-height: 24rem;
      padding: .75rem .875rem; border: 0; background: none; resize: vertical; line-height: 1.6;
      field-sizing: content; border-radius: var(--radius); }
    .composer textarea:focus-visible { outline: none; }
    .composer:has(textarea:focus-visible) { outline: 1px solid var(--accent); }
    .composer ::placeholder { color: var(--muted); opacity: 1; }
    .composer .name { display: flex; flex-wrap: wrap; align-items: center; gap: .25rem .75rem;
      padding: .5rem .875rem; border-bottom: 1px solid var(--line); font-size: .875rem; }
    .composer .name label { color: var(--muted); }
    .composer .name input { flex: 1 1 10rem; min-width: 0; padding: .25rem .375rem; border: 0;
      background: none; min-height: 2rem; font-size: 1rem; }
    .composer .bar { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem;
      padding: .375rem .5rem .5rem .875rem; }
    .composer .who { margin-inline-end: auto; font-size: .8125rem; color: var(--muted);
      min-width: 0; overflow-wrap: anywhere; }
    .composer .who .link { font-size: inherit; margin-inline-start: .375rem; }
    .counter { font-size: .8125rem; color: var(--muted); }
    .counter.over { color: var(--danger); font-weight: 600; }
    .error { color: var(--danger); font-size: .875rem; padding: .25rem .875rem; }
    .error:empty, .progress:empty { display: none; }
    .progress { color: var(--muted); font-size: .875rem; padding: .25rem .875rem; }
    .composer:has([aria-invalid="true"]) { border-color: var(--danger);
      outline-color: var(--danger); }

    /* comments */
    .item + .item { border-top: 1px solid var(--line); }
    .item .item { border-top: 0; }
    article { position: relative; display: grid; grid-template-columns: 2.25rem minmax(0, 1fr);
      gap: 0 .75rem; padding: .875rem 0 .5rem; scroll-margin: 5rem; }
    article:focus { outline: none; }
    article:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px;
      border-radius: var(--radius); }
    .avatar { width: 2.25rem; height: 2.25rem; border-radius: 50%; overflow: hidden;
      display: grid; place-items: center; color: #fff; background: #6b5d52; font-weight: 600;
      font-size: 1rem; line-height: 1; user-select: none; }
    .avatar img { width: 100%; height: 100%; object-fit: cover; }
    .head { position: relative; display: flex; flex-wrap: wrap; align-items: baseline;
      gap: 0 .5rem; min-width: 0; padding-inline-end: 3rem; line-height: 1.4; }
    .author { font-weight: 600; font-size: .9375rem; overflow-wrap: anywhere; }
    .author, .answer a, .who { unicode-bidi: isolate; }
    .when, .floor, .edited { font-size: .8125rem; color: var(--muted); }
    .when { text-decoration: none; }
    .when:hover { text-decoration: underline; }
    .floor { position: absolute; inset: .125rem 0 auto auto; font-variant-numeric: tabular-nums; }
    .badge { align-self: center; font-size: .6875rem; font-weight: 600; line-height: 1.5;
      padding: 0 .375rem; border-radius: 4px; border: 1px solid var(--line);
      color: var(--muted); white-space: nowrap; }
    .badge.pinned { color: var(--accent); border-color: currentColor; }
    .badge.featured { color: var(--gold); border-color: currentColor; }
    .answer, .state { font-size: .8125rem; color: var(--muted); }
    .answer a { color: inherit; }
    .state { color: var(--gold); font-weight: 550; }
    .body { margin-top: .125rem; overflow-wrap: anywhere; }
    .body > * { margin: 0 0 .5rem; }
    .body > :last-child { margin-bottom: 0; }
    .body pre { overflow-x: auto; padding: .625rem .75rem; background: var(--soft);
      border-radius: 6px; font-size: .875rem; }
    .body code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
      font-size: .9em; background: var(--soft); border-radius: 3px; padding: 0 .2em; }
    .body pre code { padding: 0; background: none; }
    .body blockquote { margin-inline: 0; padding-inline-start: .75rem; color: var(--muted);
      border-inline-start: 3px solid var(--line); }
    .body ul, .body ol { padding-inline-start: 1.5rem; }
    .body ul { list-style: disc; } .body ol { list-style: decimal; }
    .body h1, .body h2, .body h3, .body h4, .body h5, .body h6 { font-size: 1rem; }
    .body.plain { white-space: pre-wrap; }
    .body.gone { color: var(--muted); font-style: italic; }
    .media { display: flex; flex-wrap: wrap; gap: .5rem; margin-top: .375rem; }
    .media img { max-width: min(100%, 20rem); max-height: 20rem; height: auto;
      border-radius: 6px; }
    .actions { display: flex; flex-wrap: wrap; align-items: center; gap: 0 .25rem;
      margin-inline-start: -.5rem; }
    .act { display: inline-flex; align-items: center; gap: .3125rem; border: 0; background: none;
      padding: .25rem .5rem; min-height: 2.125rem; font-size: .8125rem; color: var(--muted);
      border-radius: 6px; }
    .act span:empty { display: none; }
    .act:hover { color: var(--text); background: var(--soft); }
    .act[aria-pressed="true"] { color: var(--accent); font-weight: 600; }
    .act[aria-pressed="true"] svg { fill: currentColor; fill-opacity: .22; }
    .act svg { width: 1.0625rem; height: 1.0625rem; fill: none; stroke: currentColor;
      stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
    .act.dislike svg { transform: rotate(180deg); }
    .confirm { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem;
      padding: .25rem 0 .5rem; font-size: .875rem; }
    .item.sending article { opacity: .6; }
    .item.target > article { background: var(--mark); border-radius: var(--radius);
      padding: .875rem .75rem .5rem; }

    /* replies */
    .replies { margin-inline-start: 3rem; }
    .replies:empty { display: none; }
    .replies article { grid-template-columns: 1.75rem minmax(0, 1fr); gap: 0 .625rem;
      padding: .5rem 0 .25rem; }
    .replies .avatar { width: 1.75rem; height: 1.75rem; font-size: .8125rem; }
    .replies .replies { margin-inline-start: .8125rem; padding-inline-start: .9375rem;
      border-inline-start: 2px solid var(--line); }
    .replies .replies.flat { margin-inline-start: 0; padding-inline-start: 0; border: 0; }
    .more-replies { margin: 0 0 .75rem 3rem; }
    @container (max-width: 34rem) {
      .replies { margin-inline-start: 1.125rem; padding-inline-start: .875rem;
        border-inline-start: 2px solid var(--line); }
      .replies .replies { margin-inline-start: .375rem; padding-inline-start: .625rem; }
      .more-replies { margin-inline-start: 2.125rem; }
      .top h2 { flex: 1 0 100%; }
      .sorts { flex: 1; }
    }

    /* the building: older floors stand a little narrower, so the stack reads as one */
    .chain { margin: .5rem 0 .625rem; font-size: .9375rem; }
    .chain li { border: 1px solid var(--line); border-bottom: 0; background: var(--soft);
      padding: .375rem .75rem .5rem; margin-inline: var(--inset, 0px); }
    .chain li:first-child { border-start-start-radius: 8px; border-start-end-radius: 8px; }
    .chain li:last-child { border-bottom: 1px solid var(--line);
      border-end-start-radius: 4px; border-end-end-radius: 4px; }
    .chain li.me { background: var(--mark); }
    .chain .head { padding: 0; }
    .chain .author { font-size: .875rem; }
    .chain .storey { margin-inline-start: auto; font-size: .75rem; color: var(--muted);
      font-variant-numeric: tabular-nums; }
    .chain .middle { --inset: 18px; padding: 0; text-align: center; border-style: dashed; }
    .chain .middle .link { width: 100%; padding: .5rem; text-align: center; }

    /* one linked comment */
    .linked > .link { display: inline-block; margin-bottom: .25rem; }
    .around { font-size: .875rem; font-weight: 600; color: var(--muted); margin: 1rem 0 0; }

    .foot { padding: 1rem 0; text-align: center; }
    .busy { opacity: .55; }
    .skeleton { display: grid; gap: 1.5rem; padding: 1rem 0; }
    .skeleton div { height: 4rem; border-radius: var(--radius);
      background: linear-gradient(100deg, var(--soft) 40%, var(--line) 50%, var(--soft) 60%)
        0 0 / 300% 100%; animation: shimmer 1.6s linear infinite; }
    @keyframes shimmer { from { background-position: 120% 0; } to { background-position: -20% 0; } }
    .new > article { animation: arrive 2s; }
    @keyframes arrive { from { background: var(--mark); } }
    @media (prefers-reduced-motion: reduce) { * { animation: none !important; } }
    @media (pointer: coarse) { .act { min-height: 2.5rem; } }
  `;

  let sheet = null;
  /** One sheet for all elements of the page. */
  function styleSheet() {
    if (!sheet) {
      sheet = new CSSStyleSheet();
      sheet.replaceSync(CSS);
    }
    return sheet;
  }

  // ---------------------------------------------------------------------------------------------
  // Helpers
  // ---------------------------------------------------------------------------------------------

  /** An element; `on…` properties are listeners, null and false ones are left out. */
  function h(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (value === null || value === undefined || value === false) continue;
      if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
      else node.setAttribute(name, value === true ? '' : value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }

  const hidden = (text) => h('span', { class: 'sr' }, text);

  const THUMB = 'M7 11v9H4v-9zM7 11l3.6-8c1.7 0 2.9 1.2 2.9 2.8V9.5h5a2 2 0 0 1 2 2.4l-1.4 6.5'
    + 'a2 2 0 0 1-2 1.6H7';
  function icon(path) {
    const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
    svg.setAttribute('viewBox', '0 0 24 24');
    svg.setAttribute('aria-hidden', 'true');
    const shape = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    shape.setAttribute('d', path);
    svg.append(shape);
    return svg;
  }

  let lastUid = 0;
  /** A name unique in the page, for `aria-labelledby` and `for`. */
  const uid = (prefix) => `${prefix}-${(lastUid += 1)}`;

  /** About so long: readers do not ask together. */
  const spread = (ms) => ms * (0.5 + Math.random());

  const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });
  const codePoints = (text) => [...text].length;
  const isFlag = (comment, flag) => Array.isArray(comment.flags) && comment.flags.includes(flag);
  const isGone = (comment) => !comment.author;
  const subjectName = (subject) => `${subject.type}/${subject.key}`;

  /** `article/a b` → `/v1/subjects/article/a%20b`; the key may hold slashes. */
  function subjectPath(name) {
    const cut = name.indexOf('/');
    const [type, key] = cut < 0 ? [name, ''] : [name.slice(0, cut), name.slice(cut + 1)];
    return `/v1/subjects/${encodeURIComponent(type)}/${encodeURIComponent(key)}`;
  }

  function newKey() {
    if (crypto.randomUUID) return crypto.randomUUID();
    // Pages without HTTPS have no randomUUID.
    return [...crypto.getRandomValues(new Uint8Array(16))]
      .map((byte) => byte.toString(16).padStart(2, '0')).join('');
  }

  function webAddress(text, protocols = ['http:', 'https:']) {
    try {
      const url = new URL(text, location.href);
      return protocols.includes(url.protocol) ? url.href : null;
    } catch {
      return null;
    }
  }

  /** Esc closes; not while an input method is composing. */
  function onEscape(node, close) {
    node.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      event.stopPropagation();
      close();
    });
  }

  // ---------------------------------------------------------------------------------------------
  // Safe HTML: the server sanitises; this allow-list is the second wall
  // ---------------------------------------------------------------------------------------------

  const SAFE_TAGS = new Set(('a b blockquote br code del em h1 h2 h3 h4 h5 h6 hr i li ol p pre s '
    + 'span strong sub sup ul table thead tbody tr th td').split(' '));
  const DROPPED_TAGS = new Set(('script style template iframe object embed svg math noscript '
    + 'textarea title xmp noembed noframes plaintext select form').split(' '));

  /** A fragment of freshly made nodes: nothing of the parsed tree itself reaches the page. */
  function safeHtml(html) {
    const template = document.createElement('template');
    template.innerHTML = html; // inert: nothing in a template loads or runs
    const fragment = document.createDocumentFragment();
    copySafe(template.content, fragment);
    return fragment;
  }

  function copySafe(from, to) {
    for (const node of from.childNodes) {
      if (node.nodeType === Node.TEXT_NODE) {
        to.append(node.data);
      } else if (node.nodeType === Node.ELEMENT_NODE) {
        const tag = node.localName;
        if (DROPPED_TAGS.has(tag)) continue;
        if (!SAFE_TAGS.has(tag)) {
          copySafe(node, to);
          continue;
        }
        const copy = document.createElement(tag);
        if (tag === 'a') copyLink(node, copy);
        if (tag === 'ol' && /^\d{1,6}$/.test(node.getAttribute('start') || '')) {
          copy.setAttribute('start', node.getAttribute('start'));
        }
        copySafe(node, copy);
        to.append(copy);
      }
    }
  }

  function copyLink(from, to) {
    const href = webAddress(from.getAttribute('href') || '', ['http:', 'https:', 'mailto:']);
    if (!href || !from.getAttribute('href')) return;
    to.setAttribute('href', href);
    to.setAttribute('rel', 'nofollow ugc noopener noreferrer');
    to.setAttribute('target', '_blank');
  }

  // ---------------------------------------------------------------------------------------------
  // Storage: JSON values; memory where the browser blocks it
  // ---------------------------------------------------------------------------------------------

  class Store {
    constructor(name) {
      this.memory = new Map();
      try {
        this.storage = window[name];
        this.storage.getItem('gailou');
      } catch {
        this.storage = null;
      }
    }

    get(key) {
      if (this.memory.has(key)) return this.memory.get(key);
      try {
        return JSON.parse(this.storage.getItem(key));
      } catch {
        return null;
      }
    }

    set(key, value) {
      try {
        this.storage.setItem(key, JSON.stringify(value));
        this.memory.delete(key);
      } catch {
        this.memory.set(key, value);
      }
    }

    remove(key) {
      this.memory.delete(key);
      try {
        this.storage.removeItem(key);
      } catch { /* nothing is stored there */ }
    }
  }

  const sessionStore = new Store('sessionStorage');
  const localStore = new Store('localStorage');

  /**
   * What the reader did a moment ago. A list may be a cached page a few seconds old, so it is
   * laid over every list for a short time; a reload right after posting must not lose the post.
   */
  class Recent {
    constructor(scope) {
      this.key = `gailou:recent:${scope}`;
    }

    entries() {
      const now = Date.now();
      const all = sessionStore.get(this.key) || {};
      return Object.fromEntries(Object.entries(all).filter(([, entry]) => entry.until > now));
    }

    put(kind, id, value, forMs) {
      sessionStore.set(this.key, {
        ...this.entries(),
        [`${kind}:${id}`]: { value, until: Date.now() + forMs },
      });
    }

    get(kind, id) {
      const entry = this.entries()[`${kind}:${id}`];
      return entry ? entry.value : null;
    }

    remove(kind, id) {
      const entries = this.entries();
      delete entries[`${kind}:${id}`];
      sessionStore.set(this.key, entries);
    }

    posts() {
      return Object.entries(this.entries())
        .filter(([key]) => key.startsWith('post:'))
        .map(([, entry]) => entry.value);
    }

    /** A comment from a list with the reader's own later changes. */
    over(comment) {
      let result = comment;
      const edit = this.get('edit', comment.id);
      if (edit && (edit.edited_at || 0) > (comment.edited_at || 0)) {
        const { content, html, flags, edited_at } = edit;
        result = { ...result, content, html, flags, edited_at };
      }
      const counts = this.get('counts', comment.id);
      if (counts) result = { ...result, ...counts };
      if (this.get('gone', comment.id)) result = tombstone(result);
      return result;
    }
  }

  function tombstone(comment) {
    return {
      ...comment, state: 'deleted', content: '', html: '', author: null, mentions: [], media: [],
    };
  }

  // ---------------------------------------------------------------------------------------------
  // API
  // ---------------------------------------------------------------------------------------------

  /** An answer that is not a success, or no answer (`code` is `network`, `status` 0). */
  class Problem extends Error {
    constructor({ status = 0, code = 'network', detail = '', errors = [], retryAfterMs = 0 }) {
      super(detail || code);
      Object.assign(this, { status, code, detail, errors, retryAfterMs });
    }

    /** The write may have happened: only the same key makes sending it again safe. */
    get outcomeUnknown() {
      return this.status === 0 || [502, 503, 504].includes(this.status);
    }

    /** Sending the same again may succeed. */
    get canRepeat() {
      return this.outcomeUnknown || this.status === 429 || this.status >= 500;
    }

    categories() {
      return [...new Set(this.errors.map((error) => error.category || error.detail))]
        .filter(Boolean).join(', ');
    }

    field(name) {
      const error = this.errors.find((each) => each.field === name);
      return error ? error.detail : null;
    }
  }

  class Api {
    constructor(base, identity) {
      this.base = base;
      this.identity = identity;
    }

    /** Resolves to `{status, data, stale}`; rejects with a `Problem`, or an abort by `signal`. */
    async call(method, path, { body, key, auth = false, pastCaches = false, signal } = {}) {
      const headers = { Accept: 'application/json' };
      if (body !== undefined) headers['Content-Type'] = 'application/json';
      if (key) headers['Idempotency-Key'] = key;
      if (auth && this.identity.token) headers.Authorization = `Bearer ${this.identity.token}`;
      const answer = await this.send(path, {
        method,
        headers,
        body: body === undefined ? undefined : JSON.stringify(body),
        // 'reload' sends `Cache-Control: no-cache` without making the request need a preflight.
        cache: pastCaches ? 'reload' : 'default',
      }, signal);
      if (!answer.response.ok) throw problemOf(answer);
      return {
        status: answer.response.status,
        data: answer.data,
        stale: answer.response.headers.get('X-Gailou-Stale') === '1',
      };
    }

    async send(path, init, signal) {
      const timeout = new AbortController();
      const limit = init.method === 'GET' ? READ_TIMEOUT_MS : WRITE_TIMEOUT_MS;
      const timer = setTimeout(() => timeout.abort(), limit);
      const stop = () => timeout.abort();
      if (signal) signal.addEventListener('abort', stop);
      try {
        const response = await fetch(this.base + path, { ...init, signal: timeout.signal });
        const text = await response.text();
        return { response, data: parseJson(text) };
      } catch (error) {
        if (signal && signal.aborted) throw error;
        throw new Problem({ detail: error.message });
      } finally {
        clearTimeout(timer);
        if (signal) signal.removeEventListener('abort', stop);
      }
    }
  }

  function parseJson(text) {
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  }

  function problemOf({ response, data }) {
    const body = data || {};
    const fallback = response.status >= 502 ? 'unavailable' : 'internal';
    return new Problem({
      status: response.status,
      code: body.code || fallback,
      detail: body.detail || body.title || '',
      errors: Array.isArray(body.errors) ? body.errors : [],
      retryAfterMs: retryAfterMs(response.headers.get('Retry-After')),
    });
  }

  function retryAfterMs(value) {
    if (!value) return 0;
    if (/^\d+$/.test(value)) return Number(value) * 1000;
    const at = Date.parse(value);
    return Number.isNaN(at) ? 0 : Math.max(0, at - Date.now());
  }

  /** Repeats `attempt` while its outcome is unknown; `attempt` must be safe to repeat. */
  async function withRetries(attempt, onWait) {
    for (let tries = 0; ; tries += 1) {
      try {
        return await attempt();
      } catch (problem) {
        if (!(problem instanceof Problem) || !problem.outcomeUnknown) throw problem;
        const backoff = 1000 * 2 ** tries * (0.8 + 0.4 * Math.random());
        const wait = Math.max(problem.retryAfterMs, backoff);
        if (tries >= RETRIES_MAX || wait > RETRY_WAIT_MAX_MS) throw problem;
        onWait(wait, tries + 1);
        await sleep(wait);
      }
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Identity: the host's token, else a guest's
  // ---------------------------------------------------------------------------------------------

  class Identity {
    constructor(base) {
      this.key = `gailou:guest:${base}`;
      this.hostToken = null;
      this.refused = null; // a host token the server did not accept
    }

    get guest() {
      return localStore.get(this.key);
    }

    get isHost() {
      return Boolean(this.hostToken);
    }

    get token() {
      if (this.hostToken) return this.hostToken;
      return this.guest ? this.guest.token : null;
    }

    /** What is known of the reader, in the shape of a comment's `author`. */
    get member() {
      if (this.hostToken) {
        const claims = tokenClaims(this.hostToken);
        return { id: claims.sub, name: claims.name, avatar: claims.avatar, level: claims.level };
      }
      return this.guest ? this.guest.member : null;
    }

    async createGuest(api, name) {
      const { data } = await api.call('POST', '/v1/guests', { body: { name } });
      localStore.set(this.key, { token: data.token, member: data.member });
    }

    dropGuest() {
      localStore.remove(this.key);
    }
  }

  /** The claims of a JWT, unverified: for display only. */
  function tokenClaims(token) {
    try {
      const part = token.split('.')[1].replace(/-/g, '+').replace(/_/g, '/');
      const bytes = Uint8Array.from(atob(part), (char) => char.charCodeAt(0));
      return JSON.parse(new TextDecoder().decode(bytes));
    } catch {
      return {};
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Paging
  // ---------------------------------------------------------------------------------------------

  /** Follows a list's cursors; gives each comment once, whatever the cursors go through. */
  class Walk {
    constructor(api, path, query) {
      Object.assign(this, { api, path, query });
      this.cursor = null;
      this.started = false;
      this.ended = false;
      this.seen = new Set();
    }

    /**
     * The next page that shows something new, or the last one:
     * `{items, subject, epoch, stale, ended}`. Pages may be empty while there is more.
     */
    async next(signal, pastCaches = false) {
      let page = null;
      for (let pages = 0; pages < EMPTY_PAGES_MAX && !this.ended; pages += 1) {
        page = await this.page(signal, pastCaches);
        if (page.items.length > 0) break;
      }
      return page || { items: [], ended: true };
    }

    async page(signal, pastCaches) {
      const answer = await this.fetch(signal, pastCaches);
      const { data, page, subject } = answer.data;
      this.cursor = page.next;
      this.started = true;
      this.ended = !page.next;
      const items = data.filter((comment) => !this.seen.has(comment.id));
      items.forEach((comment) => this.seen.add(comment.id));
      return { items, subject, epoch: Number(page.epoch), stale: answer.stale, ended: this.ended };
    }

    async fetch(signal, pastCaches) {
      try {
        return await this.api.call('GET', this.address(), { signal, pastCaches });
      } catch (problem) {
        // The cursor's snapshot is gone: once more from the top, past every cache.
        if (!this.cursor || !['cursor_expired', 'bad_cursor'].includes(problem.code)) throw problem;
        this.cursor = null;
        this.query = { ...this.query, limit: 100 }; // most of it has been shown already
        return this.api.call('GET', this.address(), { signal, pastCaches: true });
      }
    }

    address() {
      const query = new URLSearchParams(this.query);
      if (this.cursor) query.set('cursor', this.cursor);
      return `${this.path}?${query}`;
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Composer: the form for a new comment, a reply or an edit
  // ---------------------------------------------------------------------------------------------

  /**
   * `options`: `parent` (a comment) for a reply, `edit` (a comment) for an edit, `close` for the
   * forms that can be closed. A draft with its idempotency key lives in the session, so a post
   * whose outcome is unknown stays safe to repeat even after a reload.
   */
  class Composer {
    constructor(host, { parent = null, edit = null, close = null } = {}) {
      Object.assign(this, { host, parent, edit, close });
      this.busy = false;
      this.asksName = false;
      const draftOf = `${host.api.base}|${host.subject}|${parent ? parent.id : ''}`;
      this.draftKey = edit ? null : `gailou:draft:${draftOf}`;
      this.build();
      this.restoreDraft();
      this.showIdentity();
      this.showCount();
      if (close) onEscape(this.form, close);
    }

    build() {
      const { text } = this.host.locale;
      const ids = { area: uid('text'), name: uid('name'), error: uid('error') };
      this.nameError = h('p', { class: 'error', role: 'alert', id: uid('error') });
      this.name = h('input', {
        id: ids.name, maxlength: NAME_MAX, autocomplete: 'nickname',
        placeholder: text.namePlaceholder, 'aria-describedby': this.nameError.id,
        oninput: () => this.clearError(this.name, this.nameError),
      });
      this.nameRow = h('div', { hidden: true },
        h('div', { class: 'name' }, h('label', { for: ids.name }, text.yourName), this.name),
        this.nameError);
      this.error = h('p', { class: 'error', role: 'alert', id: ids.error });
      this.progress = h('p', { class: 'progress', role: 'status' });
      this.area = h('textarea', {
        id: ids.area, rows: 3, placeholder: this.parent ? this.label() : text.placeholder,
        'aria-describedby': ids.error,
        oninput: () => this.onInput(),
        onkeydown: (event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.submit();
        },
      });
      this.who = h('span', { class: 'who' });
      this.counter = h('span', { class: 'counter' });
      this.button = h('button', { type: 'submit', class: 'button primary' }, this.buttonText());
      this.form = h('form', {
        class: 'composer', novalidate: true,
        onsubmit: (event) => {
          event.preventDefault();
          this.submit();
        },
      },
      h('label', { class: 'sr', for: ids.area }, this.label()), this.nameRow, this.area,
      this.error, this.progress,
      h('div', { class: 'bar' }, this.who, this.counter, this.cancelButton(), this.button));
    }

    label() {
      const { text } = this.host.locale;
      if (this.edit) return text.editComment;
      return this.parent ? text.writeReply(this.host.nameOf(this.parent)) : text.write;
    }

    buttonText() {
      const { text } = this.host.locale;
      if (this.edit) return text.save;
      return this.parent ? text.reply : text.post;
    }

    cancelButton() {
      if (!this.close) return null;
      const { text } = this.host.locale;
      return h('button', { type: 'button', class: 'button', onclick: this.close }, text.cancel);
    }

    restoreDraft() {
      this.intent = null;
      if (this.edit) {
        this.area.value = this.edit.content;
        return;
      }
      const draft = sessionStore.get(this.draftKey);
      if (!draft) return;
      this.area.value = draft.text;
      if (draft.key) this.intent = { text: draft.text.trim(), key: draft.key };
    }

    saveDraft() {
      if (!this.draftKey) return;
      const text = this.area.value;
      const key = this.intent && this.intent.text === text.trim() ? this.intent.key : null;
      if (text) sessionStore.set(this.draftKey, { text, key });
      else sessionStore.remove(this.draftKey);
    }

    onInput() {
      this.clearError(this.area, this.error);
      if (!this.busy) this.button.textContent = this.buttonText();
      this.saveDraft();
      this.showCount();
    }

    showCount() {
      const used = codePoints(this.area.value);
      this.counter.hidden = used < CONTENT_WARN;
      this.counter.textContent = this.host.locale.text.counter(CONTENT_MAX - used);
      this.counter.classList.toggle('over', used > CONTENT_MAX);
    }

    /** The line "posting as …", or the field for a name. */
    showIdentity() {
      const { text } = this.host.locale;
      const { member, isHost } = this.host.identity;
      this.asksName = !member && !this.edit;
      this.nameRow.hidden = !this.asksName;
      this.who.replaceChildren();
      if (!member || this.edit) return;
      this.who.append(text.postingAs(member.name || text.anonymous));
      if (isHost) return;
      this.who.append(h('button', {
        type: 'button', class: 'link', 'aria-label': text.changeName,
        onclick: () => this.changeName(member.name),
      }, text.change));
    }

    changeName(name) {
      this.host.identity.dropGuest();
      this.host.identityChanged();
      this.askName(name);
    }

    askName(name) {
      this.showIdentity();
      this.name.value = this.name.value || name || '';
      this.name.focus();
    }

    clearError(input, message) {
      message.textContent = '';
      input.removeAttribute('aria-invalid');
    }

    showError(input, message, sentence) {
      this.progress.textContent = '';
      message.textContent = sentence;
      input.setAttribute('aria-invalid', 'true');
      input.focus();
    }

    /** False, with the field marked, when something the server would refuse is plain to see. */
    isComplete() {
      const { text } = this.host.locale;
      const content = this.area.value.trim();
      let mistake = null;
      if (!content) mistake = text.needText;
      else if (codePoints(content) > CONTENT_MAX) mistake = text.tooLong;
      if (mistake) {
        this.showError(this.area, this.error, mistake);
        return false;
      }
      if (this.asksName && !this.name.value.trim()) {
        this.showError(this.name, this.nameError, text.needName);
        return false;
      }
      return true;
    }

    async submit() {
      if (this.busy || !this.isComplete()) return;
      this.setBusy(true);
      this.clearError(this.area, this.error);
      const content = this.area.value.trim();
      const name = this.name.value.trim();
      const sending = this.edit ? null : this.host.showSending(content, this.parent, name);
      try {
        const answer = await withRetries(() => this.attempt(content, name),
          (wait, tries) => this.showWaiting(wait, tries));
        this.succeed(answer, sending);
      } catch (problem) {
        if (sending) sending.remove();
        this.fail(problem);
      }
    }

    async attempt(content, name) {
      const { host } = this;
      if (this.edit) {
        return host.api.call('PATCH', `/v1/comments/${this.edit.id}`,
          { body: { content }, auth: true });
      }
      if (!host.identity.member) {
        await host.identity.createGuest(host.api, name);
        host.identityChanged();
      }
      if (!this.intent || this.intent.text !== content) {
        this.intent = { text: content, key: newKey() };
      }
      this.saveDraft();
      const body = this.parent ? { content, parent_id: this.parent.id } : { content };
      return host.api.call('POST', `${subjectPath(host.subject)}/comments`,
        { body, key: this.intent.key, auth: true });
    }

    showWaiting(wait, tries) {
      const { text } = this.host.locale;
      this.progress.textContent = text.retrying(Math.ceil(wait / 1000), tries);
    }

    setBusy(busy) {
      const { text } = this.host.locale;
      this.busy = busy;
      this.area.readOnly = busy;
      this.name.readOnly = busy;
      // Not `disabled`: that would take the focus away from a keyboard.
      this.button.setAttribute('aria-disabled', String(busy));
      this.button.textContent = busy ? text.sending : this.buttonText();
      if (busy) this.progress.textContent = '';
    }

    succeed(answer, sending) {
      this.setBusy(false);
      this.progress.textContent = '';
      if (this.edit) {
        this.host.edited(answer.data);
        this.close();
        return;
      }
      this.intent = null;
      this.area.value = '';
      this.saveDraft();
      this.showCount();
      if (this.close) this.close();
      this.host.posted(answer.data, sending);
    }

    fail(problem) {
      this.setBusy(false);
      if (!(problem instanceof Problem)) throw problem;
      if (problem.code === 'idempotency_mismatch') this.intent = null;
      if (problem.canRepeat) this.button.textContent = this.host.locale.text.retry;
      const guest = this.host.identity.guest;
      if (this.host.signInLost(problem)) {
        this.askName(guest && guest.member.name);
        if (this.asksName) {
          this.showError(this.name, this.nameError, this.host.locale.text.errors.guest_expired);
          return;
        }
      }
      if (problem.code === 'subject_closed') this.host.close();
      this.showProblem(problem);
    }

    showProblem(problem) {
      const { locale } = this.host;
      const sentence = locale.problem(problem);
      const onName = this.asksName && problem.field('name');
      if (onName) {
        this.showError(this.name, this.nameError, onName);
        return;
      }
      const details = problem.code === 'content_rejected' ? [] : problem.errors;
      const detail = details.map((error) => error.detail).filter(Boolean).join(' ');
      const parts = [sentence, detail, locale.text.keptText];
      this.showError(this.area, this.error, parts.filter(Boolean).join(' '));
      this.error.dataset.code = problem.code;
    }
  }

  /** Asks for a guest's name where a reaction needs one; resolves to whether there is one now. */
  function askGuestName(host, slot) {
    const { text } = host.locale;
    return new Promise((resolve) => {
      const id = uid('name');
      const input = h('input', { id, maxlength: NAME_MAX, autocomplete: 'nickname' });
      const error = h('p', { class: 'error', role: 'alert' });
      const finish = (done) => {
        slot.replaceChildren();
        resolve(done);
      };
      const form = h('form', {
        class: 'composer',
        onsubmit: async (event) => {
          event.preventDefault();
          const name = input.value.trim();
          if (!name) {
            error.textContent = text.needName;
            return;
          }
          try {
            await host.identity.createGuest(host.api, name);
            host.identityChanged();
            finish(true);
          } catch (problem) {
            error.textContent = problem.field('name') || host.locale.problem(problem);
          }
        },
      },
      h('div', { class: 'name' }, h('label', { for: id }, text.nameToReact), input), error,
      h('div', { class: 'bar' }, h('span', { class: 'who' }),
        h('button', { type: 'button', class: 'button', onclick: () => finish(false) }, text.cancel),
        h('button', { type: 'submit', class: 'button primary' }, text.continue)));
      onEscape(form, () => finish(false));
      slot.replaceChildren(form);
      input.focus();
    });
  }

  // ---------------------------------------------------------------------------------------------
  // Parts of a comment
  // ---------------------------------------------------------------------------------------------

  function avatar(author, name) {
    const node = h('div', { class: 'avatar', 'aria-hidden': 'true' });
    node.append([...name][0] ? [...name][0].toUpperCase() : '·');
    const id = author && author.id ? author.id : '0';
    // One lightness for every hue keeps the white letter at 4.5:1 and better.
    node.style.background = `oklch(0.48 0.09 ${hueOf(id)})`;
    const address = author && author.avatar ? webAddress(author.avatar) : null;
    if (address) {
      const image = h('img', {
        alt: '', loading: 'lazy', referrerpolicy: 'no-referrer', onerror: () => image.remove(),
        onload: () => node.replaceChildren(image),
      });
      image.src = address;
      node.append(image);
    }
    return node;
  }

  function hueOf(id) {
    let hash = 0;
    for (const char of String(id)) hash = (hash * 31 + char.charCodeAt(0)) % 100_003;
    return (hash * 47) % 360;
  }

  function timeLink(host, comment, id) {
    const { locale } = host;
    const at = new Date(comment.created_at);
    return h('a', { class: 'when', href: `#comment-${comment.id}`, id },
      h('time', { datetime: at.toISOString(), title: locale.full.format(at) },
        locale.ago(comment.created_at)));
  }

  function bodyOf(host, comment) {
    if (isGone(comment)) return h('div', { class: 'body gone' }, host.locale.text.deleted);
    if (!comment.html) return h('div', { class: 'body plain', dir: 'auto' }, comment.content || '');
    const body = h('div', { class: 'body', dir: 'auto' });
    body.append(safeHtml(comment.html));
    for (const item of comment.media || []) {
      const address = item && item.url ? webAddress(item.url) : null;
      if (address) body.append(h('div', { class: 'media' }, mediaImage(item, address)));
    }
    return body;
  }

  function mediaImage(item, address) {
    return h('img', {
      src: address, alt: '', loading: 'lazy', referrerpolicy: 'no-referrer',
      width: item.width, height: item.height,
    });
  }

  // ---------------------------------------------------------------------------------------------
  // Chain: a conversation as a building, the ground floor first
  // ---------------------------------------------------------------------------------------------

  function chainOf(host, comments, { markLast = true } = {}) {
    const list = h('ol', { class: 'chain', 'aria-label': host.locale.text.buildingLabel });
    const floors = comments.map((comment, index) => () => {
      const last = index === comments.length - 1;
      const node = chainFloor(host, comment, index + 1, markLast && last);
      const above = Math.min(comments.length - 1 - index, 6);
      node.style.setProperty('--inset', `${above * 3}px`);
      return node;
    });
    if (floors.length <= CHAIN_HEAD + CHAIN_TAIL + 1) {
      list.append(...floors.map((make) => make()));
      return list;
    }
    const middle = floors.slice(CHAIN_HEAD, -CHAIN_TAIL);
    list.append(...floors.slice(0, CHAIN_HEAD).map((make) => make()), chainGap(host, middle),
      ...floors.slice(-CHAIN_TAIL).map((make) => make()));
    return list;
  }

  function chainFloor(host, comment, number, marked) {
    const { text } = host.locale;
    return h('li', { class: marked ? 'me' : null, 'aria-current': marked ? 'true' : null },
      h('div', { class: 'head' },
        h('span', { class: 'author' }, host.nameOf(comment)),
        timeLink(host, comment),
        h('span', { class: 'storey' }, hidden(text.storeyLabel(number)),
          h('span', { 'aria-hidden': 'true' }, text.storey(number)))),
      bodyOf(host, comment));
  }

  /** The collapsed middle; a press reveals the next floors and keeps the focus in place. */
  function chainGap(host, floors) {
    const gap = h('li', { class: 'middle' });
    const button = h('button', { type: 'button', class: 'link' });
    const label = () => { button.textContent = host.locale.text.moreFloors(floors.length); };
    button.addEventListener('click', () => {
      const nodes = floors.splice(0, CHAIN_STEP).map((make) => make());
      gap.before(...nodes);
      nodes[0].querySelector('a').focus();
      label();
      if (floors.length === 0) gap.remove();
    });
    label();
    gap.append(button);
    return gap;
  }

  // ---------------------------------------------------------------------------------------------
  // Comment
  // ---------------------------------------------------------------------------------------------

  const NOTHING_MINE = Object.freeze({ reaction: null, can_edit: false, can_delete: false });

  /**
   * One comment on the page. `node` is its list item; the parts are made once and patched, so the
   * focus and open forms survive every update. Replies live in `children`.
   */
  class CommentView {
    constructor(host, comment, scope) {
      Object.assign(this, { host, comment, scope });
      this.mine = host.mine.get(comment.id) || NOTHING_MINE;
      this.isPinned = false;
      this.stays = false; // put here by the reader or live: a list may not hold it yet
      this.walk = null;
      this.wanted = null;
      this.reacting = false;
      this.build();
      this.render();
    }

    build() {
      const { text } = this.host.locale;
      const ids = { author: uid('author'), when: uid('when'), floor: uid('floor') };
      this.avatar = h('div', { class: 'avatar' });
      this.author = h('span', { class: 'author', id: ids.author });
      this.when = timeLink(this.host, this.comment, ids.when);
      this.edited = h('span', { class: 'edited' }, text.edited);
      this.floor = h('span', { class: 'floor', id: ids.floor });
      this.head = h('div', { class: 'head' }, this.author, this.when, this.edited, this.floor);
      this.answer = h('p', { class: 'answer', hidden: true });
      this.state = h('p', { class: 'state' });
      this.body = h('div');
      this.buildActions();
      this.message = h('p', { class: 'error', role: 'alert' });
      this.prompt = h('div'); // a guest's name, when a reaction needs one
      this.slot = h('div'); // the open form
      this.chain = h('div');
      this.article = h('article', {
        tabindex: -1, 'data-id': this.comment.id,
        'aria-labelledby': `${ids.author} ${ids.floor} ${ids.when}`,
      }, this.avatar, h('div', { class: 'main' }, this.head, this.answer, this.state, this.chain,
        this.body, this.actions, this.message, this.prompt, this.slot));
      this.children = h('ol', { class: 'replies', role: 'list' });
      this.more = h('button', {
        type: 'button', class: 'link more-replies', hidden: true, onclick: () => this.expand(),
      });
      this.node = h('li', { class: 'item' }, this.article, this.children, this.more);
    }

    buildActions() {
      const { text } = this.host.locale;
      const action = (label, onclick, name = '') =>
        h('button', { type: 'button', class: `act ${name}`, onclick }, label);
      this.like = this.reactionButton('like');
      this.dislike = this.reactionButton('dislike');
      this.replyButton = action(text.reply, () => this.openReply(), 'reply');
      this.buildingButton = action('', () => this.toggleBuilding(), 'building');
      this.buildingButton.setAttribute('aria-expanded', 'false');
      this.editButton = action(text.edit, () => this.openEdit(), 'edit');
      this.deleteButton = action(text.delete, () => this.confirmDelete(), 'delete');
      this.actions = h('div', { class: 'actions' }, this.like.button, this.dislike.button,
        this.replyButton, this.buildingButton, this.editButton, this.deleteButton);
    }

    reactionButton(kind) {
      const count = h('span');
      const button = h('button', {
        type: 'button', class: `act ${kind}`, 'aria-pressed': 'false',
        onclick: () => this.react(kind),
      }, icon(THUMB), hidden(this.host.locale.text[kind]), ' ', count);
      return { button, count };
    }

    // --- showing -------------------------------------------------------------------------------

    update(comment) {
      this.comment = { ...this.comment, ...comment };
      this.render();
    }

    render() {
      const { comment, host } = this;
      const { text } = host.locale;
      const name = host.nameOf(comment);
      const gone = isGone(comment);
      const fresh = avatar(comment.author, gone ? '·' : name);
      this.avatar.replaceWith(fresh);
      this.avatar = fresh;
      this.author.textContent = name;
      this.renderBadges();
      this.edited.hidden = gone || !comment.edited_at;
      this.floor.textContent = comment.floor ? text.floor(comment.floor) : '';
      if (comment.floor) this.floor.title = text.floorLabel(comment.floor);
      this.state.textContent = this.stateText();
      this.state.hidden = !this.state.textContent;
      const body = bodyOf(host, comment);
      body.hidden = this.body.hidden;
      this.body.replaceWith(body);
      this.body = body;
      this.node.classList.toggle('sending', comment.state === 'sending');
      this.renderActions();
    }

    renderBadges() {
      const { comment, host } = this;
      const { text } = host.locale;
      this.head.querySelectorAll('.badge').forEach((badge) => badge.remove());
      const level = comment.author && comment.author.level;
      const badges = [];
      if (level) {
        const title = text.levelLabel(level);
        badges.push(h('span', { class: 'badge', title }, text.level(level)));
      }
      const pinned = this.isPinned || isFlag(comment, 'pinned') || isFlag(comment, 'owner_pinned');
      if (pinned) badges.push(h('span', { class: 'badge pinned' }, text.pinned));
      if (isFlag(comment, 'featured')) {
        badges.push(h('span', { class: 'badge featured' }, text.featured));
      }
      this.author.after(...badges);
    }

    stateText() {
      const { comment, host } = this;
      const { text } = host.locale;
      if (comment.state === 'sending') return text.sending;
      if (comment.state === 'review') return text.review;
      if (comment.state === 'rejected') return text.rejected;
      return comment.visibility === 'self' ? text.selfOnly : '';
    }

    renderActions() {
      const { comment, host, mine } = this;
      const live = comment.state === 'published';
      const open = host.isOpen;
      this.renderReactions();
      this.like.button.hidden = !live;
      this.dislike.button.hidden = !live;
      this.replyButton.hidden = !live || !open;
      const { text } = host.locale;
      this.replyButton.setAttribute('aria-label', text.writeReply(host.nameOf(comment)));
      this.editButton.hidden = !live || !mine.can_edit;
      this.deleteButton.hidden = isGone(comment) || comment.state === 'sending' || !mine.can_delete;
      const floors = comment.path ? comment.path.length : 1;
      this.buildingButton.hidden = floors <= 2 || comment.state === 'sending';
      const shown = this.buildingButton.getAttribute('aria-expanded') === 'true';
      this.buildingButton.textContent = shown ? text.hideBuilding : text.building(floors);
    }

    renderReactions() {
      const { locale } = this.host;
      for (const kind of ['like', 'dislike']) {
        const { button, count } = this[kind];
        const number = this.comment[`${kind}s`] || 0;
        count.textContent = number > 0 ? locale.compact.format(number) : '';
        button.setAttribute('aria-pressed', String(this.mine.reaction === kind));
      }
    }

    /** The line "replying to …", wherever the place in the list does not say it. */
    showAnswered(visible) {
      const { comment, host } = this;
      this.answer.hidden = !visible || !comment.reply_to;
      if (this.answer.hidden) return;
      this.answer.replaceChildren(`${host.locale.text.replyingTo} `,
        h('a', { href: `#comment-${comment.parent_id}` },
          comment.reply_to.name || host.locale.text.anonymous));
    }

    applyOverlay(mine) {
      this.mine = { ...this.mine, ...mine };
      this.renderActions();
    }

    setPinned() {
      this.isPinned = true;
      this.renderBadges();
    }

    setTarget(on) {
      this.node.classList.toggle('target', on);
    }

    focus() {
      this.article.focus();
    }

    // --- replies -------------------------------------------------------------------------------

    /** The first replies a list brings along, and whether there are more to ask for. */
    setReplies(replies, more) {
      const order = [...replies];
      // Parents first, so that a tree can draw an answer under what it answers.
      if (this.host.mode === 'tree') order.sort((a, b) => a.path.length - b.path.length);
      for (const reply of order) this.host.place(reply, this.scope);
      this.showMore(more > 0);
    }

    showMore(visible) {
      const { text } = this.host.locale;
      this.more.hidden = !visible;
      this.more.textContent = this.walk && this.walk.started
        ? text.moreReplies : text.showReplies(this.comment.replies || 0);
    }

    /** The next page of all replies, the oldest first; the first page takes over the top ones. */
    async expand() {
      if (this.more.getAttribute('aria-disabled') === 'true') return;
      this.more.setAttribute('aria-disabled', 'true');
      this.message.textContent = '';
      const { host } = this;
      try {
        this.walk = this.walk || new Walk(host.api, `/v1/comments/${this.comment.id}/replies`,
          { sort: 'old', limit: REPLIES_PER_PAGE });
        this.showReplies(await this.walk.next());
      } catch (problem) {
        host.report(problem, this);
      } finally {
        this.more.removeAttribute('aria-disabled');
      }
    }

    showReplies({ items, ended, stale }) {
      const { host, scope } = this;
      const kept = host.forgetReplies(this, items);
      const views = items.map((reply) => host.place(reply, scope)).filter(Boolean);
      kept.forEach((view) => host.seat(view));
      this.showMore(!ended);
      host.showStale(stale);
      host.announce(host.locale.text.repliesLoaded(views.length));
      if (views.length > 0) views[0].focus();
      host.loadOverlay(items.map((reply) => reply.id));
    }

    // --- the building --------------------------------------------------------------------------

    async toggleBuilding() {
      const shown = this.buildingButton.getAttribute('aria-expanded') === 'true';
      if (shown) {
        this.chain.replaceChildren();
      } else {
        try {
          const { data } = await this.host.api.call('GET',
            `/v1/comments/${this.comment.id}/ancestors`);
          const below = data.data.filter((each) => each.id !== this.comment.id);
          this.chain.replaceChildren(chainOf(this.host, [...below, this.comment]));
        } catch (problem) {
          this.host.report(problem, this);
          return;
        }
      }
      this.buildingButton.setAttribute('aria-expanded', String(!shown));
      this.body.hidden = !shown; // the top floor of the building is this comment
      this.renderActions();
    }

    // --- inline forms --------------------------------------------------------------------------

    openReply() {
      this.openForm({ parent: this.comment }, this.replyButton);
    }

    openEdit() {
      this.openForm({ edit: this.comment }, this.editButton);
      this.body.hidden = true;
    }

    openForm(options, opener) {
      const close = () => {
        this.host.composers.delete(composer);
        this.slot.replaceChildren();
        this.body.hidden = this.chain.childElementCount > 0;
        opener.focus();
      };
      const composer = new Composer(this.host, { ...options, close });
      this.host.composers.add(composer);
      this.slot.replaceChildren(composer.form);
      composer.area.focus();
    }

    confirmDelete() {
      const { text } = this.host.locale;
      const close = () => {
        this.slot.replaceChildren();
        this.deleteButton.focus();
      };
      const yes = h('button', {
        type: 'button', class: 'button danger',
        onclick: () => {
          yes.setAttribute('aria-disabled', 'true');
          this.host.deleteComment(this);
        },
      }, text.delete);
      const panel = h('div', { class: 'confirm', role: 'group', 'aria-label': text.confirmDelete },
        h('span', {}, text.confirmDelete), yes,
        h('button', { type: 'button', class: 'button', onclick: close }, text.cancel));
      onEscape(panel, close);
      this.slot.replaceChildren(panel);
      yes.focus();
    }

    // --- reactions -----------------------------------------------------------------------------

    reactions() {
      const { likes = 0, dislikes = 0 } = this.comment;
      return { likes, dislikes, reaction: this.mine.reaction };
    }

    /**
     * Shows the wish at once and sends it; of presses made meanwhile the last one is sent too. An
     * error takes everything back to what the server last confirmed.
     */
    async react(kind) {
      const { host } = this;
      this.message.textContent = '';
      if (!host.identity.token && !(await host.becomeMember(this))) return;
      const before = this.reactions();
      this.wanted = before.reaction === kind ? null : kind;
      host.patchReaction(this.comment.id, shifted(before, this.wanted));
      if (!this.reacting) await this.sendReaction(before);
    }

    async sendReaction(before) {
      const { host, comment } = this;
      let confirmed = before;
      let sent;
      this.reacting = true;
      try {
        do {
          sent = this.wanted;
          confirmed = await host.sendReaction(comment.id, sent, confirmed);
        } while (this.wanted !== sent);
      } catch (problem) {
        host.report(problem, this);
      } finally {
        this.reacting = false;
        host.patchReaction(comment.id, confirmed);
      }
    }
  }

  /** Counts as they will be once `wanted` is the reader's reaction. */
  function shifted({ likes, dislikes, reaction }, wanted) {
    const change = (kind) => Number(wanted === kind) - Number(reaction === kind);
    return {
      likes: Math.max(0, likes + change('like')),
      dislikes: Math.max(0, dislikes + change('dislike')),
      reaction: wanted,
    };
  }

  // ---------------------------------------------------------------------------------------------
  // Element
  // ---------------------------------------------------------------------------------------------

  /** The views under one list element, by comment id: no id is shown twice in it. */
  class Scope {
    constructor(list) {
      this.list = list;
      this.views = new Map();
    }

    clear() {
      this.list.replaceChildren();
      this.views.clear();
    }
  }

  class GailouComments extends HTMLElement {
    static observedAttributes = ['subject', 'api', 'lang', 'sort', 'token', 'live'];

    constructor() {
      super();
      this.attachShadow({ mode: 'open' });
      this.shadowRoot.adoptedStyleSheets = [styleSheet()];
      this.restartQueued = false;
      this.onHash = () => this.followHash();
      this.onVisibility = () => this.updateLive();
    }

    connectedCallback() {
      window.addEventListener('hashchange', this.onHash);
      document.addEventListener('visibilitychange', this.onVisibility);
      this.clock = setInterval(() => this.updateTimes(), 60_000);
      this.takeEarlyToken();
      this.start();
    }

    disconnectedCallback() {
      window.removeEventListener('hashchange', this.onHash);
      document.removeEventListener('visibilitychange', this.onVisibility);
      clearInterval(this.clock);
      this.stop();
    }

    attributeChangedCallback(name, before, after) {
      if (before === after || !this.isConnected || !this.api) return;
      if (name === 'token') this.token = after;
      else if (name === 'live') this.updateLive();
      else if (name === 'sort') this.setSort(after);
      else this.queueRestart();
    }

    /** The host's token; may be set at any time. */
    get token() {
      return this.identity ? this.identity.hostToken : null;
    }

    set token(value) {
      if (!this.identity) {
        this.earlyToken = value;
        return;
      }
      this.identity.hostToken = value || null;
      this.identityChanged();
    }

    /** A `token` property set before the element was defined hides the accessor. */
    takeEarlyToken() {
      if (!Object.prototype.hasOwnProperty.call(this, 'token')) return;
      this.earlyToken = this.token;
      delete this.token;
    }

    queueRestart() {
      if (this.restartQueued) return;
      this.restartQueued = true;
      queueMicrotask(() => {
        this.restartQueued = false;
        if (this.isConnected) this.start();
      });
    }

    // --- starting ------------------------------------------------------------------------------

    start() {
      this.stop();
      const base = (this.getAttribute('api') || SCRIPT_ORIGIN).replace(/\/$/, '');
      const tag = this.getAttribute('lang') || document.documentElement.lang || navigator.language;
      const hostToken = this.token || this.earlyToken || this.getAttribute('token') || null;
      this.subject = this.getAttribute('subject') || '';
      this.locale = new Locale(tag);
      this.identity = new Identity(base);
      this.identity.hostToken = hostToken;
      this.api = new Api(base, this.identity);
      this.recent = new Recent(`${base}|${this.subject}`);
      this.sort = SORTS.includes(this.getAttribute('sort')) ? this.getAttribute('sort') : 'hot';
      Object.assign(this, {
        info: null, mine: new Map(), reactedAt: new Map(), composers: new Set(),
        arrived: new Set(), isBehind: false, version: 0, listenWaitMs: LISTEN_WAIT_MS,
        walk: null, linked: null, linkNotice: '', loading: null, loadingMore: false,
      });
      this.build();
      if (this.subject && !this.followHash()) this.loadFirst();
    }

    stop() {
      if (this.loading) this.loading.abort();
      if (this.observer) this.observer.disconnect();
      clearTimeout(this.reloadTimer);
      this.closeLive();
    }

    build() {
      const { text } = this.locale;
      const titleId = uid('title');
      this.heading = h('h2', { id: titleId }, text.titleNone);
      this.sorts = this.buildSorts();
      this.staleNote = h('p', { class: 'note', role: 'status', hidden: true }, text.stale);
      this.notice = h('p', { class: 'note', role: 'status', hidden: true });
      this.composer = new Composer(this);
      this.composers.add(this.composer);
      this.arrivedButton = h('button', {
        type: 'button', class: 'button fresh', hidden: true, onclick: () => this.showArrived(),
      });
      this.linkedPanel = h('div', { class: 'linked', hidden: true });
      this.main = new Scope(h('ol', { class: 'list', role: 'list' }));
      this.empty = h('p', { class: 'empty', hidden: true }, text.empty);
      this.skeleton = h('div', { class: 'skeleton', role: 'status' }, hidden(text.loading),
        h('div'), h('div'), h('div'));
      this.foot = this.buildFoot();
      this.live = h('p', { class: 'sr', 'aria-live': 'polite' });
      this.served = h('slot');
      this.section = h('section', {
        'aria-labelledby': titleId, lang: this.locale.tag === 'zh' ? 'zh-CN' : 'en',
        hidden: Boolean(this.querySelector(SERVED)),
      },
      h('div', { class: 'top' }, this.heading, this.sorts.node), this.staleNote, this.notice,
      this.composer.form, this.arrivedButton, this.linkedPanel, this.main.list, this.empty,
      this.skeleton, this.foot, this.live);
      this.shadowRoot.replaceChildren(this.section, this.served);
      this.watchFoot();
    }

    /** Takes the place of what the server rendered, as high as that was. */
    takeOver() {
      if (!this.served) return;
      const served = this.querySelector(SERVED);
      if (served) this.style.minHeight = `${this.getBoundingClientRect().height}px`;
      this.section.hidden = false;
      this.served.remove();
      this.served = null;
      if (served) served.remove(); // its ids are the page's again
    }

    buildSorts() {
      const { text } = this.locale;
      const tabs = TAB_SORTS.map((sort) => h('button', {
        type: 'button', 'data-sort': sort, onclick: () => this.setSort(sort),
      }, text[sort]));
      const select = h('select', {
        'aria-label': text.moreSorts, onchange: () => this.setSort(select.value),
      },
      h('option', { value: '', disabled: true, hidden: true }, text.moreSorts),
      ...MORE_SORTS.map((sort) => h('option', { value: sort }, text[sort])));
      const node = h('div', { class: 'sorts', role: 'group', 'aria-label': text.sortLabel },
        ...tabs, select);
      this.sorts = { node, tabs, select };
      this.showSort();
      return this.sorts;
    }

    showSort() {
      const { tabs, select } = this.sorts;
      for (const tab of tabs) {
        tab.setAttribute('aria-pressed', String(tab.dataset.sort === this.sort));
      }
      const inMenu = MORE_SORTS.includes(this.sort);
      select.value = inMenu ? this.sort : '';
      select.classList.toggle('on', inMenu);
    }

    buildFoot() {
      this.footError = h('p', { class: 'error', role: 'alert' });
      this.footButton = h('button', {
        type: 'button', class: 'button', hidden: true, onclick: () => this.onFootButton(),
      });
      return h('div', { class: 'foot' }, this.footError, this.footButton);
    }

    /** Infinite scroll; the button stays for the keyboard and after an error. */
    watchFoot() {
      if (!window.IntersectionObserver) return;
      this.observer = new IntersectionObserver((entries) => {
        if (entries.some((entry) => entry.isIntersecting) && !this.footError.textContent) {
          this.loadMore();
        }
      }, { rootMargin: '600px' });
      this.observer.observe(this.foot);
    }

    setSort(sort) {
      if (!SORTS.includes(sort) || sort === this.sort) return;
      this.sort = sort;
      this.showSort();
      this.loadFirst();
    }

    // --- the list ------------------------------------------------------------------------------

    async loadFirst({ pastCaches = false } = {}) {
      const { signal } = this.newLoad();
      this.walk = null;
      this.showBusy(true);
      const walk = new Walk(this.api, `${subjectPath(this.subject)}/comments`,
        { sort: this.sort, limit: ROOTS_PER_PAGE });
      try {
        const page = await walk.next(signal, pastCaches);
        if (signal.aborted) return;
        this.walk = walk;
        this.showFirst(page);
      } catch (problem) {
        if (signal.aborted) return;
        this.showLoadError(problem);
      }
      this.showBusy(false);
    }

    newLoad() {
      if (this.loading) this.loading.abort();
      this.loading = new AbortController();
      if (!this.served) this.style.minHeight = '';
      return this.loading;
    }

    showBusy(busy) {
      const isEmpty = this.main.views.size === 0;
      this.skeleton.hidden = !busy || !isEmpty;
      this.main.list.classList.toggle('busy', busy);
      this.main.list.setAttribute('aria-busy', String(busy));
      if (busy) {
        this.empty.hidden = true;
        this.footError.textContent = '';
        this.footButton.hidden = true;
      }
    }

    showFirst(page) {
      this.main.clear();
      this.applySubject(page.subject);
      this.showPinned();
      this.showRoots(page.items);
      this.showRecent();
      this.isBehind = false;
      this.main.views.forEach((_, id) => this.arrived.delete(id));
      this.showArrivedCount();
      this.showStale(page.stale);
      this.updateFoot();
      this.takeOver();
      this.version = this.version || page.epoch;
      this.updateLive();
      this.loadOverlay([...this.main.views.keys()]);
    }

    async loadMore(byButton = false) {
      const { walk } = this;
      if (!walk || walk.ended || this.loadingMore || this.linked) return;
      const { signal } = this.loading;
      this.loadingMore = true;
      this.footError.textContent = '';
      this.footButton.setAttribute('aria-disabled', 'true');
      try {
        const page = await walk.next(signal);
        if (walk === this.walk) this.showNext(page, byButton);
      } catch (problem) {
        if (walk === this.walk && !signal.aborted) this.showLoadError(problem);
      } finally {
        this.loadingMore = false;
        this.footButton.removeAttribute('aria-disabled');
      }
    }

    showNext(page, byButton) {
      const views = this.showRoots(page.items);
      this.setCount(page.subject && page.subject.comments);
      this.showStale(page.stale);
      this.updateFoot();
      if (views.length > 0) this.announce(this.locale.text.commentsLoaded(views.length));
      if (byButton && views.length > 0) views[0].focus();
      this.loadOverlay(page.items.flatMap((comment) =>
        [comment.id, ...(comment.top_replies || []).map((reply) => reply.id)]));
    }

    onFootButton() {
      if (this.walk) this.loadMore(true);
      else this.loadFirst();
    }

    showLoadError(problem) {
      if (!(problem instanceof Problem)) throw problem;
      const { text } = this.locale;
      this.section.hidden = false; // above what the server rendered, which stays
      this.footError.textContent = `${text.loadFailed} ${this.locale.problem(problem)}`;
      this.footButton.textContent = text.tryAgain;
      this.footButton.hidden = false;
    }

    updateFoot() {
      const { text } = this.locale;
      this.footButton.textContent = text.loadMore;
      this.footButton.hidden = this.walk.ended;
      this.updateEmpty();
      // Observed anew, or a foot that never left the window would not be reported again.
      if (this.observer) {
        this.observer.unobserve(this.foot);
        this.observer.observe(this.foot);
      }
    }

    updateEmpty() {
      const some = this.main.list.childElementCount > 0;
      this.empty.hidden = some || Boolean(this.linked) || !this.walk || !this.walk.ended;
    }

    showPinned() {
      for (const comment of this.info.pinned || []) {
        const view = this.place(comment, this.main);
        view.setPinned();
        this.showThread(view, comment);
      }
    }

    showRoots(items) {
      return items.map((comment) => {
        const placed = this.place(comment, this.main);
        this.showThread(placed || this.main.views.get(comment.id), comment);
        return placed;
      }).filter(Boolean);
    }

    showThread(view, comment) {
      if (view.walk) return; // the reader has opened all of its replies already
      const replies = comment.top_replies || [];
      view.setReplies(replies, comment.more_replies || (replies.length ? 0 : comment.replies || 0));
    }

    applySubject(subject) {
      this.info = subject || this.info || {};
      this.setCount(this.info.comments);
      this.applyState();
    }

    get isOpen() {
      return !this.info || !this.info.state || this.info.state === 'open';
    }

    get mode() {
      return (this.info && this.info.mode) || 'two_level';
    }

    applyState() {
      const { text } = this.locale;
      const hiddenSubject = this.info && this.info.state === 'hidden';
      const state = hiddenSubject ? text.hiddenSubject : text.closed;
      this.notice.textContent = this.linkNotice || (this.isOpen ? '' : state);
      this.notice.hidden = !this.notice.textContent;
      // A text that is being written stays where its author can copy it.
      const writing = this.composer.area.value !== '';
      this.composer.form.hidden = Boolean(this.linked) || !(this.isOpen || writing);
    }

    close() {
      this.info = { ...this.info, state: 'closed' };
      this.applyState();
      this.eachView((view) => view.renderActions());
    }

    setCount(count) {
      if (typeof count !== 'number') return;
      const { text } = this.locale;
      this.count = count;
      this.heading.textContent = count > 0 ? text.title(count) : text.titleNone;
      this.emit('gailou:count', { subject: this.subject, count });
    }

    showStale(stale) {
      this.staleNote.hidden = !stale;
    }

    // --- placing comments ----------------------------------------------------------------------

    /**
     * Shows a comment where the subject's mode draws it. A comment already shown is patched; null
     * when it keeps the place it has.
     */
    place(comment, scope, { onTop = false } = {}) {
      const latest = this.recent.over(comment);
      const known = scope.views.get(comment.id);
      if (known) known.update(latest);
      if (known && (known.isPinned || (known.stays && !this.containerOf(known)))) return null;
      const view = known || new CommentView(this, latest, scope);
      scope.views.set(comment.id, view);
      view.stays = view.stays || onTop;
      this.seat(view, onTop);
      return view;
    }

    seat(view, onTop = false) {
      const container = this.containerOf(view);
      if (container) container.children.append(view.node);
      else if (onTop) view.scope.list.prepend(view.node);
      else view.scope.list.append(view.node);
      if (container) this.indent(container);
      const { comment } = view;
      const parentId = comment.parent_id;
      const besideParent = container && container.comment.id === parentId;
      view.showAnswered(Boolean(parentId) && !besideParent);
    }

    /** The view that a reply stands under: its drawn parent in a tree, else its root. */
    containerOf({ comment, scope }) {
      const above = (comment.path || []).slice(0, -1);
      const order = this.mode === 'tree'
        ? above.slice(0, Math.max(1, comment.level || above.length)).reverse()
        : above;
      const id = order.find((each) => scope.views.has(each));
      return id ? scope.views.get(id) : null;
    }

    /** Deep levels of a tree stop moving to the right. */
    indent(container) {
      const depth = (container.comment.path || []).length;
      container.children.classList.toggle('flat', depth > TREE_INDENT_MAX);
    }

    /**
     * Before the first page of all replies: takes away the top replies that it does not hold (they
     * come again in their place) and returns what stays, because the reader has just put it there.
     */
    forgetReplies(parent, items) {
      const parentId = parent.comment.id;
      const listed = new Set(items.map((comment) => comment.id));
      const kept = [];
      for (const [id, view] of parent.scope.views) {
        const below = id !== parentId && (view.comment.path || []).includes(parentId);
        if (!below || listed.has(id) || view.isPinned || parent.walk.seen.has(id)) continue;
        if (view.stays || view.slot.childElementCount > 0) {
          kept.push(view);
        } else {
          view.node.remove();
          parent.scope.views.delete(id);
        }
      }
      return kept;
    }

    get scopes() {
      return this.linked ? [this.linked, this.main] : [this.main];
    }

    get scope() {
      return this.linked || this.main;
    }

    viewsOf(id) {
      return this.scopes.map((scope) => scope.views.get(id)).filter(Boolean);
    }

    eachView(action) {
      for (const scope of this.scopes) scope.views.forEach(action);
    }

    nameOf(comment) {
      const { text } = this.locale;
      if (isGone(comment)) return text.deletedAuthor;
      return (comment.author && comment.author.name) || text.anonymous;
    }

    // --- the reader's own ----------------------------------------------------------------------

    /** Own posts of the last moments that the list, perhaps a cached page, does not show yet. */
    showRecent() {
      for (const comment of this.recent.posts()) {
        if (this.main.views.has(comment.id)) continue;
        this.place(comment, this.main, { onTop: true });
        this.checkRecent(comment.id);
      }
    }

    async checkRecent(id) {
      try {
        const { data } = await this.api.call('GET', `/v1/comments/${id}`, { auth: true });
        if (!isGone(data) && data.state !== 'rejected') {
          this.viewsOf(id).forEach((view) => view.update(this.recent.over(data)));
          return;
        }
      } catch (problem) {
        if (problem.status !== 404) return;
      }
      this.recent.remove('post', id);
      for (const view of this.viewsOf(id)) {
        view.node.remove();
        view.scope.views.delete(id);
      }
      this.updateEmpty();
    }

    /** Own reactions and rights for these comments, and own comments that no list shows yet. */
    async loadOverlay(ids) {
      const { token } = this.identity;
      if (!token || token === this.identity.refused) return;
      const startedAt = performance.now();
      const wanted = [...new Set(ids)];
      for (let at = 0; at === 0 || at < wanted.length; at += OVERLAY_IDS_MAX) {
        const part = wanted.slice(at, at + OVERLAY_IDS_MAX).join(',');
        try {
          const { data } = await this.api.call('GET', `/v1/me/overlay?ids=${part}`, { auth: true });
          if (token !== this.identity.token) return;
          this.applyOverlay(data, startedAt);
        } catch (problem) {
          this.signInLost(problem); // without an overlay the list is still readable
          return;
        }
      }
    }

    applyOverlay({ data, pending }, startedAt) {
      for (const [id, mine] of Object.entries(data || {})) {
        // A reaction given while this answer was under way is the newer one.
        const reacted = (this.reactedAt.get(id) || 0) > startedAt;
        const reaction = reacted ? (this.mine.get(id) || NOTHING_MINE).reaction : mine.reaction;
        this.setMine(id, { ...mine, reaction });
      }
      for (const comment of pending || []) {
        const known = this.scopes.some((scope) => scope.views.has(comment.id));
        if (known || subjectName(comment.subject) !== this.subject) continue;
        if (this.linked && !this.main.views.size) continue;
        this.setMine(comment.id, { can_edit: false, can_delete: true });
        this.place(comment, this.main, { onTop: true });
      }
      this.updateEmpty();
    }

    setMine(id, mine) {
      const merged = { ...NOTHING_MINE, ...this.mine.get(id), ...mine };
      this.mine.set(id, merged);
      this.viewsOf(id).forEach((view) => view.applyOverlay(merged));
    }

    identityChanged() {
      this.composers.forEach((composer) => composer.showIdentity());
      this.mine.clear();
      this.eachView((view) => view.applyOverlay(NOTHING_MINE));
      const ids = this.scopes.flatMap((scope) => [...scope.views.keys()]);
      this.loadOverlay(ids);
    }

    /** Forgets a token the server refuses; true when it was a guest's, who can be asked again. */
    signInLost(problem) {
      if (!['token_invalid', 'token_missing'].includes(problem.code)) return false;
      if (this.identity.isHost) {
        this.identity.refused = this.identity.hostToken;
        this.emit('gailou:sign-in', { code: problem.code });
        return false;
      }
      this.identity.dropGuest();
      this.identityChanged();
      return true;
    }

    async becomeMember(view) {
      const done = await askGuestName(this, view.prompt);
      view.like.button.focus();
      return done;
    }

    report(problem, view) {
      if (!(problem instanceof Problem)) throw problem;
      this.signInLost(problem);
      view.message.textContent = this.locale.problem(problem);
    }

    // --- writing -------------------------------------------------------------------------------

    /** The comment as it will look, until the server has answered. */
    showSending(content, parent, name) {
      const isRoot = !parent || this.mode === 'flat';
      const id = uid('sending');
      const view = new CommentView(this, {
        id, content, html: '', state: 'sending', flags: [], created_at: Date.now(),
        author: this.identity.member || { id: '0', name },
        parent_id: parent ? parent.id : null,
        reply_to: parent ? parent.author : null,
        path: isRoot ? [id] : [...parent.path, id],
        level: isRoot ? 0 : parent.path.length,
      }, this.scope);
      this.seat(view, true);
      this.empty.hidden = true;
      return view.node;
    }

    posted(comment, sending) {
      const { text } = this.locale;
      const held = comment.state !== 'published';
      sending.remove();
      if (!held) this.recent.put('post', comment.id, comment, RECENT_MS);
      this.setMine(comment.id, { can_edit: !held, can_delete: true });
      this.arrived.delete(comment.id);
      this.showArrivedCount();
      const isNew = this.viewsOf(comment.id).length === 0;
      const view = this.place(comment, this.scope, { onTop: true })
        || this.scope.views.get(comment.id);
      if (isNew && !held) this.setCount((this.count || 0) + 1);
      this.updateEmpty();
      this.announce(held ? text.held : text.posted);
      view.focus();
      this.emit('gailou:posted', { comment });
    }

    edited(comment) {
      this.recent.put('edit', comment.id, comment, RECENT_MS);
      this.viewsOf(comment.id).forEach((view) => view.update(comment));
      this.announce(this.locale.text.saved);
    }

    async deleteComment(view) {
      const { id } = view.comment;
      const counted = view.comment.state === 'published';
      try {
        await this.api.call('DELETE', `/v1/comments/${id}`, { auth: true });
      } catch (problem) {
        view.slot.replaceChildren();
        this.report(problem, view);
        return;
      }
      this.recent.put('gone', id, true, RECENT_MS);
      this.recent.remove('post', id);
      view.slot.replaceChildren();
      this.viewsOf(id).forEach((each) => each.update(tombstone(each.comment)));
      if (counted) this.setCount(Math.max(0, (this.count || 1) - 1));
      this.announce(this.locale.text.deletedNow);
      view.focus();
    }

    async sendReaction(id, wanted, confirmed) {
      if (wanted === confirmed.reaction) return confirmed;
      const method = wanted ? 'PUT' : 'DELETE';
      const kind = wanted || confirmed.reaction;
      const { data } = await this.api.call(method, `/v1/comments/${id}/${kind}`, { auth: true });
      const { likes, dislikes, reaction } = data;
      this.recent.put('counts', id, { likes, dislikes }, RECENT_COUNT_MS);
      return { likes, dislikes, reaction };
    }

    patchReaction(id, { likes, dislikes, reaction }) {
      this.reactedAt.set(id, performance.now());
      for (const view of this.viewsOf(id)) Object.assign(view.comment, { likes, dislikes });
      this.setMine(id, { reaction });
    }

    // --- one linked comment --------------------------------------------------------------------

    /** Shows the comment the address names; false when it names none. */
    followHash() {
      const match = /^#comment-(\d{1,20})$/.exec(location.hash);
      if (match) this.openLinked(match[1]);
      else if (this.linked) this.closeLinked();
      return Boolean(match);
    }

    async openLinked(id) {
      const { signal } = this.newLoad();
      this.linkNotice = '';
      this.showBusy(true);
      try {
        const answer = await this.api.call('GET', `/v1/comments/${id}/context`, { signal });
        const context = answer.data.data;
        if (subjectName(context.comment.subject) !== this.subject) {
          this.closeLinked(); // another thread of this page has it
          return;
        }
        this.showLinked(context, answer.stale);
        this.showBusy(false);
      } catch (problem) {
        if (!signal.aborted) this.linkFailed(problem);
      }
    }

    linkFailed(problem) {
      if (!(problem instanceof Problem)) throw problem;
      const { text } = this.locale;
      this.linkNotice = problem.status === 404 ? text.linkGone : this.locale.problem(problem);
      this.closeLinked();
    }

    showLinked({ ancestors = [], comment, siblings = [], root_page: page }, stale) {
      const { text } = this.locale;
      const list = h('ol', { role: 'list' });
      const nearby = h('ol', { role: 'list' });
      this.linked = new Scope(nearby);
      if (page && page.subject) this.applySubject(page.subject);
      const view = new CommentView(this, this.recent.over(comment), this.linked);
      this.linked.views.set(comment.id, view);
      list.append(view.node);
      view.setTarget(true);
      view.buildingButton.remove(); // the chain stands above it already
      const above = ancestors.filter((each) => each.id !== comment.id);
      const heading = h('h3', { class: 'around' }, text.around);
      this.linkedPanel.replaceChildren(...[
        h('button', { type: 'button', class: 'link', onclick: () => this.backToAll() },
          `← ${text.backToAll}`),
        h('h3', { class: 'sr' }, text.linked),
        above.length > 0 ? chainOf(this, above, { markLast: false }) : null,
        list, heading, nearby].filter(Boolean));
      this.showThread(view, comment);
      siblings.forEach((each) => this.linked.views.has(each.id) || this.place(each, this.linked));
      heading.hidden = nearby.childElementCount === 0;
      this.showStale(stale);
      this.takeOver();
      this.showPanels();
      this.linkedPanel.scrollIntoView({ block: 'start' });
      view.focus();
      this.loadOverlay([...this.linked.views.keys()]);
    }

    showPanels() {
      const linked = Boolean(this.linked);
      this.linkedPanel.hidden = !linked;
      this.main.list.hidden = linked;
      this.foot.hidden = linked;
      this.sorts.node.hidden = linked;
      this.showArrivedCount();
      this.updateEmpty();
      this.applyState();
    }

    backToAll() {
      history.pushState(null, '', location.pathname + location.search);
      this.closeLinked();
      this.heading.setAttribute('tabindex', '-1');
      this.heading.focus();
    }

    closeLinked() {
      this.linked = null;
      this.linkedPanel.replaceChildren();
      this.showPanels();
      if (!this.walk) this.loadFirst();
      else this.showBusy(false);
    }

    // --- live ----------------------------------------------------------------------------------

    /** Listens while the page is in front; a hidden tab holds no connection. */
    updateLive() {
      const wanted = this.getAttribute('live') !== 'off' && !document.hidden && this.walk
        && this.isConnected && window.EventSource;
      if (!wanted) this.closeLive();
      else if (!this.events) this.listen();
    }

    /** Everything since the version that the list shows, or the last one heard of. */
    listen() {
      const path = `${subjectPath(this.subject)}/events?after=${this.version}`;
      const events = new EventSource(this.api.base + path);
      const on = (name, action) => events.addEventListener(name, (event) => {
        this.version = Number(event.lastEventId) || this.version;
        this.listenWaitMs = LISTEN_WAIT_MS;
        action(parseJson(event.data) || {});
      });
      on('comment', ({ id }) => this.changed(id));
      on('counts', ({ comments }) => this.setCount(comments));
      on('removed', ({ id }) => this.removed(id));
      on('reset', () => this.missed());
      // A broken stream is the browser's to open again; a refused one is asked for later, here.
      events.addEventListener('error', () => {
        if (events.readyState !== EventSource.CLOSED || events !== this.events) return;
        this.closeLive();
        this.later(this.listenWaitMs, () => this.updateLive());
        this.listenWaitMs = Math.min(2 * this.listenWaitMs, LISTEN_WAIT_MAX_MS);
      });
      this.events = events;
    }

    later(ms, action) {
      clearTimeout(this.timer);
      this.timer = setTimeout(action, spread(ms));
    }

    closeLive() {
      clearTimeout(this.timer);
      if (this.events) this.events.close();
      this.events = null;
    }

    /**
     * A comment is new, or reads differently. New ones wait behind a button: a list must not move
     * under the reader's eyes.
     */
    changed(id) {
      if (!id) return;
      this.recent.remove('gone', id);
      if (this.viewsOf(id).length === 0) {
        this.arrived.add(id);
        this.showArrivedCount();
        return;
      }
      this.refresh(id, true);
    }

    /** A cache may still answer with the old text; it is past that a little later. */
    async refresh(id, again) {
      const [shown] = this.viewsOf(id);
      if (!shown) return;
      const { edited_at: before } = shown.comment;
      const comment = await this.wholeComment(id);
      if (!comment) return;
      this.viewsOf(id).forEach((view) => view.update(this.recent.over(comment)));
      if (again && (comment.edited_at || 0) <= (before || 0)) {
        setTimeout(() => this.refresh(id, false), spread(RESET_MS));
      }
    }

    showArrivedCount() {
      const { text } = this.locale;
      const count = this.arrived.size;
      this.arrivedButton.hidden = !(count || this.isBehind) || Boolean(this.linked);
      this.arrivedButton.textContent = this.isBehind ? text.reload : text.newComments(count);
    }

    async showArrived() {
      const ids = [...this.arrived];
      this.arrived.clear();
      if (this.isBehind || ids.length > ARRIVED_MAX) {
        this.loadFirst({ pastCaches: true });
        return;
      }
      this.showArrivedCount();
      const whole = await Promise.all(ids.map((id) => this.wholeComment(id)));
      const views = whole.filter((comment) => comment && !isGone(comment))
        .map((comment) => this.place(comment, this.main, { onTop: true })).filter(Boolean);
      views.forEach((view) => view.node.classList.add('new'));
      this.updateEmpty();
      if (views.length > 0) views[views.length - 1].focus();
      this.loadOverlay(views.map((view) => view.comment.id));
    }

    async wholeComment(id) {
      try {
        return (await this.api.call('GET', `/v1/comments/${id}`)).data;
      } catch {
        return null; // gone again already
      }
    }

    /** Cached lists may show it for a moment more, so that it is gone is remembered. */
    removed(id) {
      this.recent.put('gone', id, true, RECENT_MS);
      this.arrived.delete(id);
      this.showArrivedCount();
      this.viewsOf(id).forEach((view) => view.update(tombstone(view.comment)));
    }

    /**
     * Nobody knows what was missed: the list is loaded anew, at once where nobody is in it. The
     * stream may close before that, and when it opens again it does not say so again.
     */
    missed(isTime = false) {
      const isIdle = !this.linked && this.composers.size === 1 && !this.shadowRoot.activeElement
        && this.getBoundingClientRect().top >= 0;
      clearTimeout(this.reloadTimer);
      if (!isIdle) {
        this.isBehind = true;
        this.showArrivedCount();
      } else if (isTime) {
        this.loadFirst({ pastCaches: true });
      } else {
        this.reloadTimer = setTimeout(() => this.missed(true), spread(RESET_MS));
      }
    }

    // --- small things --------------------------------------------------------------------------

    announce(message) {
      this.live.textContent = '';
      // A screen reader speaks only what changes after the region was emptied.
      setTimeout(() => { this.live.textContent = message; }, 50);
    }

    updateTimes() {
      for (const time of this.shadowRoot.querySelectorAll('time')) {
        time.textContent = this.locale.ago(Date.parse(time.dateTime));
      }
    }

    emit(name, detail) {
      this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
    }
  }

  // ---------------------------------------------------------------------------------------------
  // Mounting
  // ---------------------------------------------------------------------------------------------

  /** Puts the element around what the server rendered of its subject, else after the script tag. */
  function mount(script) {
    if (!script || !script.dataset.subject) return;
    const element = document.createElement('gailou-comments');
    element.setAttribute('api', script.dataset.api || SCRIPT_ORIGIN);
    for (const name of ['subject', 'lang', 'theme', 'sort', 'token', 'live']) {
      if (script.dataset[name]) element.setAttribute(name, script.dataset[name]);
    }
    const place = () => {
      const served = [...document.querySelectorAll(SERVED)].find((each) =>
        each.dataset.subject === script.dataset.subject && !each.closest('gailou-comments'));
      if (served) {
        const mark = document.createComment('');
        served.replaceWith(mark);
        element.append(served);
        mark.replaceWith(element);
      } else if (document.head.contains(script)) {
        document.body.append(element);
      } else {
        script.after(element);
      }
    };
    if (document.body && !document.head.contains(script)) place();
    else document.addEventListener('DOMContentLoaded', place);
  }

  // A page may include the script once for every thread it shows.
  if (!customElements.get('gailou-comments')) {
    customElements.define('gailou-comments', GailouComments);
  }
  mount(SCRIPT);
})();
