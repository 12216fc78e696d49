/** The texts of the help about keys, which the element loads with them. */

const en = {
  title: 'Keys in the comments',
  close: 'Close',
  keys: {
    j: 'Next comment',
    k: 'Previous comment',
    u: 'The comment that it answers',
    r: 'Reply',
    l: 'Like',
    o: 'Unfold',
    '← →': 'The buttons of a comment',
    '?': 'This help',
  },
};

export type KeysStrings = typeof en;

const zh: KeysStrings = {
  title: '评论区快捷键',
  close: '关闭',
  keys: {
    j: '下一条评论',
    k: '上一条评论',
    u: '所回复的评论',
    r: '回复',
    l: '赞',
    o: '展开',
    '← →': '在一条评论的按钮之间移动',
    '?': '本帮助',
  },
};

/** What is used of a `Locale`. */
interface KeysLocale {
  readonly tag: string;
  readonly language: { readonly keys?: KeysStrings };
}

export const keysText = ({ tag, language }: KeysLocale): KeysStrings =>
  language.keys ?? (tag === 'zh-CN' ? zh : en);
