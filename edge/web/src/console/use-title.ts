/** The title of the page that a thread is about. */

import { useEffect, useState } from 'preact/hooks';
import type { Comment } from '../api/wire.ts';
import { useConsole } from './parts.tsx';

/** Null while it is not known, and where the page has none; read after `delayMs` in which the thread stays the same. */
export function useTitle({ type, key }: Comment['subject'], delayMs: number): string | null {
  const { client } = useConsole();
  const [title, setTitle] = useState<string | null>(null);
  useEffect(() => {
    setTitle(null);
    let isMeant = true;
    const timer = setTimeout(() => {
      client.titleOf({ type, key }).then(
        (found) => isMeant && setTitle(found),
        // The type and the key stand there in any case.
        () => {},
      );
    }, delayMs);
    return () => {
      isMeant = false;
      clearTimeout(timer);
    };
  }, [client, type, key, delayMs]);
  return title;
}
