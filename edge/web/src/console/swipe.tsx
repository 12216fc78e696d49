/** A comment that a finger moves aside: to the right approves it, to the left rejects it. Buttons and keys do the same. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useConsole } from './parts.tsx';
import {
  directionOf,
  isFarEnough,
  isSideways,
  type Move,
  type SwipeDirection,
} from './swipe-move.ts';
import type { Decision } from './wire.ts';

const DECISION_OF: Record<SwipeDirection, Decision> = { right: 'approve', left: 'reject' };

export function Swipe({
  onDecide,
  children,
}: {
  onDecide: (action: Decision) => void;
  children: ComponentChildren;
}) {
  const { text } = useConsole();
  const host = useRef<HTMLDivElement>(null);
  const moved = useRef<HTMLDivElement>(null);
  const decide = useRef(onDecide);
  decide.current = onDecide;
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    return followFinger(element, {
      onMove: (move) => showMove(element, moved.current, move),
      onSwipe: (direction) => decide.current(DECISION_OF[direction]),
    });
  }, []);
  return (
    <div class="swipe" ref={host}>
      <span class="swipe-label good" data-direction="right" aria-hidden="true">
        {text.approve}
      </span>
      <span class="swipe-label bad" data-direction="left" aria-hidden="true">
        {text.reject}
      </span>
      <div class="swipe-moved" ref={moved}>
        {children}
      </div>
    </div>
  );
}

/** On screens that are touched. */
export function SwipeHint() {
  const { text } = useConsole();
  return <p class="quiet swipe-hint">{text.swipeHint}</p>;
}

/** Null where the finger is lifted or scrolls. */
function showMove(host: HTMLElement, moved: HTMLElement | null, move: Move | null): void {
  host.classList.toggle('is-far', move !== null && isFarEnough(move));
  if (move) host.dataset.swipe = directionOf(move);
  else delete host.dataset.swipe;
  if (moved) moved.style.transform = move ? `translateX(${move.x}px)` : '';
}

/** Follows one finger on an element; returns what ends that. */
function followFinger(
  element: HTMLElement,
  {
    onMove,
    onSwipe,
  }: { onMove: (move: Move | null) => void; onSwipe: (direction: SwipeDirection) => void },
): () => void {
  let start: { id: number; x: number; y: number } | null = null;
  let isSwiping = false;
  const moveOf = ({ clientX, clientY }: PointerEvent): Move => ({
    x: clientX - (start?.x ?? 0),
    y: clientY - (start?.y ?? 0),
  });
  const begin = (event: PointerEvent) => {
    if (event.pointerType !== 'touch' || !event.isPrimary) return;
    start = { id: event.pointerId, x: event.clientX, y: event.clientY };
  };
  const follow = (event: PointerEvent) => {
    if (start?.id !== event.pointerId) return;
    const move = moveOf(event);
    isSwiping ||= isSideways(move);
    if (isSwiping) onMove(move);
  };
  const end = (event: PointerEvent) => {
    if (start?.id !== event.pointerId) return;
    const move = moveOf(event);
    const isSwipe = isSwiping && event.type === 'pointerup' && isFarEnough(move);
    [start, isSwiping] = [null, false];
    onMove(null);
    if (isSwipe) onSwipe(directionOf(move));
  };
  const stop = new AbortController();
  const { signal } = stop;
  element.addEventListener('pointerdown', begin, { signal });
  element.addEventListener('pointermove', follow, { signal });
  element.addEventListener('pointerup', end, { signal });
  element.addEventListener('pointercancel', end, { signal });
  return () => stop.abort();
}
