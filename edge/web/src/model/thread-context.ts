/** What every part of a thread may use. Only types: `CommentThread` has the values. */

import type { ApiClient } from '../api/client.ts';
import type { SubjectMode } from '../api/wire.ts';
import type { Strings } from '../text/en.ts';
import type { Locale } from '../text/locale.ts';
import type { ReaderIdentity } from './identity.ts';
import type { RecentActs } from './recent-acts.ts';

export interface ThreadContext {
  /** `article/hello`. */
  readonly subject: string;
  readonly mode: SubjectMode;
  readonly locale: Locale;
  readonly text: Strings;
  readonly identity: ReaderIdentity;
  readonly api: ApiClient;
  readonly recent: RecentActs;
}
