/** The texts of what opens beside a comment, which the element loads with it. */

const en = {
  report: 'Report…',
  reported: 'Reported',
  mute: (name: string) => `Mute ${name} for me`,
  unmute: (name: string) => `Unmute ${name}`,
  muted: (name: string) => `You have muted ${name}`,
  show: 'Show',
  moderation: 'Moderation',
  hide: 'Hide',
  reject: 'Reject',
  pin: 'Pin',
  unpin: 'Unpin',
  feature: 'Feature',
  unfeature: 'Unfeature',
  muteMember: (name: string) => `Block ${name} for 7 days`,
  openConsole: 'Open in the console',
  done: {
    delete: 'Deleted',
    hide: 'Hidden',
    reject: 'Rejected',
    pin: 'Pinned',
    unpin: 'Unpinned',
    feature: 'Featured',
    unfeature: 'No longer featured',
    muteMember: 'Blocked for 7 days',
  },
  undo: 'Undo',
  undone: 'Undone.',
  reportTitle: 'Report this comment',
  reasons: {
    spam: 'Spam',
    abuse: 'Insults or hatred',
    illegal: 'Illegal content',
    other: 'Something else',
  },
  note: 'Note for the moderators (optional)',
  sendReport: 'Report',
  thanks: 'Thank you. The moderators will look at it.',
  newest: 'Newest comments',
  noComments: 'No comments yet.',
  earlierTexts: 'Earlier texts',
  noEarlierTexts: 'No earlier texts are kept.',
  until: 'Until',
};

export type MenuStrings = typeof en;

const zh: MenuStrings = {
  report: '举报…',
  reported: '已举报',
  mute: (name) => `对我屏蔽 ${name}`,
  unmute: (name) => `取消屏蔽 ${name}`,
  muted: (name) => `您已屏蔽 ${name}`,
  show: '显示',
  moderation: '管理',
  hide: '隐藏',
  reject: '拒绝',
  pin: '置顶',
  unpin: '取消置顶',
  feature: '精选',
  unfeature: '取消精选',
  muteMember: (name) => `将 ${name} 禁言 7 天`,
  openConsole: '在管理台打开',
  done: {
    delete: '已删除',
    hide: '已隐藏',
    reject: '已拒绝',
    pin: '已置顶',
    unpin: '已取消置顶',
    feature: '已设为精选',
    unfeature: '已取消精选',
    muteMember: '已禁言 7 天',
  },
  undo: '撤销',
  undone: '已撤销。',
  reportTitle: '举报这条评论',
  reasons: {
    spam: '垃圾信息',
    abuse: '辱骂或仇恨',
    illegal: '违法内容',
    other: '其他',
  },
  note: '给版主的说明（选填）',
  sendReport: '举报',
  thanks: '谢谢，版主会处理。',
  newest: '最新评论',
  noComments: '还没有评论。',
  earlierTexts: '历史版本',
  noEarlierTexts: '没有保留历史版本。',
  until: '截至',
};

/** What is used of a `Locale`. */
interface MenuLocale {
  readonly tag: string;
  readonly language: { readonly menu?: MenuStrings };
}

export const menuText = ({ tag, language }: MenuLocale): MenuStrings =>
  language.menu ?? (tag === 'zh-CN' ? zh : en);
