/** The texts of the elements beside the comments, which are loaded with them. */

const en = {
  latestComments: 'Latest comments',
  noComments: 'No comments yet.',
};

export type WidgetStrings = typeof en;

const zh: WidgetStrings = {
  latestComments: '最新评论',
  noComments: '还没有评论。',
};

/** What is used of a `Locale`. */
interface WidgetLocale {
  readonly tag: string;
  readonly language: { readonly widgets?: WidgetStrings };
}

export const widgetText = ({ tag, language }: WidgetLocale): WidgetStrings =>
  language.widgets ?? (tag === 'zh-CN' ? zh : en);
