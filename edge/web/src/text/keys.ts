/** The texts of the help about keys, which the element loads with them. */

import type { Locale } from './locale.ts';

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

const zh: typeof en = {
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

export const keysText = ({ language }: Locale): typeof en => (language === 'zh' ? zh : en);
