/** The texts of what helps in writing and in finding, which the element loads with it. */

import { numbersIn } from './numbers.ts';

const { count } = numbersIn<'one' | 'other'>('en');

const en = {
  toolbar: 'Formatting',
  bold: 'Bold',
  italic: 'Italic',
  quote: 'Quote',
  code: 'Code',
  link: 'Link',
  list: 'List',
  emoji: 'Emoji',
  mention: 'Mention a member',
  write: 'Write',
  preview: 'Preview',
  emptyPreview: 'There is nothing to show yet.',
  noPreview: 'There is no preview at the moment. You can post without one.',
  people: 'People in these comments',
  peopleFound: (n: number) => `Names: ${count(n)}`,
  tryNow: 'You can try again now.',
  describePicture: (name: string) => `Description of ${name}`,
  pictureHint: 'What does it show?',
  searchIn: 'Search in these comments',
  searchFound: (n: number) => `Comments found: ${count(n)}`,
  nothingFound: 'Nothing was found.',
  noSearch: 'One cannot search here at the moment.',
  searchEmoji: 'Search emoji',
  emojiGroups: {
    faces: 'Faces',
    hands: 'Hands and people',
    signs: 'Hearts and signs',
    nature: 'Nature',
    food: 'Food',
    things: 'Things',
  },
  foldReplies: 'Fold the replies',
  fewerReplies: 'Show fewer replies',
  showThread: (n: number) => `Show the replies (${count(n)})`,
};

export type ComposerStrings = typeof en;

const zh: ComposerStrings = {
  toolbar: '格式',
  bold: '加粗',
  italic: '斜体',
  quote: '引用',
  code: '代码',
  link: '链接',
  list: '列表',
  emoji: '表情',
  mention: '提到某人',
  write: '写',
  preview: '预览',
  emptyPreview: '还没有可预览的内容。',
  noPreview: '暂时无法预览，可以直接发表。',
  people: '本页的评论者',
  peopleFound: (n) => `找到 ${n} 个名字`,
  tryNow: '现在可以重试了。',
  describePicture: (name) => `${name} 的文字说明`,
  pictureHint: '图中是什么？',
  searchIn: '搜索本页评论',
  searchFound: (n) => `找到 ${n} 条评论`,
  nothingFound: '没有找到。',
  noSearch: '暂时无法搜索。',
  searchEmoji: '搜索表情',
  emojiGroups: {
    faces: '表情',
    hands: '手势与人物',
    signs: '爱心与符号',
    nature: '自然',
    food: '食物',
    things: '物品',
  },
  foldReplies: '收起回复',
  fewerReplies: '只显示部分回复',
  showThread: (n) => `展开回复（${n} 条）`,
};

/** What is used of a `Locale`. */
interface ComposerLocale {
  readonly tag: string;
  readonly language: { readonly composer?: ComposerStrings };
}

export const composerText = ({ tag, language }: ComposerLocale): ComposerStrings =>
  language.composer ?? (tag === 'zh-CN' ? zh : en);
