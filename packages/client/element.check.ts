/** What the element expects is what the OpenAPI document says: the compiler compares its shapes with those of the client. */

import type * as element from '../../edge/web/src/api/wire.ts';
import type { components } from './src/schema.ts';

type Schemas = components['schemas'];

/** Fails to compile where an answer of the document is not what the element expects. */
type Answer<Expected, Documented extends Expected> = Documented;
/** Fails to compile where the element sends what the document does not have. */
type Request<Documented, Sent extends Documented> = Sent;

export type Answers = [
  Answer<element.Comment, Schemas['Comment']>,
  Answer<element.Page, Schemas['CommentPage']>,
  Answer<element.QuotedFloor, Schemas['QuotedFloor']>,
  Answer<element.SubjectCounts, Schemas['SubjectCounts']>,
  Answer<element.ReactionState, Schemas['ReactionResult']>,
  Answer<element.Overlay, Schemas['Overlay']>,
  Answer<element.Guest, Schemas['GuestCreated']>,
  Answer<element.SignInProvider, Schemas['SignInProvider']>,
  Answer<element.Session, Schemas['AccessToken']>,
  Answer<element.Me, Schemas['OwnProfile']>,
  Answer<element.Notifications, Schemas['NotificationPage']>,
  Answer<element.WatchedThread, Schemas['WatchedThread']>,
  Answer<element.Media, Schemas['Media']>,
  Answer<element.EarlierText, Schemas['FormerText']>,
  Answer<element.ProblemBody, Schemas['Problem']>,
];

export type Requests = [
  Request<Schemas['Sort'], element.Sort>,
  Request<Schemas['ReportReason'], element.ReportReason>,
  Request<Schemas['NotifyChoice'], element.MailFrequency>,
];
