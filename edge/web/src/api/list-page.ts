/** A page of a list, as the element uses it. */

import type { ApiAnswer } from './transport.ts';
import type { ListedComment, Page, Subject } from './wire.ts';

export interface ListPage {
  items: ListedComment[];
  /** Null when there was nothing left to fetch. */
  subject: Subject | null;
  /** Null in a mode without buildings. */
  floors: Page['floors'] | null;
  /** The version of the subject that the page shows. */
  epoch: number;
  isStale: boolean;
  /** The cursor of the next page. */
  next: string | null;
  isEnded: boolean;
}

export function pageOf({ data: answer, isStale }: ApiAnswer<Page>): ListPage {
  const { data, page, subject, floors = null } = answer;
  const { epoch, next } = page;
  return { items: data, subject, floors, epoch: Number(epoch), isStale, next, isEnded: !next };
}
