'use client';

/** The elements as components: properties in the place of attributes, handlers in the place of events. */

import 'gailou';
import type {
  GailouComments as CommentsElement,
  GailouBellAttributes,
  GailouCommentsAttributes,
  GailouEvents,
  GailouLatestAttributes,
  TokenSource,
} from 'gailou';
import {
  type CSSProperties,
  createElement,
  type ForwardRefExoticComponent,
  forwardRef,
  type ReactElement,
  type RefAttributes,
  useEffect,
  useImperativeHandle,
  useRef,
} from 'react';

export { setServer } from 'gailou';

type Detail<Name extends keyof GailouEvents> = GailouEvents[Name]['detail'];

interface CommonProps {
  id?: string;
  className?: string;
  style?: CSSProperties;
}

export interface GailouCommentsProps
  extends CommonProps,
    Omit<GailouCommentsAttributes, 'token' | 'live' | 'keys'> {
  subject: string;
  /** A token, or what fetches one. */
  token?: TokenSource | undefined;
  live?: boolean;
  keys?: boolean;
  onReady?: (detail: Detail<'gailou:ready'>) => void;
  onCount?: (detail: Detail<'gailou:count'>) => void;
  onPosted?: (detail: Detail<'gailou:posted'>) => void;
  onSignIn?: (detail: Detail<'gailou:sign-in'>) => void;
  onError?: (detail: Detail<'gailou:error'>) => void;
}

const EVENTS = {
  onReady: 'gailou:ready',
  onCount: 'gailou:count',
  onPosted: 'gailou:posted',
  onSignIn: 'gailou:sign-in',
  onError: 'gailou:error',
} as const;

type Handlers = Pick<GailouCommentsProps, keyof typeof EVENTS>;

const wordOf = (isOn: boolean | undefined) =>
  isOn === undefined ? undefined : isOn ? 'on' : 'off';

/** The comments of a subject. The ref is the element, with its methods. */
export const GailouComments: ForwardRefExoticComponent<
  GailouCommentsProps & RefAttributes<CommentsElement>
> = forwardRef<CommentsElement, GailouCommentsProps>(function GailouComments(props, ref) {
  const { onReady, onCount, onPosted, onSignIn, onError, ...rest } = props;
  const { token, live, keys, className, ...attributes } = rest;
  const element = useRef<CommentsElement>(null);
  const handlers = useRef<Handlers>({});
  handlers.current = { onReady, onCount, onPosted, onSignIn, onError } as Handlers;
  useImperativeHandle(ref, () => element.current as CommentsElement, []);
  useEffect(() => {
    const ended = new AbortController();
    for (const [name, event] of Object.entries(EVENTS) as [keyof Handlers, keyof GailouEvents][]) {
      const listener = ({ detail }: CustomEvent) => handlers.current[name]?.(detail as never);
      element.current?.addEventListener(event, listener as EventListener, { signal: ended.signal });
    }
    return () => ended.abort();
  }, []);
  useEffect(() => {
    if (element.current) element.current.token = token ?? null;
  }, [token]);
  // React 18 gives a custom element attributes alone, by the names of HTML.
  return createElement('gailou-comments', {
    ...attributes,
    class: className,
    live: wordOf(live),
    keys: wordOf(keys),
    ref: element,
  } as object);
});

export type GailouCountProps = CommonProps & { subject: string };

/** The number of comments of a subject; the element writes its text by itself. */
export function GailouCount({ className, ...attributes }: GailouCountProps): ReactElement {
  return createElement('gailou-count', { ...attributes, class: className } as object);
}

export type GailouLatestProps = CommonProps & GailouLatestAttributes;

/** The newest comments. */
export function GailouLatest({ className, ...attributes }: GailouLatestProps): ReactElement {
  return createElement('gailou-latest', { ...attributes, class: className } as object);
}

export type GailouBellProps = CommonProps & GailouBellAttributes;

/** The notifications of the reader. */
export function GailouBell({ className, ...attributes }: GailouBellProps): ReactElement {
  return createElement('gailou-bell', { ...attributes, class: className } as object);
}
