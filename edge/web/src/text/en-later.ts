/** The English texts of what the element loads later. */

import { numbersIn } from './numbers.ts';

const { count, plural } = numbersIn<'one' | 'other'>('en');

export const enLater = {
  wholeText: 'Show the whole text',
  foldText: 'Fold',
  loadMore: 'Load more comments',
  retryIn: (seconds: number) => `Please try again in ${seconds} s.`,
  review: 'Awaiting review · only you can see this',
  rejected: 'Not published · only you can see this',
  selfOnly: 'Only you can see this',
  masked: (n: number) =>
    plural(n, {
      one: '# passage was masked · only you can see this note',
      other: '# passages were masked · only you can see this note',
    }),
  edit: 'Edit',
  delete: 'Delete',
  commentsLoaded: (n: number) =>
    plural(n, { one: '# more comment shown.', other: '# more comments shown.' }),
  editComment: 'Edit your comment',
  yourName: 'Your name',
  namePlaceholder: 'How others will see you',
  postingAs: (name: string) => `Posting as ${name}`,
  change: 'change',
  changeName: 'Change your name',
  yourAccount: 'Your account',
  signIn: 'Sign in',
  notifications: (unread: number) =>
    unread === 0
      ? 'Notifications'
      : plural(unread, { one: '# unread notification', other: '# unread notifications' }),
  post: 'Post',
  save: 'Save',
  retry: 'Retry',
  cancel: 'Cancel',
  counter: (left: number) => (left < 0 ? `${count(-left)} too many` : `${count(left)} left`),
  needText: 'Write something first.',
  needName: 'Please enter a name first.',
  tooLong: (most: number) => `A comment can have at most ${count(most)} characters.`,
  sending: 'Sending…',
  retrying: (seconds: number, attempt: number, most: number) =>
    `Outcome unknown; retrying is safe. Trying again in ${seconds} s (${attempt} of ${most})…`,
  addPicture: 'Add a picture',
  previousPicture: 'Previous picture',
  nextPicture: 'Next picture',
  uploading: (name: string) => `Uploading ${name}`,
  removePicture: (name: string) => `Remove ${name}`,
  tooManyPictures: (most: number) => `A comment can have at most ${most} pictures.`,
  noPicture: 'Only JPEG, PNG, GIF and WebP pictures can be added.',
  pictureTooLarge: 'A picture can have at most 5 MB.',
  stillUploading: 'A picture is still on its way.',
  solving: 'One moment: checking that this is no robot…',
  confirmHuman: 'Please confirm that you are no robot.',
  keptText: 'Your text is kept here.',
  posted: 'Your comment is posted.',
  saved: 'Your change is saved.',
  held: 'Your comment is awaiting review.',
  merged: 'What you wrote and liked here as a guest is yours now.',
  conversation: (n: number) =>
    plural(n, { one: 'conversation, # floor', other: 'conversation, # floors' }),
  /** What one press opens is `step` floors at most. */
  gap: (n: number, step: number) =>
    n > step
      ? `${count(n)} more floors · show ${count(step)} of them`
      : plural(n, {
          one: '# more floor · show it',
          other: '# more floors · show all',
        }),
  moreReplies: 'Show more replies',
  repliesLoaded: (n: number) =>
    plural(n, { one: '# more reply shown.', other: '# more replies shown.' }),
  floorsShown: (n: number) =>
    plural(n, { one: '# more floor shown.', other: '# more floors shown.' }),
  actOnFloor: (n: number, name: string) => `floor ${count(n)}, by ${name}: like, reply, copy link`,
  copyLink: 'Copy link',
  linkCopied: 'Link copied',
  share: 'Share',
  linked: 'Linked comment',
  showInList: 'Show in the list',
  close: 'Close',
  linkGone: 'The linked comment could not be found.',
  newComments: (n: number) =>
    plural(n, { one: 'Show # new comment', other: 'Show # new comments' }),
  /** Of the new comments. */
  repliesToYou: (n: number) => plural(n, { one: '# reply to you', other: '# replies to you' }),
  reload: 'The comments have changed. Show them anew',
  contentRejected: (categories: string) =>
    'Your comment contains words that are not allowed here' +
    (categories ? ` (categories: ${categories}).` : '.'),
  /** A reader sees the first sentence, and the owner of the site what to do. */
  siteNotAllowed: (site: string) =>
    `The comment server does not take comments from ${site}. The owner of this site can add it to GAILOU_SITES there.`,
  /** By the `code` of a problem. */
  errors: {
    invalid_request: 'Something in the request is not right.',
    unknown_subject_type: 'Comments are not set up for this page.',
    rate_limited: 'You are going a little fast.',
    internal: 'The comment server made a mistake.',
    unavailable:
      'The comment server is not available right now. Outcome unknown; retrying is safe.',
    overloaded: 'The comment server is very busy. Outcome unknown; retrying is safe.',
    origin_unreachable:
      'The comment server cannot be reached right now. Outcome unknown; retrying is safe.',
    bad_cursor: 'This list has changed. Please load it again.',
    token_missing: 'Please sign in first.',
    token_invalid: 'Your sign-in is no longer valid. Please sign in again.',
    name_refused: 'This name cannot be used here, or is taken. Choose another.',
    guest_expired: 'Your guest name is no longer valid. Please enter it again.',
    forbidden: 'You are not allowed to do this.',
    muted: 'You cannot comment here for the time being.',
    level_too_low: 'Your level is not high enough to comment here yet.',
    guests_not_allowed: 'Guests cannot comment here. Please sign in on this site.',
    challenge_required: 'It could not be checked that you are no robot. Please try again.',
    comment_not_found: 'This comment is no longer there.',
    parent_not_found: 'The comment you are replying to is no longer there.',
    subject_closed: 'Comments are closed here.',
    edit_window_over: 'A comment can be edited for 15 minutes only.',
    cursor_expired: 'This list has changed. Please load it again.',
    body_too_large: 'This text is too long.',
    idempotency_mismatch: 'This was sent before with another text. Please send it once more.',
  },
};
