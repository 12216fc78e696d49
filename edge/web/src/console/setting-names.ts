/** What each setting is, in both languages. One without a name here is shown by its own. */

import type { Language } from './text.ts';

type Names = Record<string, readonly [en: string, zh: string]>;

const SECTION_NAMES: Names = {
  sites: ['Sites that may write', '允许写入的网站'],
  rules: ['Rules', '规则'],
  challenge: ['Challenge for guests', '游客验证'],
  names: ['Names', '名字'],
  limits: ['Limits', '频率限制'],
  tokens: ['Signing everybody out', '让所有人退出登录'],
  degrade: ['Left out to spare the databases', '降级开关'],
  pages: ['Pages', '页面'],
};

const SETTING_NAMES: Names = {
  sites: ['Sites', '网站'],
  'names.reserved': ['Names that no guest may take', '游客不能使用的名字'],
  'rules.guests': ['Guests', '游客'],
  'rules.hold_first_guest_comment': ['The first comment of a guest waits', '游客首评待审'],
  'rules.min_level': ['Least level to post', '发表所需的最低等级'],
  'rules.max_links': ['Most links; a text with more waits', '链接上限，超出待审'],
  'rules.close_after_days': ['Days until a thread takes no comments', '多少天后关闭评论'],
  'rules.report_threshold': ['Reports that take a comment out', '举报多少次后下架'],
  'rules.show_earlier_texts': ['Readers see earlier texts', '读者可查看历史版本'],
  'rules.classified': ['Whose texts the classifier checks', '分类器检查谁的评论'],
  'rules.unclassified': ['What it does not answer', '分类器未作答时'],
  'rules.blocked.names': ['Blocked names', '封禁的名字'],
  'rules.blocked.networks': ['Blocked networks', '封禁的网段'],
  'rules.blocked.hashed_networks': ['Networks blocked by a comment', '按评论封禁的网络'],
  'challenge.guests': ['Guests who answer one', '哪些游客需要验证'],
  'challenge.kind': ['Kind', '验证方式'],
  'challenge.altcha_max_number': ['Most hashes of a proof of work', '工作量证明的最大哈希次数'],
  'pages.moved': ['Pages that have moved: old => new', '已搬家的页面：旧 => 新'],
  'tokens.not_before': ['Tokens from before are refused', '此前的令牌失效'],
  'degrade.hot_as_new': ['Newest instead of hot', '热门按最新显示'],
  'degrade.no_overlay': ['No reactions of the reader', '不显示读者自己的反应'],
  'degrade.no_preview': ['No previews', '关闭预览'],
  'limits.enabled': ['Limits are on', '启用频率限制'],
  'limits.posts_per_minute_member': ['Posts a minute: member', '每分钟发表：成员'],
  'limits.posts_per_minute_address': ['Posts a minute: address', '每分钟发表：地址'],
  'limits.posts_per_second_subject': ['Posts a second: thread', '每秒发表：主题'],
  'limits.reactions_per_minute_member': ['Reactions a minute: member', '每分钟点赞：成员'],
  'limits.edits_per_minute_member': ['Edits a minute: member', '每分钟编辑：成员'],
  'limits.edits_per_minute_comment': ['Edits a minute: comment', '每分钟编辑：评论'],
  'limits.edits_per_comment': ['Edits of a comment in all', '每条评论编辑总数'],
  'limits.deletions_per_minute_member': ['Deletions a minute: member', '每分钟删除：成员'],
  'limits.decisions_per_minute_member': ['Decisions a minute: moderator', '每分钟处理：版主'],
  'limits.previews_per_minute_member': ['Previews a minute: member', '每分钟预览：成员'],
  'limits.reports_per_minute_member': ['Reports a minute: member', '每分钟举报：成员'],
  'limits.uploads_per_minute_member': ['Pictures a minute: member', '每分钟图片：成员'],
  'limits.writes_per_minute_address': ['Other writes a minute: address', '每分钟其他写入：地址'],
  'limits.writes_per_second': ['Writes a second: one server', '每秒写入：单个服务器'],
  'limits.exports_per_hour_member': ['Exports an hour: member', '每小时导出：成员'],
  'limits.guests_per_hour_address': ['New guests an hour: address', '每小时新游客：地址'],
  'limits.sign_in_mails_per_hour_address': [
    'Sign-in mails an hour: address',
    '每小时登录邮件：地址',
  ],
  'limits.sign_in_mails_per_hour_mailbox': [
    'Sign-in mails an hour: mailbox',
    '每小时登录邮件：邮箱',
  ],
  'limits.reads_per_minute_address': ['Uncached reads a minute: address', '每分钟未缓存读取：地址'],
  'limits.reads_per_second': ['Uncached reads a second: one server', '每秒未缓存读取：单个服务器'],
};

/** The order in which a community's owner looks for them. */
const SECTION_ORDER = Object.keys(SECTION_NAMES);

export function inOrder(sections: readonly string[]): string[] {
  const place = (section: string) => {
    const found = SECTION_ORDER.indexOf(section);
    return found < 0 ? SECTION_ORDER.length : found;
  };
  return [...sections].sort((one, other) => place(one) - place(other));
}

export const sectionName = (section: string, language: Language) =>
  SECTION_NAMES[section]?.[language === 'zh' ? 1 : 0] ?? section;

export const settingName = (setting: string, language: Language) =>
  SETTING_NAMES[setting]?.[language === 'zh' ? 1 : 0] ?? setting;
