/** The texts of the windows of an account, which the element loads with them. */

const en = {
  close: 'Close',
  signInWith: (name: string) => `Sign in with ${name}`,
  windowBlocked: 'The browser has blocked the window. Allow it for this page, and try again.',
  yourEmail: 'Your e-mail address',
  mailLink: 'Mail me a link',
  linkSent: 'A link is on its way to you. Open it in this browser within 15 minutes.',
  signOut: 'Sign out',
  forgetGuest: 'Forget me in this browser',
  myComments: 'My comments',
  pictureAddress: 'Address of your picture',
  pictureRefused: 'It has to be an address that begins with https://.',
  removePicture: 'Remove picture',
  mailMe: (address: string) => `Mail to ${address}`,
  mailLanguage: 'Language of mails',
  frequencies: { each: 'At each reply', daily: 'Once a day', never: 'Never' },
  downloadData: 'Download my data',
  eraseAll: 'Delete everything…',
  confirmErase:
    'Your comments, reactions and name will be deleted here. They cannot be brought back.',
  eraseForGood: 'Delete everything for good',
  erased: 'Everything of yours is being deleted. It is gone from all pages within seconds.',
  notificationsTitle: 'Notifications',
  noNotifications: 'Nothing yet. You are notified here of replies and mentions.',
  loadOlder: 'Show older ones',
  notified: {
    reply: (name: string) => `${name} replied to you`,
    mention: (name: string) => `${name} mentioned you`,
  },
  watch: 'Watch this thread',
  watches: 'Threads I watch',
  noWatches: 'You watch no threads yet.',
  newComments: 'New comments',
  decided: 'A moderator has decided on your comment',
  gone: 'This comment is no longer shown.',
};

export type AccountStrings = typeof en;

const zh: AccountStrings = {
  close: '关闭',
  signInWith: (name) => `使用 ${name} 登录`,
  windowBlocked: '浏览器拦截了弹出窗口。请允许本页弹出窗口后重试。',
  yourEmail: '邮箱地址',
  mailLink: '发送登录链接',
  linkSent: '登录链接已发出，请在 15 分钟内用本浏览器打开。',
  signOut: '退出登录',
  forgetGuest: '在本浏览器中忘记我',
  myComments: '我的评论',
  pictureAddress: '头像地址',
  pictureRefused: '地址须以 https:// 开头。',
  removePicture: '移除头像',
  mailMe: (address) => `发邮件到 ${address}`,
  mailLanguage: '邮件语言',
  frequencies: { each: '每次有人回复时', daily: '每天一次', never: '从不' },
  downloadData: '下载我的数据',
  eraseAll: '删除我的一切…',
  confirmErase: '您在此处的评论、表态和昵称都将被删除，无法恢复。',
  eraseForGood: '永久删除',
  erased: '正在删除您的一切，几秒之内所有页面都不再显示。',
  notificationsTitle: '通知',
  noNotifications: '还没有通知。有人回复或提到您时会显示在这里。',
  loadOlder: '查看更早的通知',
  notified: {
    reply: (name) => `${name} 回复了您`,
    mention: (name) => `${name} 提到了您`,
  },
  watch: '关注本帖',
  watches: '我关注的帖子',
  noWatches: '您还没有关注任何帖子。',
  newComments: '新评论',
  decided: '版主处理了您的评论',
  gone: '这条评论已不再显示。',
};

/** What is used of a `Locale`. */
interface AccountLocale {
  readonly tag: string;
  readonly language: { readonly account?: AccountStrings };
}

export const accountText = ({ tag, language }: AccountLocale): AccountStrings =>
  language.account ?? (tag === 'zh-CN' ? zh : en);
