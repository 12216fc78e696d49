/** The elements in the JSX of React: `import type {} from 'gailou/jsx'` once in a program. */

import type { DetailedHTMLProps, HTMLAttributes } from 'react';
import type {
  GailouBellAttributes,
  GailouBellElement,
  GailouComments,
  GailouCommentsAttributes,
  GailouCountAttributes,
  GailouLatestAttributes,
} from './index.js';

type Props<Attributes, Element extends HTMLElement = HTMLElement> = Attributes &
  Omit<DetailedHTMLProps<HTMLAttributes<Element>, Element>, keyof Attributes>;

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'gailou-comments': Props<GailouCommentsAttributes, GailouComments>;
      'gailou-count': Props<GailouCountAttributes>;
      'gailou-latest': Props<GailouLatestAttributes>;
      'gailou-bell': Props<GailouBellAttributes, GailouBellElement>;
    }
  }
}
